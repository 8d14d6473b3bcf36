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
    /// Types of the arguments in one spelling: see [`plain`].
    pub(crate) arguments: String,
    /// As events spell it; `None` where nothing tells it.
    pub(crate) tier: Option<&'static str>,
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
        self.insert(method.start, Code { size: method.size, name, arguments, tier: None });
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
        let (untiered, tier) = text
            .strip_suffix(']')
            .and_then(|text| text.rsplit_once('['))
            .map_or((text, None), |(untiered, tier)| (untiered, tier_in_events(tier)));
        let parts = untiered.split_once("::").and_then(|(head, tail)| {
            let (_, owner) = head.rsplit_once("] ")?;
            let (method, _) = tail.split_once('(')?;
            Some((owner, method, &tail[method.len()..]))
        });
        match parts {
            Some((owner, method, arguments)) => {
                let name = if owner.is_empty() { method.to_owned() } else { format!("{owner}.{method}") };
                self.insert(start, Code { size, name, arguments: plain(arguments), tier });
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

/// What events call a tier of a perf map.
fn tier_in_events(tier: &str) -> Option<&'static str> {
    Some(match tier {
        "MinOptJitted" => "MinOptJitted",
        "Optimized" => "Optimized",
        "QuickJitted" => "QuickJitted",
        "OptimizedTier1" => "OptimizedTier1",
        "OptimizedTier1OSR" => "OptimizedTier1OSR",
        "InstrumentedTier" => "QuickJittedInstrumented",
        "InstrumentedTierOptimized" => "OptimizedTier1Instrumented",
        "PreJIT" | "ReadyToRun" => "ReadyToRun",
        _ => return None,
    })
}

/// A signature in a spelling that maps and events can both be brought to. Maps have `(string,valuetype
/// [System.Runtime]System.ConsoleKey,Outer/Inner,uint8,char)` where events have `(class System.String,value class
/// System.ConsoleKey,Inner,unsigned int8,wchar)`. Types of arguments that events show as the address of a method table
/// (`pMT: 0x7f..`), which some maps have too (`Inner /* MT: 0x7f.. */`), become `?`.
pub(crate) fn plain(signature: &str) -> String {
    const KINDS: [&str; 6] = ["method ", "fnptr ", "value ", "valuetype ", "class ", "native "];
    const NAMES: [(&str, &str); 4] =
        [("wchar", "char"), ("System.String", "string"), ("System.Object", "object"), ("unsigned int", "uint")];
    // Pointers to functions: `method object *(int32)` in maps, `fnptr System.Object(int32)` in events.
    let signature = without_method_tables(&unscoped(signature)).replace(" *(", "(");
    let mut plain = String::new();
    // One type at a time: a word ends with what joins types to a signature.
    for word in signature.split_inclusive(['(', ')', ',', '<', '>', '[', '&', '*']) {
        let word = KINDS.iter().fold(word, |word, kind| word.strip_prefix(kind).unwrap_or(word));
        let word = word.rsplit('/').next().unwrap_or_default();
        let (name, end) = word.split_at(word.len() - word.chars().last().map_or(0, char::len_utf8));
        match NAMES.iter().find(|(from, _)| *from == name) {
            Some((_, to)) => plain.push_str(&format!("{to}{end}")),
            None => plain.push_str(&word.replace("unsigned int", "uint")),
        }
    }
    plain
}

/// With `?` for types that are known by the address of a method table alone, and for those that have it beside them.
fn without_method_tables(signature: &str) -> String {
    let mut known = String::new();
    let mut rest = signature;
    while let Some(at) = rest.find("MT: ") {
        let (before, after) = rest.split_at(at);
        known.push_str(before);
        let start = known.rfind([',', '(', '<']).map_or(0, |joint| joint + 1);
        known.truncate(start);
        known.push('?');
        let digits = after["MT: ".len()..].trim_start_matches(|digit: char| digit.is_ascii_hexdigit() || digit == 'x');
        rest = digits.strip_prefix(" */").unwrap_or(digits);
    }
    known.push_str(rest);
    known
}

/// Without the assemblies that types are from: `[System.Runtime]`.
fn unscoped(signature: &str) -> String {
    let mut plain = String::new();
    let mut rest = signature;
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

#[test]
fn spellings_of_types_are_brought_together() {
    let check = |map: &str, events: &str| assert_eq!(plain(map), plain(events));
    check("(string,string[],object&)", "(class System.String,class System.String[],class System.Object&)");
    check("(uint8*,native uint,Shares/Comparison)", "(unsigned int8*,unsigned int,class Comparison)");
    check(
        "(valuetype System.ReadOnlySpan`1<char>,valuetype A/B/C)",
        "(value class System.ReadOnlySpan`1<wchar>,value class C)",
    );
    check("(method object *(void*)&,bool&)", "(fnptr System.Object(void*)&,bool&)");
    check("(A/B /* MT: 0x00007F5B8B74C468 */,int32)", "(pMT: 00007F5B8B74C468,int32)");
    assert_ne!(plain("(System.StringComparison)"), plain("(stringComparison)"));
    assert_ne!(plain("(int32,int64)"), plain("(int64,int32)"));
}
