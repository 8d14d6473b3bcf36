//! Turns the names that compilers write into symbol tables back into the names that people wrote.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Longest mangled name, in bytes, that is looked at; a longer one stays as it is.
pub const MAX_MANGLED: usize = 16 * 1024;

/// Longest demangled name, in bytes, that is given; a mangled name that would grow longer stays as it is.
pub const MAX_DEMANGLED: usize = 32 * 1024;

/// Nesting, in levels, past which a C++ name stays as it is: deeper names come from attackers, not from compilers.
const MAX_CPP_DEPTH: u32 = 96;

/// The readable form of a symbol's `name`: Rust (both manglings, without the hash), C++ (Itanium, without the return type),
/// or the name itself when it is neither or breaks a limit.
///
/// An `@plt` ending is kept. Work and output are bounded by [`MAX_MANGLED`] and [`MAX_DEMANGLED`].
pub fn demangle(name: &str) -> Cow<'_, str> {
    if name.len() > MAX_MANGLED || !looks_mangled(name) {
        return Cow::Borrowed(name);
    }
    let (mangled, ending) = match name.strip_suffix("@plt") {
        Some(before) => (before, "@plt"),
        None => (name, ""),
    };
    match rust(mangled).or_else(|| cpp(mangled)) {
        Some(mut readable) => {
            readable.push_str(ending);
            Cow::Owned(readable)
        }
        None => Cow::Borrowed(name),
    }
}

fn looks_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("__Z") || name.starts_with("___Z")
}

fn rust(name: &str) -> Option<String> {
    // C++ and Rust's older mangling both begin with `_ZN`; only the hash at the end tells them apart.
    if !name.starts_with("_R") && !has_rust_hash(name) {
        return None;
    }
    let readable = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::new();
    write!(out, "{readable:#}").ok()?;
    Some(out.text)
}

/// Whether a legacy path ends in its hash, `17h` + 16 hex digits + `E`, before any `.suffix`.
fn has_rust_hash(name: &str) -> bool {
    name.match_indices("17h").any(|(at, _)| {
        let rest = name.as_bytes().get(at.saturating_add(3)..).unwrap_or_default();
        rest.get(..16).is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit))
            && rest.get(16) == Some(&b'E')
            && matches!(rest.get(17), None | Some(b'.'))
    })
}

fn cpp(name: &str) -> Option<String> {
    let parse = cpp_demangle::ParseOptions::default().recursion_limit(MAX_CPP_DEPTH);
    let print = cpp_demangle::DemangleOptions::new().no_return_type().recursion_limit(MAX_CPP_DEPTH);
    let symbol = cpp_demangle::Symbol::new_with_options(name, &parse).ok()?;
    let mut out = Bounded::new();
    symbol.structured_demangle(&mut out, &print).ok()?;
    Some(out.text)
}

/// Text that refuses to grow past [`MAX_DEMANGLED`], which also stops the writer's work.
struct Bounded {
    text: String,
}

impl Bounded {
    fn new() -> Self {
        Self { text: String::new() }
    }
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.text.len().saturating_add(part.len()) > MAX_DEMANGLED {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn check(mangled: &str, wanted: &str) {
        assert_eq!(demangle(mangled), wanted, "for {mangled}");
    }

    #[test]
    fn names_come_back_as_written() {
        check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
        check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.1234", "core::fmt::Formatter::pad");
        check("_RNvC6_123foo3bar", "123foo::bar");
        check("_ZN3foo3barEv", "foo::bar()");
        check("_ZN3foo3barE", "foo::bar");
        check("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)");
        check("_ZN3foo3barEv@plt", "foo::bar()@plt");
        check("_Z3maxIiET_S0_S0_", "max<int>(int, int)");
        check("main", "main");
        check("", "");
        check("_Zebra", "_Zebra");
        check("_ZN", "_ZN");
        check("größe", "größe");
    }

    #[test]
    fn a_cloned_cpp_function_keeps_saying_so() {
        let name = demangle("_ZN3foo3barEv.cold");
        assert!(name.starts_with("foo::bar()") && name.contains("cold"), "{name}");
    }

    /// Each hostile name must come back, unchanged or shortened, soon and without overflowing a thread's default stack.
    #[test]
    fn hostile_names_are_cut_off() {
        let mut hostile: Vec<String> = vec![
            format!("_Z{}", "N".repeat(10_000)),
            format!("_Z1f{}", "P".repeat(16_000)),
            format!("_Z1f{}v", "PF".repeat(8_000)),
            format!("_Z1fI{}", "1AI".repeat(5_000)),
            format!("_R{}", "Y".repeat(16_000)),
            format!("_RNvC1a1b{}", "I".repeat(16_000)),
            format!("_ZN{}E", "1a".repeat(1_000_000)),
        ];
        // Each substitution doubles the output: 2^60 copies of `a` if nobody stops it.
        let mut doubling = String::from("_Z1f1AIS_S_E");
        for _ in 0..60 {
            doubling = format!("{doubling}1BIS0_S0_ES1_S1_");
        }
        hostile.push(doubling);
        let mut template = String::from("_Z1fI");
        for level in 0..40 {
            template.push_str(&format!("1AIT_T_ES{level}_"));
        }
        hostile.push(template);
        let mut tuples = String::from("_RIC0");
        for _ in 0..2_000 {
            tuples.push_str("TB_B_E");
        }
        hostile.push(tuples);
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for name in hostile {
                let readable = demangle(&name);
                assert!(readable.len() <= MAX_DEMANGLED.max(name.len()));
            }
            done.send(()).unwrap();
        });
        wait.recv_timeout(Duration::from_secs(20)).expect("a hostile name holds the demangler up");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(name in "_(Z|R)[A-Za-z0-9_.$]{0,300}") {
            let readable = demangle(&name);
            proptest::prop_assert!(readable.len() <= MAX_DEMANGLED.max(name.len()));
        }
    }
}
