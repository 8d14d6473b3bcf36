//! Names as runtimes, compilers and the kernel write them.

use super::*;

fn check(spelling: Spelling, full: &str, shortened: &[(usize, &str)]) {
    assert_eq!(name(full, spelling, Width::Unlimited), full);
    assert_eq!(name(full, spelling, Width::Columns(full.chars().count())), full);
    for &(width, expected) in shortened {
        let short = name(full, spelling, Width::Columns(width));
        assert_eq!(short, expected, "{full} in {width}");
        assert!(short.chars().count() <= width, "{short} is wider than {width}");
    }
}

#[test]
fn managed_names() {
    let check = |full, shortened: &[(usize, &str)]| check(Spelling::Managed, full, shortened);
    check(
        "System.Collections.Generic.Dictionary`2[System.Int32,System.Int64].FindValue(!0)",
        &[
            (79, "System.Collections.Generic.Dictionary`2[System.Int32,System.Int64].FindValue(…)"),
            (78, "System.Collections.Generic.Dictionary`2[…].FindValue(…)"),
            (54, "…Collections.Generic.Dictionary`2[…].FindValue(…)"),
            (40, "…Generic.Dictionary`2[…].FindValue(…)"),
            (30, "…Dictionary`2[…].FindValue(…)"),
            (20, "…Dictionary`2[…].Fi…"),
        ],
    );
    check(
        "System.Collections.Generic.Dictionary`2[System.__Canon,System.__Canon]..ctor()",
        &[(60, "System.Collections.Generic.Dictionary`2[…]..ctor()"), (30, "…Dictionary`2[…]..ctor()")],
    );
    check("System.Text.StringBuilder..cctor()", &[(26, "…StringBuilder..cctor()")]);
    check(
        "MyApp.Api.Server+<>c__DisplayClass0_0.<Run>b__0(System.Object,System.EventArgs)",
        &[
            (60, "MyApp.Api.Server+<>c__DisplayClass0_0.<Run>b__0(…)"),
            (44, "…Server+<>c__DisplayClass0_0.<Run>b__0(…)"),
            (38, "…<>c__DisplayClass0_0.<Run>b__0(…)"),
        ],
    );
    check(
        "MyApp.Api.Server+<RunAsync>d__5.MoveNext()",
        &[(38, "…Api.Server+<RunAsync>d__5.MoveNext()"), (35, "…Server+<RunAsync>d__5.MoveNext()")],
    );
    check(
        "System.Linq.Enumerable+SelectEnumerableIterator`2[System.__Canon,System.__Canon].ToArray()",
        &[
            (70, "System.Linq.Enumerable+SelectEnumerableIterator`2[…].ToArray()"),
            (55, "…Enumerable+SelectEnumerableIterator`2[…].ToArray()"),
            (45, "…SelectEnumerableIterator`2[…].ToArray()"),
        ],
    );
    // The interface's name is part of the method's.
    check(
        "App.Bag`1[System.__Canon].System.Collections.Generic.IEnumerable<T>.GetEnumerator()",
        &[(80, "App.Bag`1[…].System.Collections.Generic.IEnumerable<T>.GetEnumerator()")],
    );
    check(
        "System.Text.Json.JsonSerializer.Write[System.__Canon](System.__Canon[],int32[,])",
        &[(50, "System.Text.Json.JsonSerializer.Write[…](…)"), (30, "…JsonSerializer.Write[…](…)")],
    );
    check(
        "Interop+Sys.PWrite(System.Runtime.InteropServices.SafeHandle,unsigned int8*)",
        &[(30, "Interop+Sys.PWrite(…)")],
    );
    check("dynamicClass.IL_STUB_PInvoke(int32*,unsigned int)", &[(35, "dynamicClass.IL_STUB_PInvoke(…)")]);
    check("App.Shop.<Main>g__Price|0_1(App.Item,int32)", &[(35, "App.Shop.<Main>g__Price|0_1(…)")]);
    check("[jit] 0x7f1122334455", &[(12, "[jit] 0x7f1…")]);
    check("Main", &[]);
}

#[test]
fn native_names() {
    let check = |full, shortened: &[(usize, &str)]| check(Spelling::Native, full, shortened);
    check(
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_append(char const*, unsigned long)",
        &[
            (100, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_append(…)"),
            (60, "std::__cxx11::basic_string<…>::_M_append(…)"),
            (42, "…__cxx11::basic_string<…>::_M_append(…)"),
            (35, "…basic_string<…>::_M_append(…)"),
        ],
    );
    check(
        "__cxxabiv1::__pbase_type_info::__do_catch(std::type_info const*, void**, unsigned int) const",
        &[(60, "__cxxabiv1::__pbase_type_info::__do_catch(…) const"), (40, "…__pbase_type_info::__do_catch(…) const")],
    );
    check(
        "WKS::gc_heap::mark_object_simple1(unsigned char*, unsigned char*)",
        &[(40, "WKS::gc_heap::mark_object_simple1(…)")],
    );
    check(
        "(anonymous namespace)::Table<int>::operator()(int, int) const",
        &[(60, "(anonymous namespace)::Table<int>::operator()(…) const"), (35, "…Table<…>::operator()(…) const")],
    );
    check(
        "bool ns::operator< <char>(ns::view<char>, ns::view<char>)",
        &[(40, "bool ns::operator< <char>(…)"), (27, "bool ns::operator< <…>(…)")],
    );
    check(
        "Compiler::visit(Node*)::{lambda(Node*)#1}::operator()(Node*) const",
        &[(60, "Compiler::visit(…)::{lambda(Node*)#1}::operator()(…) const")],
    );
    check(
        "<alloc::vec::Vec<T, A> as core::iter::traits::collect::Extend<&T>>::extend",
        &[(70, "<Vec<…> as Extend<…>>::extend")],
    );
    check(
        "core::fmt::num::<impl core::fmt::Display for i32>::fmt",
        &[(50, "core::fmt::num::<impl Display for i32>::fmt"), (36, "…num::<impl Display for i32>::fmt")],
    );
    check(
        "tokio::runtime::task::harness::Harness<T,S>::poll::{{closure}}",
        &[(60, "tokio::runtime::task::harness::Harness<…>::poll::{{closure}}"), (35, "…Harness<…>::poll::{{closure}}")],
    );
    check("entry_SYSCALL_64_after_hwframe", &[(20, "entry_SYSCALL_64_af…")]);
    check("finish_task_switch.isra.0", &[(20, "finish_task_switch.…")]);
    // Brackets without partners: nothing is known of the parts.
    check("broken<name::of(something", &[(12, "broken<name…")]);
}

#[test]
fn modules_are_shown_beside_names_that_leave_room() {
    let check = |name, module, spelling, width, expected: &str| {
        assert_eq!(function(name, Some(module), spelling, Width::Columns(width)), expected);
    };
    let sum = "System.Linq.Enumerable.Sum(int32[])";
    check(
        sum,
        "System.Private.CoreLib",
        Spelling::Managed,
        60,
        "System.Linq.Enumerable.Sum(int32[]) [System.Private.CoreLib]",
    );
    check(
        sum,
        "System.Private.CoreLib",
        Spelling::Managed,
        59,
        "System.Linq.Enumerable.Sum(int32[]) […Private.CoreLib]",
    );
    check(sum, "System.Private.CoreLib", Spelling::Managed, 46, "System.Linq.Enumerable.Sum(int32[]) […CoreLib]");
    check(sum, "System.Private.CoreLib", Spelling::Managed, 45, sum);
    check("memcpy", "libc.so.6", Spelling::Native, 18, "memcpy [libc.so.6]");
    check("memcpy", "libc.so.6", Spelling::Native, 17, "memcpy");
    check("do_syscall_64", "[kernel]", Spelling::Native, 40, "do_syscall_64 [kernel]");
    check("libc.so.6+0x3c04f", "libc.so.6", Spelling::Native, 40, "libc.so.6+0x3c04f");
    check("libc.so.6!fun_3c", "libc.so.6", Spelling::Native, 40, "libc.so.6!fun_3c");
    let long = "n".repeat(500);
    assert_eq!(function(&long, Some("m"), Spelling::Managed, Width::Unlimited), format!("{long} [m]"));
}

#[test]
fn any_width_is_kept_and_hostile_names_cost_little() {
    let dots = "a.".repeat(32 * 1024);
    let open = "<(".repeat(32 * 1024);
    let nested = format!("{}{}::x", "<".repeat(16 * 1024), ">".repeat(16 * 1024));
    let names =
        [&*dots, &*open, &*nested, "\x1b[2J.\n.x", "..", "::", "…::é<ü>::ß(ö)", "operator", "->", ".ctor", "A+"];
    for text in names {
        for spelling in [Spelling::Managed, Spelling::Native, Spelling::Plain] {
            for width in [0, 8, 9, 30, 80] {
                let short = name(text, spelling, Width::Columns(width));
                assert!(short.chars().count() <= width.max(LEAST), "{short}");
                assert!(!short.chars().any(char::is_control));
            }
        }
    }
}
