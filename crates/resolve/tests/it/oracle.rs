//! What binutils say about a file.

use std::path::Path;
use std::process::Command;

/// The standard output of a command that must succeed.
pub(crate) fn output(program: &str, arguments: &[&str]) -> String {
    let result = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    let errors = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8_lossy(&result.stdout).into_owned()
}

/// A function as `readelf` lists it.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) name: String,
}

/// The functions in all symbol tables of `file`, without versions, as stated addresses.
pub(crate) fn functions(file: &Path) -> Vec<Listed> {
    let text = output("readelf", &["-sW", file.to_str().unwrap()]);
    let listed = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, value, size, kind, _, _, section, name, ..] = fields[..] else { return None };
        if !matches!(kind, "FUNC" | "IFUNC") || section.parse::<u32>().is_err() {
            return None;
        }
        let size = match size.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok()?,
            None => size.parse().ok()?,
        };
        let name = name.split('@').next().unwrap_or(name).to_owned();
        Some(Listed { start: u64::from_str_radix(value, 16).ok()?, size, name })
    });
    listed.collect()
}

/// Start and size of a section, as stated addresses.
pub(crate) fn section(file: &Path, wanted: &str) -> (u64, u64) {
    let text = output("readelf", &["-SW", file.to_str().unwrap()]);
    let found = text.lines().find_map(|line| {
        let (_, rest) = line.split_once(']')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let [name, _, address, _, size, ..] = fields[..] else { return None };
        (name == wanted).then(|| (u64::from_str_radix(address, 16).unwrap(), u64::from_str_radix(size, 16).unwrap()))
    });
    found.unwrap_or_else(|| panic!("{} has no {wanted}", file.display()))
}

/// The ranges of the unwind table, as stated addresses.
pub(crate) fn unwind_ranges(file: &Path) -> Vec<(u64, u64)> {
    let text = output("readelf", &["--debug-dump=frames", "-wN", "-W", file.to_str().unwrap()]);
    let ranges = text.lines().filter_map(|line| {
        let (_, range) = line.split_once("FDE ")?.1.split_once("pc=")?;
        let (start, end) = range.trim().split_once("..")?;
        Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
    });
    ranges.collect()
}

/// Call stubs as the disassembler labels them: stated address and `name@plt`.
pub(crate) fn stubs(file: &Path) -> Vec<(u64, String)> {
    let text = output("objdump", &["-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", file.to_str().unwrap()]);
    let labels = text.lines().filter_map(|line| {
        let (address, label) = line.strip_suffix(">:")?.split_once(" <")?;
        let name = label.split_once("@@").map_or(label.to_owned(), |(name, _)| format!("{name}@plt"));
        (label.ends_with("@plt") && !label.starts_with("*ABS*"))
            .then(|| (u64::from_str_radix(address, 16).unwrap(), name))
    });
    labels.collect()
}

/// Numbers that are the same in each run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
