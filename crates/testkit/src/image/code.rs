//! Code, its unwind data, and the table of functions over it.

use super::pe;

/// One precompiled method.
#[derive(Clone, Debug, Default)]
pub struct Method {
    /// The entries that name it; several are aliases, none is code that no entry owns.
    pub names: Vec<Name>,
    /// Length of its body.
    pub body: u32,
    /// Its funclets, right after the body.
    pub funclets: Vec<Funclet>,
    /// Bytes of data after its code, which belong to no function.
    pub literals: u32,
    /// Lengths of the functions of its cold part.
    pub cold: Vec<u32>,
    /// What its entries say of fixups.
    pub fixups: Fixups,
    /// Its map of native to IL offsets.
    pub debug: super::debug_info::Debug,
}

/// An entry of one of the two tables.
#[derive(Clone, Debug)]
pub enum Name {
    /// A row of the table MethodDef of a component; component 0 in an image of one assembly.
    Definition(usize, u32),
    /// A generic instance.
    Instance(super::signature::Instance),
}

/// What an entry has besides the index of its function.
#[derive(Clone, Debug, Default)]
pub enum Fixups {
    /// Nothing.
    #[default]
    None,
    /// A blob right after it.
    Own(Vec<u8>),
    /// The blob of the entry of an earlier method, by its place in the list.
    Of(usize),
    /// An entry value written so, whatever it means.
    Raw(Vec<u8>),
}

/// A handler compiled as a function of its own.
#[derive(Clone, Copy, Debug)]
pub struct Funclet {
    /// Length of its code.
    pub length: u32,
    /// What it handles.
    pub kind: FuncletKind,
}

/// Kind of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FuncletKind {
    /// Handler of exceptions of a type.
    Catch,
    /// Handler run on every way out.
    Finally,
    /// Handler run on the way out of an exception.
    Fault,
    /// Decides whether the next funclet, [`Self::Filtered`], handles.
    Filter,
    /// Handler behind a filter.
    Filtered,
}

/// Where a function came to lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Address.
    pub start: u32,
    /// Length of its code.
    pub length: u32,
}

impl Function {
    /// First address behind it.
    pub fn end(self) -> u32 {
        self.start + self.length
    }
}

/// Where a method came to lie.
#[derive(Clone, Debug, Default)]
pub struct Placed {
    /// Index of its entry function in the table.
    pub entry: u32,
    /// Its body and funclets.
    pub hot: Vec<Function>,
    /// Index of the first function of its cold part.
    pub cold_entry: u32,
    /// Its cold part.
    pub cold: Vec<Function>,
}

impl Placed {
    /// Address of its first instruction.
    pub fn start(&self) -> u32 {
        self.hot[0].start
    }

    /// Length from its start to the end of its last funclet.
    pub fn size(&self) -> u32 {
        self.hot[self.hot.len() - 1].end() - self.start()
    }
}

/// Puts the code of all methods: bodies with funclets first, cold parts behind.
pub(super) fn put_code(out: &mut pe::Pe, methods: &[Method]) -> Vec<Placed> {
    let mut index = 0;
    let mut placed = Vec::new();
    let function = |out: &mut pe::Pe, length: u32| Function { start: out.put(&vec![0x90; length as usize]), length };
    for method in methods {
        out.align(16, 0xcc);
        let mut hot = vec![function(out, method.body)];
        hot.extend(method.funclets.iter().map(|funclet| function(out, funclet.length)));
        out.put(&vec![0xee; method.literals as usize]);
        placed.push(Placed { entry: index, hot, ..Placed::default() });
        index += 1 + method.funclets.len() as u32;
    }
    for (method, placed) in methods.iter().zip(&mut placed) {
        out.align(16, 0xcc);
        placed.cold_entry = index;
        placed.cold = method.cold.iter().map(|length| function(out, *length)).collect();
        index += method.cold.len() as u32;
    }
    placed
}

/// Puts unwind data for all functions and gives the table of functions, without the mark at its end.
pub(super) fn put_unwind_data(out: &mut pe::Pe, placed: &[Placed], personality: u32) -> Vec<u8> {
    let arm64 = out.machine == pe::LINUX_ARM64;
    let mut table = Vec::new();
    let hot = placed.iter().flat_map(|method| method.hot.iter().map(|function| (*function, None)));
    let cold = placed.iter().flat_map(|method| method.cold.iter().map(|function| (*function, Some(method.entry))));
    for (number, (function, owner)) in hot.chain(cold).enumerate() {
        out.align(4, 0);
        let unwind = if arm64 {
            out.put(&arm64_unwind(function.length, number, personality))
        } else {
            let owner = owner.map(|entry| table[entry as usize * 12..][..12].to_vec());
            out.put(&amd64_unwind(owner.as_deref(), number, personality))
        };
        table.extend(function.start.to_le_bytes());
        if !arm64 {
            table.extend(function.end().to_le_bytes());
        }
        table.extend(unwind.to_le_bytes());
        // Collector information of no meaning here.
        out.put(&[0xa5; 3]);
    }
    table
}

fn amd64_unwind(owner: Option<&[u8]>, number: usize, personality: u32) -> Vec<u8> {
    let codes = number % 3;
    let flags: u8 = if owner.is_some() { 4 } else { 3 };
    let mut out = vec![1 | flags << 3, 4, codes as u8, 0];
    out.extend([4, 0x42].repeat(codes));
    out.resize(out.len().next_multiple_of(4), 0);
    out.extend(owner.unwrap_or(&personality.to_le_bytes()));
    out
}

/// Every third record has its counts in an extension word.
fn arm64_unwind(length: u32, number: usize, personality: u32) -> Vec<u8> {
    let first = (length / 4) | 1 << 20;
    let mut out = Vec::new();
    if number % 3 == 2 {
        out.extend(first.to_le_bytes());
        out.extend((1_u32 | 1 << 16).to_le_bytes());
    } else {
        out.extend((first | 1 << 22 | 1 << 27).to_le_bytes());
    }
    // One epilog at the end, one word of codes.
    out.extend((length / 4).saturating_sub(1).to_le_bytes());
    out.extend([0x81, 0xe4, 0xe3, 0xe3]);
    out.extend(personality.to_le_bytes());
    out
}

/// The exception table and, behind it, the clauses it points at: both as bytes, for a table at `address`.
pub(super) fn exceptions(methods: &[Method], placed: &[Placed], clauses: u32) -> (Vec<u8>, Vec<u8>) {
    let (mut table, mut out) = (Vec::new(), Vec::new());
    let mut row = |start: u32, behind: usize| {
        table.extend(start.to_le_bytes());
        table.extend((clauses + behind as u32).to_le_bytes());
    };
    for (method, placed) in methods.iter().zip(placed) {
        if method.funclets.is_empty() {
            continue;
        }
        row(placed.start(), out.len());
        for (number, funclet) in method.funclets.iter().enumerate() {
            let at = |number: usize| placed.hot.get(number + 1).copied().unwrap_or(Function { start: 0, length: 0 });
            let (flags, handler, filter) = match funclet.kind {
                FuncletKind::Catch => (0, at(number), 0),
                FuncletKind::Finally => (2, at(number), 0),
                FuncletKind::Fault => (4, at(number), 0),
                FuncletKind::Filter => (1, at(number + 1), at(number).start - placed.start()),
                FuncletKind::Filtered => continue,
            };
            let start = placed.start();
            for value in [flags, 0, 4, handler.start - start, handler.end() - start, filter] {
                out.extend(value.to_le_bytes());
            }
        }
    }
    row(u32::MAX, out.len());
    (table, out)
}
