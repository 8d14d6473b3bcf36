//! A sample and the parts of it that are read only when asked for.

use strata_address::Avma;

/// A sample. Task, time, ids and CPU are in [`Record::id`](super::Record::id). Fields of the layout that are not here
/// (counter values, branch records, weights and what follows the stack) are passed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sample<'a> {
    /// Instruction pointer.
    pub ip: Option<Avma>,
    /// Address of the access that the event is about.
    pub address: Option<Avma>,
    /// Events (or ns, for clocks) since the sample before.
    pub period: Option<u64>,
    /// Innermost first, with context markers; empty when not asked for.
    pub callchain: Callchain<'a>,
    /// Bytes of the event's own, padding included.
    pub raw: Option<&'a [u8]>,
    /// `None` when not asked for, or for a thread without user side.
    pub user_regs: Option<UserRegs<'a>>,
    /// `None` when not asked for, or for a thread without user side.
    pub user_stack: Option<UserStack<'a>>,
}

/// A borrowed run of u64: eight-byte little-endian groups of a record, or words in memory.
#[derive(Clone, Copy)]
pub enum Words<'a> {
    /// Little-endian bytes.
    Bytes(&'a [[u8; 8]]),
    /// Words.
    Words(&'a [u64]),
}

impl<'a> Words<'a> {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Words::Bytes(groups) => groups.len(),
            Words::Words(words) => words.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one at `index`.
    pub fn get(&self, index: usize) -> Option<u64> {
        match self {
            Words::Bytes(groups) => groups.get(index).map(|group| u64::from_le_bytes(*group)),
            Words::Words(words) => words.get(index).copied(),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + use<'a> {
        let words = *self;
        (0..words.len()).map(move |index| words.get(index).unwrap_or_default())
    }
}

impl Default for Words<'_> {
    fn default() -> Self {
        Words::Words(&[])
    }
}

impl PartialEq for Words<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Words<'_> {}

impl core::fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter().map(|word| format!("{word:#x}"))).finish()
    }
}

/// A callchain, innermost first, with markers that say where the kernel's part and the user's begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Callchain<'a> {
    /// The entries as recorded, markers among them.
    pub words: Words<'a>,
}

impl<'a> Callchain<'a> {
    /// The chain of these entries, markers among them (see [`ChainContext::marker`]).
    pub fn from_words(words: &'a [u64]) -> Self {
        Self { words: Words::Words(words) }
    }

    /// How many entries, markers counted.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The entries, addresses and markers told apart.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = ChainEntry> + ExactSizeIterator + use<'a> {
        self.words.iter().map(ChainEntry::from_word)
    }
}

/// One entry of a callchain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChainEntry {
    /// An address. Of a chain's part the first is where the CPU was, the others are return addresses.
    Address(Avma),
    /// The addresses after this are of another context.
    Context(ChainContext),
}

impl ChainEntry {
    /// The entry that `word` is: the 4095 highest values are markers.
    pub fn from_word(word: u64) -> Self {
        if word >= MARKERS_START {
            ChainEntry::Context(ChainContext::from_marker(word))
        } else {
            ChainEntry::Address(Avma(word))
        }
    }
}

/// PERF_CONTEXT_MAX.
const MARKERS_START: u64 = -4095_i64 as u64;

/// Whose addresses follow in a callchain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChainContext {
    /// The hypervisor's.
    Hypervisor,
    /// The kernel's.
    Kernel,
    /// The process's.
    User,
    /// A guest's.
    Guest,
    /// A guest kernel's.
    GuestKernel,
    /// A guest process's.
    GuestUser,
    /// A marker not known here.
    Unknown(u64),
}

impl ChainContext {
    fn from_marker(marker: u64) -> Self {
        // The names and numbers are enum perf_callchain_context's.
        match marker.cast_signed() {
            -32 => ChainContext::Hypervisor,
            -128 => ChainContext::Kernel,
            -512 => ChainContext::User,
            -2048 => ChainContext::Guest,
            -2176 => ChainContext::GuestKernel,
            -2560 => ChainContext::GuestUser,
            _ => ChainContext::Unknown(marker),
        }
    }

    /// The entry of a callchain that stands for it.
    pub fn marker(self) -> u64 {
        let marker: i64 = match self {
            ChainContext::Hypervisor => -32,
            ChainContext::Kernel => -128,
            ChainContext::User => -512,
            ChainContext::Guest => -2048,
            ChainContext::GuestKernel => -2176,
            ChainContext::GuestUser => -2560,
            ChainContext::Unknown(marker) => return marker,
        };
        marker.cast_unsigned()
    }
}

/// How wide the registers of a thread are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegsAbi {
    /// A 32-bit thread (1).
    Bits32,
    /// A 64-bit thread (2).
    Bits64,
    /// A number not known here.
    Unknown(u64),
}

/// User registers at the time of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserRegs<'a> {
    /// How wide they are.
    pub abi: RegsAbi,
    /// Which there are, by their number in `asm/perf_regs.h`.
    pub mask: u64,
    /// Their values, lowest number first.
    pub values: Words<'a>,
}

impl UserRegs<'_> {
    /// The value of the register of that number, if it was recorded.
    pub fn get(&self, register: u32) -> Option<u64> {
        let bit = 1_u64.checked_shl(register)?;
        if self.mask & bit == 0 {
            return None;
        }
        let below = self.mask & bit.wrapping_sub(1);
        self.values.get(below.count_ones() as usize)
    }
}

/// A copy of the user stack from its pointer upwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UserStack<'a> {
    /// All bytes of the record's room for it; those past `filled` mean nothing.
    pub bytes: &'a [u8],
    /// Bytes that were really copied (`dyn_size`), as stated.
    pub filled: u64,
}

impl<'a> UserStack<'a> {
    /// The bytes that were copied.
    pub fn copied(&self) -> &'a [u8] {
        usize::try_from(self.filled).ok().and_then(|filled| self.bytes.get(..filled)).unwrap_or(self.bytes)
    }
}
