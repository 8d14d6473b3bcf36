//! How collectors spell names of managed code, and how we do.

use crate::demangle::demangle;
use crate::managed::method_display_name;
use strata_profile::{CodeKind, Tier};

/// A name of code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SymbolName {
    pub(super) name: String,
    pub(super) says: NameSays,
}

/// What a name says of the code beside what it is called.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NameSays {
    /// Managed code: how it was compiled, and in which assembly it is.
    Managed { kind: CodeKind, assembly: String },
    /// Something that the runtime writes and that is no method.
    Stub,
    /// Nothing.
    Nothing,
}

impl SymbolName {
    /// Reads a symbol of a trace. Methods of .NET are spelled as in the runtime's perf maps,
    /// `RESULT [ASSEMBLY] NAMESPACE.TYPE::METHOD(ARGUMENTS)[TIER]`, its stubs as `stub<NUMBER> KIND<OWNER>`; all else is a
    /// name that may be mangled.
    pub(super) fn read(text: &str) -> Self {
        let managed = managed(text).or_else(|| stub(text));
        managed.unwrap_or_else(|| Self { name: native(text), says: NameSays::Nothing })
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
    let kind = match of_type == "dynamicClass" && name.starts_with("IL_STUB") {
        true => CodeKind::Stub,
        false => kind_of(tier),
    };
    Some(SymbolName {
        name: method_display_name(of_type, name, &signature),
        says: NameSays::Managed { kind, assembly: assembly.to_owned() },
    })
}

/// A stub without its number, which would make a function of each.
fn stub(text: &str) -> Option<SymbolName> {
    let (number, what) = text.strip_prefix("stub<")?.split_once("> ")?;
    let is_numbered = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    let (kind, owner) = what.strip_suffix('>').filter(|_| is_numbered)?.split_once('<')?;
    let name = if kind == owner { kind } else { what };
    Some(SymbolName { name: name.to_owned(), says: NameSays::Stub })
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
    if !is_hash || !(ending.is_empty() || ending.starts_with(CLONE)) {
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
            let says = managed.map_or(NameSays::Nothing, |(kind, assembly)| NameSays::Managed {
                kind,
                assembly: assembly.to_owned(),
            });
            assert_eq!(SymbolName::read(text), SymbolName { name: name.to_owned(), says });
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
            assert_eq!(SymbolName::read(text), SymbolName { name: name.to_owned(), says: NameSays::Stub });
        };
        check("stub<2957> GenerateDispatchStub<GenerateDispatchStub>", "GenerateDispatchStub");
        check("stub<3> AllocateTemporaryEntryPoints<PRECODE_STUB>", "AllocateTemporaryEntryPoints<PRECODE_STUB>");
    }
}
