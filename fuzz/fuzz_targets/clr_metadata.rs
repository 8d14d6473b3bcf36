//! Any bytes as metadata: every row that there is said to be, and the name of every method.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_clrimage::metadata::{Metadata, Table, Token};
use strata_clrimage::{MethodSource, Names, NoAssemblies};

fuzz_target!(|bytes: &[u8]| {
    let Ok(metadata) = Metadata::parse(bytes) else { return };
    // Every row takes bytes, so there are no more rows than bytes.
    let rows = |table: u8| {
        let count = metadata.count(Table(table));
        assert!(usize::try_from(count).is_ok_and(|count| count <= bytes.len()));
        // One more than there are.
        0..=count.saturating_add(1)
    };
    let _ = (metadata.mvid(), metadata.assembly_name(), metadata.module_name());
    for rid in rows(0x01) {
        let _ = metadata.type_reference(rid);
    }
    for rid in rows(0x02) {
        let _ = (metadata.type_definition(rid), metadata.enclosing_type(rid));
        let _ = metadata.type_variable(Token { table: Table::TYPE_DEF, rid }, 1);
    }
    for rid in rows(0x0a) {
        let _ = metadata.member_reference(rid);
    }
    for rid in rows(0x1a) {
        let _ = metadata.module_reference(rid);
    }
    for rid in rows(0x1b) {
        let _ = metadata.type_specification(rid);
    }
    for rid in rows(0x23) {
        let _ = metadata.assembly_reference(rid);
    }
    let names = Names::from_metadata(Some(metadata), Some(metadata), (9, 1), &NoAssemblies);
    // Each name can be as long as is allowed; a few tell as much as all.
    for rid in rows(0x06).take(64) {
        let _ = (metadata.method(rid), metadata.owner_of_method(rid));
        if let Ok(name) = names.name(&MethodSource::Definition { component: 0, rid }) {
            let _ = (name.runtime_style(), name.event_style(), name.map_style());
        }
    }
});
