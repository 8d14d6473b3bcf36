//! How a method is called for reading.

/// `Namespace.Type.Method(int32,System.String)` from what the runtime says of a method: its type's full name, its own
/// name, and its signature such as `instance void  (int32,class System.String)`.
pub fn display(namespace: &str, name: &str, signature: &str) -> String {
    let arguments = ["value class ", "valuetype ", "class "]
        .iter()
        .fold(arguments(signature).to_owned(), |text, kind| text.replace(kind, ""));
    let name = if name.is_empty() { "(unnamed)" } else { name };
    if namespace.is_empty() { format!("{name}{arguments}") } else { format!("{namespace}.{name}{arguments}") }
}

/// The part of a signature from the opening parenthesis of its arguments on; empty when it has none.
///
/// The runtime puts two spaces between the result's type and the arguments; a result that is itself a pointer to a function
/// has parentheses of its own before that.
fn arguments(signature: &str) -> &str {
    let start = signature.find("  (").map(|at| at.saturating_add(2)).or_else(|| signature.find('('));
    start.and_then(|start| signature.get(start..)).unwrap_or_default()
}

/// Whether a method is one that the runtime writes to get from managed code to native code or back.
pub(crate) fn is_il_stub(namespace: &str, name: &str) -> bool {
    namespace == "dynamicClass" && name.starts_with("IL_STUB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_as_one_writes_them() {
        let check = |namespace, name, signature, expected| {
            assert_eq!(display(namespace, name, signature), expected);
        };
        check("Shop.Cart", "Add", "instance void  (int32,class System.String)", "Shop.Cart.Add(int32,System.String)");
        check(
            "System.Linq.Enumerable",
            "Sum",
            "int32  (class System.Collections.Generic.IEnumerable`1<valuetype Shop.Line>)",
            "System.Linq.Enumerable.Sum(System.Collections.Generic.IEnumerable`1<Shop.Line>)",
        );
        check("A", "F", "method void *(int32)  (bool)", "A.F(bool)");
        check("A", "G", "void  (value class System.Span`1<wchar>,class B&)", "A.G(System.Span`1<wchar>,B&)");
        check("", "Main", "void ()", "Main()");
        check("dynamicClass", "IL_STUB_PInvoke", "", "dynamicClass.IL_STUB_PInvoke");
        check("A", "", "", "A.(unnamed)");
    }
}
