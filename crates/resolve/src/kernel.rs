//! Names of kernel code from the text of `/proc/kallsyms`.
//!
//! Each line is an address in hex, a type letter as `nm` prints it, a name and, for code of a module, the module's name in
//! brackets after a tab. Source: `Documentation/admin-guide/sysctl/kernel.rst` and `kernel/kallsyms.c` of Linux.

use memchr::memchr;
use strata_address::Avma;

use crate::readable::{self, Binding};

/// Bytes a symbol may reach when what follows it belongs to someone else (another module, or nothing at all): the file
/// says no sizes, and a far-away address must not get the name of the last function below it.
const MAX_REACH_AT_END: u64 = 16 * 1024;

/// The kernel's settings that decide whether it shows its addresses, as read from `/proc/sys/kernel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelKnobs {
    /// `kernel.kptr_restrict`: 0 shows addresses unless `perf_event_paranoid` > 1, 1 to the privileged, 2 to nobody.
    pub kptr_restrict: Option<i32>,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
}

/// Why there are no kernel names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelHidden {
    /// The kernel lists its symbols but shows every address as zero.
    #[error("kernel addresses are hidden: kernel.kptr_restrict = {}, kernel.perf_event_paranoid = {}",
            shown(.knobs.kptr_restrict), shown(.knobs.perf_event_paranoid))]
    AddressesHidden {
        /// The settings that do this, with their values.
        knobs: KernelKnobs,
    },
    /// The list holds no function at all: a kernel built without `CONFIG_KALLSYMS`, or a container that hides the file.
    #[error("the kernel lists no functions")]
    NoSymbols,
    /// The text holds no symbol line, but others.
    #[error("no symbol line at byte {offset} of the kernel's symbol list")]
    Malformed {
        /// Where the line begins, in bytes from the start of the text.
        offset: usize,
    },
    /// The names do not fit into the 4 GiB that are foreseen for them.
    #[error("the kernel's symbol list is too large")]
    TooLarge,
}

fn shown(value: Option<i32>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| value.to_string())
}

/// A kernel function that holds an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSymbol<'a> {
    /// The function's name as the kernel spells it.
    pub name: &'a str,
    /// The module that holds it (`bpf` for programs the kernel compiled itself), `None` for the kernel proper.
    pub module: Option<&'a str>,
    /// First address.
    pub start: Avma,
    /// Bytes to the next symbol: the file says no sizes, so this is an upper bound.
    pub size: u64,
}

/// The kernel's functions, sorted, with their names in one piece of text.
#[derive(Clone, Debug)]
pub struct KernelSymbols {
    functions: Vec<Function>,
    names: String,
    modules: Vec<String>,
    malformed: MalformedLines,
}

/// Lines that are no symbol lines and were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MalformedLines {
    /// How many.
    pub count: u64,
    /// Where the first begins, in bytes from the start of the text.
    pub first_offset: Option<usize>,
}

impl MalformedLines {
    fn push_line(&mut self, offset: usize) {
        self.count = self.count.saturating_add(1);
        self.first_offset.get_or_insert(offset);
    }
}

#[derive(Clone, Copy, Debug)]
struct Function {
    start: u64,
    size: u32,
    name: u32,
    name_length: u16,
    /// Index into the modules plus one; 0 is the kernel proper.
    module: u16,
}

impl KernelSymbols {
    /// Reads the whole text of `/proc/kallsyms`; `knobs` are only repeated in the error.
    ///
    /// # Errors
    /// [`KernelHidden`] when there is nothing to look up, with the reason.
    pub fn parse_kallsyms(text: &[u8], knobs: KernelKnobs) -> Result<Self, KernelHidden> {
        let mut lines = Lines { text, offset: 0 };
        let mut modules = Modules::default();
        let mut raw = Vec::new();
        let mut any_function = false;
        let mut malformed = MalformedLines::default();
        while let Some(line) = lines.next_line() {
            let line = match line {
                Ok(line) => line,
                Err(offset) => {
                    malformed.push_line(offset);
                    continue;
                }
            };
            any_function |= line.kind.is_function();
            // Absolute and per-CPU symbols are numbers, not places; a zero address is a hidden one.
            if line.address != 0 && line.kind != Kind::Number {
                raw.push(RawSymbol { module: modules.number(line.module), line });
            }
        }
        if !raw.iter().any(|symbol| symbol.line.kind.is_function()) {
            return Err(match (any_function, malformed.first_offset) {
                (true, _) => KernelHidden::AddressesHidden { knobs },
                (false, Some(offset)) => KernelHidden::Malformed { offset },
                (false, None) => KernelHidden::NoSymbols,
            });
        }
        raw.sort_by_key(|symbol| symbol.line.address);
        Ok(Self { malformed, ..collect(&raw, modules.names)? })
    }

    /// The function that holds `address`, or `None` outside any.
    pub fn lookup(&self, address: Avma) -> Option<KernelSymbol<'_>> {
        let after = self.functions.partition_point(|function| function.start <= address.0);
        let function = self.functions.get(after.checked_sub(1)?)?;
        if address.0.checked_sub(function.start)? >= u64::from(function.size) {
            return None;
        }
        let begin = usize::try_from(function.name).ok()?;
        let name = self.names.get(begin..begin.checked_add(usize::from(function.name_length))?)?;
        let module = usize::from(function.module).checked_sub(1).and_then(|index| self.modules.get(index));
        Some(KernelSymbol {
            name,
            module: module.map(String::as_str),
            start: Avma(function.start),
            size: function.size.into(),
        })
    }

    /// Lines that could not be read, as at the end of a list that was cut short.
    pub const fn malformed(&self) -> MalformedLines {
        self.malformed
    }

    /// How many distinct functions are known.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Never: a list without functions is an error of parsing.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Bytes of memory that the table holds.
    pub fn memory(&self) -> usize {
        let modules: usize = self.modules.iter().map(String::capacity).fold(0, usize::saturating_add);
        size_of::<Function>()
            .saturating_mul(self.functions.capacity())
            .saturating_add(self.names.capacity())
            .saturating_add(modules)
    }
}

/// Keeps the most readable function of each address and says how far it reaches.
fn collect(sorted: &[RawSymbol<'_>], modules: Vec<String>) -> Result<KernelSymbols, KernelHidden> {
    let mut functions = Vec::with_capacity(sorted.len());
    let mut names = String::new();
    let mut groups = sorted.chunk_by(|left, right| left.line.address == right.line.address).peekable();
    while let Some(group) = groups.next() {
        let functions_here = group.iter().filter(|symbol| symbol.line.kind.is_function());
        let Some(best) = functions_here.min_by(|left, right| readable::compare(left.rank(), right.rank())) else {
            continue;
        };
        let next = groups.peek().and_then(|next| next.first());
        let to_next = next.and_then(|next| next.line.address.checked_sub(best.line.address)).unwrap_or(u64::MAX);
        let owned_by_same = next.is_some_and(|next| next.module == best.module && next.line.kind.is_function());
        let size = if owned_by_same { to_next } else { to_next.min(MAX_REACH_AT_END) };
        let begin = u32::try_from(names.len()).map_err(|_| KernelHidden::TooLarge)?;
        let name = String::from_utf8_lossy(best.line.name);
        names.push_str(&name);
        functions.push(Function {
            start: best.line.address,
            size: u32::try_from(size).unwrap_or(u32::MAX),
            name: begin,
            name_length: u16::try_from(name.len()).map_err(|_| KernelHidden::TooLarge)?,
            module: best.module,
        });
    }
    functions.shrink_to_fit();
    names.shrink_to_fit();
    Ok(KernelSymbols { functions, names, modules, malformed: MalformedLines::default() })
}

struct RawSymbol<'a> {
    line: Line<'a>,
    module: u16,
}

impl<'a> RawSymbol<'a> {
    fn rank(&self) -> (&'a [u8], Binding) {
        (self.line.name, self.line.kind.binding())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function(Binding),
    Data,
    Number,
}

impl Kind {
    fn of(letter: u8) -> Self {
        match letter {
            b'T' => Self::Function(Binding::Global),
            b'W' | b'w' | b'i' => Self::Function(Binding::Weak),
            b't' => Self::Function(Binding::Local),
            b'A' | b'a' => Self::Number,
            _ => Self::Data,
        }
    }

    fn is_function(self) -> bool {
        matches!(self, Self::Function(_))
    }

    fn binding(self) -> Binding {
        match self {
            Self::Function(binding) => binding,
            Self::Data | Self::Number => Binding::Local,
        }
    }
}

struct Line<'a> {
    address: u64,
    kind: Kind,
    name: &'a [u8],
    module: Option<&'a [u8]>,
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let (address, rest) = split(line, b' ')?;
        let (kind, rest) = split(rest, b' ')?;
        let &[letter] = kind else { return None };
        let (name, module) = match split(rest, b'\t') {
            Some((name, module)) => (name.trim_ascii_end(), module.trim_ascii().strip_prefix(b"[")?.strip_suffix(b"]")),
            None => (rest.trim_ascii_end(), None),
        };
        if name.is_empty() || name.len() > MAX_NAME {
            return None;
        }
        Some(Self { address: hex(address)?, kind: Kind::of(letter), name, module })
    }
}

/// The kernel's own limit is 512 bytes; the margin is for what replaces bytes that are no text.
const MAX_NAME: usize = 4096;

fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let (before, after) = text.split_at_checked(memchr(at, text)?)?;
    Some((before, after.get(1..)?))
}

fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some((value << 4) | u64::from(digit))
    })
}

struct Lines<'a> {
    text: &'a [u8],
    offset: usize,
}

impl<'a> Lines<'a> {
    fn next_line(&mut self) -> Option<Result<Line<'a>, usize>> {
        loop {
            let rest = self.text.get(self.offset..)?;
            if rest.is_empty() {
                return None;
            }
            let offset = self.offset;
            let line = split(rest, b'\n').map_or(rest, |(line, _)| line);
            self.offset = offset.saturating_add(line.len()).saturating_add(1);
            if !line.trim_ascii().is_empty() {
                return Some(Line::parse(line).ok_or(offset));
            }
        }
    }
}

/// Module names by number; symbols of one module come one after the other, so the last one is looked at first.
#[derive(Default)]
struct Modules<'a> {
    names: Vec<String>,
    numbers: std::collections::HashMap<&'a [u8], u16>,
    last: Option<(&'a [u8], u16)>,
}

impl<'a> Modules<'a> {
    fn number(&mut self, name: Option<&'a [u8]>) -> u16 {
        let Some(name) = name else { return 0 };
        if let Some((last, number)) = self.last
            && last == name
        {
            return number;
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                // More than 65,534 modules is no kernel; the rest would lose their module, not their name.
                let Ok(number) = u16::try_from(self.names.len().saturating_add(1)) else { return 0 };
                self.names.push(String::from_utf8_lossy(name).into_owned());
                self.numbers.insert(name, number);
                number
            }
        };
        self.last = Some((name, number));
        number
    }
}

#[cfg(test)]
mod tests;
