//! Metadata with narrow and wide columns.

use strata_clrimage::metadata::{Guid, Metadata, Table, Token};
use strata_testkit::image::metadata::{Assembly, TypeDefinition};
use strata_testkit::image::samples;

/// Everything that the tables of [`samples::library`] say.
fn check_library(bytes: &[u8]) {
    let metadata = Metadata::parse(bytes).unwrap();
    assert_eq!(metadata.mvid(), Some(Guid(samples::LIBRARY_MVID)));
    assert_eq!(metadata.assembly_name(), Some("Library"));
    assert_eq!(metadata.module_name(), Some("Library.dll"));
    assert_eq!(metadata.assembly_reference(2).unwrap(), "Other");
    assert_eq!(metadata.module_reference(1).unwrap(), "native.so");
    let method = |row, owner, name: &str, enclosing| {
        assert_eq!(metadata.method(row).unwrap().name, name);
        assert_eq!(metadata.owner_of_method(row).unwrap(), owner);
        assert_eq!(metadata.enclosing_type(owner), enclosing);
    };
    method(1, 2, ".ctor", None);
    method(4, 2, "Echo", None);
    method(5, 3, "Put", None);
    method(7, 4, "Work", Some(2));
    method(8, 5, "Swap", Some(3));
    method(59, 7, "M59", None);
    assert_eq!(metadata.method(2).unwrap().signature, [0, 2, 8, 0x0e, 0x1d, 8]);
    let box_type = metadata.type_definition(3).unwrap();
    assert_eq!((box_type.namespace, box_type.name), ("Sample", "Box`1"));
    let part = metadata.type_reference(3).unwrap();
    assert_eq!((part.name, part.scope), ("Part", Token { table: Table::TYPE_REF, rid: 2 }));
    let handle = metadata.type_reference(5).unwrap();
    assert_eq!((handle.name, handle.scope), ("Handle", Token { table: Table::MODULE_REF, rid: 1 }));
    let member = metadata.member_reference(2).unwrap();
    assert_eq!((member.name, member.parent), ("Get", Token { table: Table::TYPE_SPEC, rid: 1 }));
    assert_eq!(metadata.type_specification(1).unwrap(), [0x15, 0x12, 0x0c, 1, 8]);
    let variable = |table, rid, number| metadata.type_variable(Token { table, rid }, number);
    assert_eq!(variable(Table::METHOD_DEF, 4, 0), Some("T"));
    assert_eq!(variable(Table::TYPE_DEF, 5, 1), Some("U"));
    assert_eq!(variable(Table::TYPE_DEF, 5, 2), None);
    assert_eq!(variable(Table::TYPE_DEF, 2, 0), None);
}

#[test]
fn columns_of_two_and_four_bytes() {
    let check = |wide_heaps, empty_rows: &[(u8, usize)]| {
        let empty_rows = empty_rows.to_vec();
        check_library(&Assembly { wide_heaps, empty_rows, ..samples::library() }.bytes());
    };
    check(0, &[]);
    check(1, &[]);
    check(2, &[]);
    check(4, &[]);
    check(7, &[]);
    // Just below and at the row counts from which coded indices have four bytes: TypeDefOrRef and MemberRefParent by TypeSpec,
    // ResolutionScope by ModuleRef, TypeOrMethodDef by MethodDef.
    check(0, &[(0x1b, 8189)]);
    check(0, &[(0x1b, 8190)]);
    check(0, &[(0x1b, 8191)]);
    check(0, &[(0x1b, 16381)]);
    check(0, &[(0x1b, 16382)]);
    check(0, &[(0x1b, 16383)]);
    check(0, &[(0x1a, 16382)]);
    check(7, &[(0x1a, 16383)]);
    check(0, &[(0x06, 32707)]);
    check(0, &[(0x06, 32708)]);
    check(0, &[(0x06, 32709)]);
    // Plain indices, by Field, Param and MethodDef; not by TypeDef, which would end in types without methods.
    check(0, &[(0x04, 65534)]);
    check(0, &[(0x04, 65535)]);
    check(0, &[(0x04, 65536)]);
    check(0, &[(0x08, 65535)]);
    check(0, &[(0x08, 65536)]);
    check(5, &[(0x06, 65477), (0x08, 70000), (0x1b, 20000), (0x0a, 9000)]);
}

#[test]
fn strings_and_blobs_beyond_64_kib() {
    let mut library = samples::library();
    let long = |number: usize| TypeDefinition { name: format!("{number:x>4000}"), ..TypeDefinition::default() };
    library.types.extend((0..20).map(long));
    library.types[5].methods[0].signature = vec![0; 70_000];
    let bytes = library.bytes();
    check_library(&bytes);
    let metadata = Metadata::parse(&bytes).unwrap();
    let last = metadata.type_definition(metadata.count(Table::TYPE_DEF)).unwrap();
    assert_eq!((last.name.len(), &last.name[3996..]), (4000, "xx19"));
    assert_eq!(metadata.method(10).unwrap().signature.len(), 70_000);
}
