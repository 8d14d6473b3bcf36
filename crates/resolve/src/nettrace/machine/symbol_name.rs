//! How collectors spell names of code, and how we do.

use crate::demangle::demangle;
use crate::managed::{is_il_stub, method_display_name};
use strata_profile::{CodeKind, Tier};

/// A name of code, and what it says of the code beside that.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SymbolName {
    pub(super) name: String,
    /// What kind of code it is: how a method was compiled, or that it is something that the runtime writes.
    pub(super) kind: Option<CodeKind>,
    /// In which assembly a method is.
    pub(super) assembly: Option<String>,
}

impl SymbolName {
    /// Reads a symbol of a trace. Methods of .NET are spelled as in the runtime's perf maps,
    /// `RESULT [ASSEMBLY] NAMESPACE.TYPE::METHOD(ARGUMENTS)[TIER]`, its stubs as `stub<NUMBER> KIND<OWNER>`; all else is a
    /// name that may be mangled.
    pub(super) fn read(text: &str) -> Self {
        let managed = managed(text).or_else(|| stub(text));
        managed.unwrap_or_else(|| Self { name: native(text), ..Self::default() })
    }
}

fn managed(text: &str) -> Option<SymbolName> {
    let (text, tier) = text.strip_suffix(']')?.rsplit_once('[')?;
    let (assembly, method) = text.match_indices(" [").find_map(|(at, open)| {
        let (assembly, method) = text.get(at.checked_add(open.len())?..)?.split_once(']')?;
        Some((assembly, method.strip_prefix(' ')?))
    })?;
    let arguments = method.find('(')?;
    let (place, arguments) = method.split_at_checked(arguments)?;
    let (of_type, name) = place.rsplit_once("::")?;
    let signature = format!("  {arguments}");
    let kind = if is_il_stub(of_type, name) { CodeKind::Stub } else { kind_of(tier) };
    Some(SymbolName {
        name: method_display_name(of_type, name, &signature),
        kind: Some(kind),
        assembly: Some(assembly.to_owned()),
    })
}

/// A stub without its number, which would make a function of each.
fn stub(text: &str) -> Option<SymbolName> {
    let (number, what) = text.strip_prefix("stub<")?.split_once("> ")?;
    let is_numbered = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let (kind, owner) = what.strip_suffix('>').filter(|_| is_numbered)?.split_once('<')?;
    let name = if kind == owner { kind } else { what };
    Some(SymbolName { name: name.to_owned(), kind: Some(CodeKind::Stub), assembly: None })
}

/// The runtime's words for how a method was compiled. Its perf maps have other ones for instrumented code than its events.
fn kind_of(tier: &str) -> CodeKind {
    CodeKind::Jit(match tier {
        "PreJIT" | "ReadyToRun" => return CodeKind::ReadyToRun,
        "InstrumentedTier" => Tier::QuickJittedInstrumented,
        "InstrumentedTierOptimized" => Tier::OptimizedTier1Instrumented,
        _ => Tier::TOLD.into_iter().find(|known| known.label() == tier).unwrap_or(Tier::Unknown),
    })
}

fn native(text: &str) -> String {
    if text.is_empty() {
        return "(unnamed)".to_owned();
    }
    half_demangled(text).unwrap_or_else(|| demangle(text).into_owned())
}

/// A name of Rust's older mangling as collectors leave it: they take it for C++, whose rules part the path but leave the
/// hash at its end and the escapes within.
fn half_demangled(text: &str) -> Option<String> {
    let (path, after_path) = text.rsplit_once("::h")?;
    let (hash, ending) = after_path.split_at_checked(HASH_DIGITS)?;
    let is_hash = hash.bytes().all(|digit| digit.is_ascii_hexdigit()) && !path.contains([' ', '(', '<']);
    if !is_hash || path.split("::").any(str::is_empty) || !(ending.is_empty() || ending.starts_with(CLONE)) {
        return None;
    }
    let parts = path.split("::").map(|part| format!("{}{part}", part.len()));
    let mangled = format!("_ZN{}17h{hash}E", parts.collect::<String>());
    let name = demangle(&mangled);
    (name != mangled).then(|| name.into_owned())
}

const HASH_DIGITS: usize = 16;
/// What demanglers of C++ make of an ending such as `.llvm.1234`.
const CLONE: &str = " [clone ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_as_one_writes_them() {
        let check = |text, name: &str, managed: Option<(CodeKind, &str)>| {
            let (kind, assembly) = managed.map(|(kind, assembly)| (kind, assembly.to_owned())).unzip();
            assert_eq!(SymbolName::read(text), SymbolName { name: name.to_owned(), kind, assembly });
        };
        check(
            "void [Shop] Shop.Cart::Add(int32,class System.String)[OptimizedTier1]",
            "Shop.Cart.Add(int32,System.String)",
            Some((CodeKind::Jit(Tier::OptimizedTier1), "Shop")),
        );
        check(
            "instance valuetype [System.Runtime]System.Span`1<!0> [System.Private.CoreLib] System.Memory`1[System.__Canon]::get_Span()[PreJIT]",
            "System.Memory`1[System.__Canon].get_Span()",
            Some((CodeKind::ReadyToRun, "System.Private.CoreLib")),
        );
        check("void [Shop] Shop.Cart::.ctor()[New]", "Shop.Cart..ctor()", Some((CodeKind::Jit(Tier::Unknown), "Shop")));
        check(
            "void [Shop] Shop.Cart::Add()[InstrumentedTier]",
            "Shop.Cart.Add()",
            Some((CodeKind::Jit(Tier::QuickJittedInstrumented), "Shop")),
        );
        check(
            "void [Shop] Shop.Cart::Add()[InstrumentedTierOptimized]",
            "Shop.Cart.Add()",
            Some((CodeKind::Jit(Tier::OptimizedTier1Instrumented), "Shop")),
        );
        check("_ZN4shop4cart3addEi", "shop::cart::add(int)", None);
        check("shop::cart::Cart::add::h0123456789abcdef", "shop::cart::Cart::add", None);
        check(
            "_$LT$shop..cart..Cart$u20$as$u20$core..fmt..Debug$GT$::fmt::h0123456789abcdef [clone .llvm.12]",
            "<shop::cart::Cart as core::fmt::Debug>::fmt",
            None,
        );
        check("shop::h0123456789abcde", "shop::h0123456789abcde", None);
        check("::h0123456789abcdef", "::h0123456789abcdef", None);
        check("shop::::h0123456789abcdef", "shop::::h0123456789abcdef", None);
        check("shop::add(int)::h0123456789abcdef", "shop::add(int)::h0123456789abcdef", None);
        check("shop::h0123456789abcdefg", "shop::h0123456789abcdefg", None);
        check("do_syscall_64", "do_syscall_64", None);
        check("void [Shop] Shop.Cart", "void [Shop] Shop.Cart", None);
        check("a[]", "a[]", None);
        check("", "(unnamed)", None);
        check("stub<> Generate<Generate>", "stub<> Generate<Generate>", None);
        check("stub<7> Generate", "stub<7> Generate", None);
        check(
            "unmanaged cdecl int32 [Shop] dynamicClass::IL_STUB_ReversePInvoke(int64,int64)[Optimized]",
            "dynamicClass.IL_STUB_ReversePInvoke(int64,int64)",
            Some((CodeKind::Stub, "Shop")),
        );
    }

    #[test]
    fn stubs_of_one_kind_have_one_name() {
        let check = |text, name: &str| {
            let stub = SymbolName { name: name.to_owned(), kind: Some(CodeKind::Stub), assembly: None };
            assert_eq!(SymbolName::read(text), stub);
        };
        check("stub<2957> GenerateDispatchStub<GenerateDispatchStub>", "GenerateDispatchStub");
        check("stub<3> AllocateTemporaryEntryPoints<PRECODE_STUB>", "AllocateTemporaryEntryPoints<PRECODE_STUB>");
    }
}
