//! How collectors spell names of managed code, and how we do.

use crate::demangle::demangle;
use crate::managed::method_display_name;
use strata_profile::{CodeKind, Tier};

/// A name of code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SymbolName {
    pub(super) name: String,
    /// What the name says of managed code: how it was compiled, and in which assembly it is.
    pub(super) managed: Option<(CodeKind, String)>,
}

impl SymbolName {
    /// Reads a symbol of a trace. Methods of .NET are spelled as in the runtime's perf maps,
    /// `RESULT [ASSEMBLY] NAMESPACE.TYPE::METHOD(ARGUMENTS)[TIER]`; all else is a name that may be mangled.
    pub(super) fn read(text: &str) -> Self {
        managed(text).unwrap_or_else(|| {
            let name = if text.is_empty() { "(unnamed)".to_owned() } else { demangle(text).into_owned() };
            Self { name, managed: None }
        })
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
    Some(SymbolName {
        name: method_display_name(of_type, name, &signature),
        managed: Some((kind_of(tier), assembly.to_owned())),
    })
}

/// The runtime's words for how a method was compiled.
fn kind_of(tier: &str) -> CodeKind {
    match tier {
        "PreJIT" | "ReadyToRun" => CodeKind::ReadyToRun,
        _ => CodeKind::Jit(Tier::TOLD.into_iter().find(|known| known.label() == tier).unwrap_or(Tier::Unknown)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_as_one_writes_them() {
        let check = |text, name: &str, managed: Option<(CodeKind, &str)>| {
            let managed = managed.map(|(kind, assembly)| (kind, assembly.to_owned()));
            assert_eq!(SymbolName::read(text), SymbolName { name: name.to_owned(), managed });
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
        check("_ZN4shop4cart3addEi", "shop::cart::add(int)", None);
        check("do_syscall_64", "do_syscall_64", None);
        check("void [Shop] Shop.Cart", "void [Shop] Shop.Cart", None);
        check("a[]", "a[]", None);
        check("", "(unnamed)", None);
    }
}
