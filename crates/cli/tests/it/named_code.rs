//! Where a runtime's methods are, as the runtime itself wrote it down: perf map, jitdump and rundown.

use std::collections::BTreeMap;
use std::path::Path;
use strata_address::Avma;
use strata_testkit::live::Method;

/// A piece of managed code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Code {
    size: u64,
    /// `Namespace.Type.Method`.
    pub(crate) name: String,
    /// `(int32,System.String)`, without `class`, `valuetype` and the assemblies of types.
    pub(crate) arguments: String,
}

/// All code that was ever at an address, the latest last. Nothing tells when code went away.
#[derive(Debug, Default)]
pub(crate) struct NamedCode {
    by_start: BTreeMap<u64, Vec<Code>>,
    largest: u64,
    /// Lines that are neither a method nor a stub.
    pub(crate) odd_lines: Vec<String>,
}

impl NamedCode {
    /// Reads `perf-PID.map`: hexadecimal start and size, then a name, on each line.
    pub(crate) fn read_perf_map(&mut self, path: &Path) {
        let bytes = std::fs::read(path).unwrap();
        // Threads of the runtime write without waiting for each other, and where two lines meet there can be a NUL.
        for line in bytes.split(|byte| matches!(byte, b'\n' | 0)).filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let Some((start, size, name)) = fields(&line) else {
                self.odd_lines.push(line.into_owned());
                continue;
            };
            self.add(start, size, name);
        }
    }

    /// Reads `jit-PID.dump`, which also has precompiled methods. Its layout: perf's `jitdump-specification`.
    pub(crate) fn read_jitdump(&mut self, path: &Path) {
        const CODE_LOAD: u32 = 0;
        /// From the start of a record to the name: header, process and thread, address twice, size, index.
        const NAME: usize = 56;
        let bytes = std::fs::read(path).unwrap();
        let word = |at: usize| bytes.get(at..at + 4).map(|four| u32::from_le_bytes(four.try_into().unwrap()));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(word(0), Some(0x4A69_5444), "{} is no jitdump", path.display());
        let mut at = word(8).unwrap() as usize;
        while let (Some(kind), Some(size)) = (word(at), word(at + 4)) {
            let Some(record) = bytes.get(at..at + size as usize).filter(|record| record.len() > NAME) else { break };
            if kind == CODE_LOAD {
                let name = record[NAME..].split(|byte| *byte == 0).next().unwrap();
                self.add(Avma(long(at + 32)), long(at + 40), &String::from_utf8_lossy(name));
            }
            at += size as usize;
        }
    }

    /// Adds a method of a rundown.
    pub(crate) fn add_method(&mut self, method: &Method) {
        let name = match method.namespace.as_str() {
            "" => method.name.clone(),
            namespace => format!("{namespace}.{}", method.name),
        };
        // Two spaces divide the result's type from the arguments.
        let arguments = method.signature.rsplit_once("  (").map(|(_, arguments)| format!("({arguments}"));
        let arguments = plain(&arguments.unwrap_or_else(|| method.signature.clone()));
        self.insert(method.start, Code { size: method.size, name, arguments });
    }

    /// Everything that was at an address.
    pub(crate) fn at(&self, address: Avma) -> Vec<&Code> {
        let from = address.0.saturating_sub(self.largest);
        let starts = self.by_start.range(from..=address.0);
        let codes = starts.flat_map(|(start, codes)| codes.iter().map(move |code| (*start, code)));
        codes.filter(|(start, code)| address.0 - start < code.size).map(|(_, code)| code).collect()
    }

    /// How many pieces of code there are.
    pub(crate) fn len(&self) -> usize {
        self.by_start.values().map(Vec::len).sum()
    }

    /// Adds a method as perf map and jitdump spell it: `result [Module] Type::Method(arguments)[Tier]`. Stubs are no methods.
    fn add(&mut self, start: Avma, size: u64, text: &str) {
        let untiered = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')).map_or(text, |(text, _)| text);
        let parts = untiered.split_once("::").and_then(|(head, tail)| {
            let (_, owner) = head.rsplit_once("] ")?;
            let (method, _) = tail.split_once('(')?;
            Some((owner, method, &tail[method.len()..]))
        });
        match parts {
            Some((owner, method, arguments)) => {
                let name = if owner.is_empty() { method.to_owned() } else { format!("{owner}.{method}") };
                self.insert(start, Code { size, name, arguments: plain(arguments) });
            }
            None if text.starts_with("stub") => {}
            None => self.odd_lines.push(text.to_owned()),
        }
    }

    fn insert(&mut self, start: Avma, code: Code) {
        self.largest = self.largest.max(code.size);
        self.by_start.entry(start.0).or_default().push(code);
    }
}

fn fields(line: &str) -> Option<(Avma, u64, &str)> {
    let mut words = line.splitn(3, ' ');
    let mut number = || {
        let word = words.next()?;
        u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
    };
    Some((Avma(number()?), number()?, words.next()?))
}

/// A signature without `class` and `valuetype`, and without the assemblies that types are from: `[System.Runtime]`.
pub(crate) fn plain(signature: &str) -> String {
    let text = signature.replace("class ", "").replace("valuetype ", "");
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some(open) = rest.find('[') {
        let (before, bracket) = rest.split_at(open);
        plain.push_str(before);
        // An array's brackets follow its type.
        let of_array = plain.chars().last().is_some_and(|last| !matches!(last, ' ' | ',' | '(' | '<'));
        let end = bracket.find(']').map_or(bracket.len(), |end| end + 1);
        if of_array {
            plain.push_str(&bracket[..end]);
        }
        rest = &bracket[end..];
    }
    plain.push_str(rest);
    plain
}

#[test]
fn spellings_of_the_runtime_are_understood() {
    let check = |line: &str, expected: Option<(&str, &str)>| {
        let mut code = NamedCode::default();
        let (start, size, name) = fields(line).unwrap();
        code.add(start, size, name);
        let last = Avma(start.0 + size - 1);
        let found: Vec<_> = code.at(last).iter().map(|code| (code.name.as_str(), code.arguments.as_str())).collect();
        assert_eq!(found, Vec::from_iter(expected));
        assert!(code.at(Avma(start.0 + size)).is_empty());
    };
    check(
        "00007F3B9D2625B0 51 void [System.Private.CoreLib] System.Array::Sort(!!0[],class System.Comparison`1<!!0>)[QuickJitted]",
        Some(("System.Array.Sort", "(!!0[],System.Comparison`1<!!0>)")),
    );
    check(
        "0x7f12e7407010 3f3 instance class [System.Runtime]System.Func`2<!0,!1> [System.Linq] A.B+C`2[System.__Canon,System.Int32]::.ctor(class [System.Runtime]System.Func`2<!0,!1>,int32[0...,0...])[OptimizedTier1OSR]",
        Some(("A.B+C`2[System.__Canon,System.Int32]..ctor", "(System.Func`2<!0,!1>,int32[0...,0...])")),
    );
    check("0x7f24e3970000 d8 stub<1> AllocateTemporaryEntryPoints<PRECODE_STUB>", None);
}
