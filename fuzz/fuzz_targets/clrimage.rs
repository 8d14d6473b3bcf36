//! Any bytes as a .NET image, as in a file and as in memory: no panic, methods apart from each other and inside the code,
//! and every address of one finds it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_address::Rva;
use strata_clrimage::{Image, Layout, Method, MethodSource, MethodTable, NoAssemblies, Part, Place};

/// Damaged images may have as many methods as bytes; looking at some finds as much.
const MOST: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    for layout in [Layout::File, Layout::Memory] {
        let Ok(image) = Image::parse(bytes, layout) else { continue };
        look_around(&image);
        let Ok(table) = image.methods() else { continue };
        assert!(table.function_count() <= bytes.len() && table.methods().len() <= table.function_count());
        check_order(&table);
        let names = image.names(&NoAssemblies);
        for method in table.methods().iter().take(MOST) {
            check_method(&table, method);
            for source in table.aliases(method).take(MOST).chain([method.source]) {
                if let MethodSource::Instance { signature, .. } = source {
                    assert!(image.instance(signature).is_ok());
                }
                let _ = names.name(&source).and_then(|name| name.runtime_style());
            }
        }
        for thunk in table.thunks().iter().take(MOST) {
            assert!(!thunk.to_string().is_empty());
        }
    }
});

fn look_around(image: &Image<'_>) {
    let pe = image.pe();
    let _ = (image.identity(), image.manifest(), image.owner_composite(), pe.machine());
    for component in 0..image.component_count().min(MOST as u32) {
        let _ = image.component(component);
    }
    for section in pe.sections() {
        let _ = pe.rest_of_section(section.virtual_address);
        let _ = pe.rva_of_file_offset(section.file_offset.into());
    }
}

fn check_order(table: &MethodTable) {
    let ends = table.methods().iter().map(|method| method.start + method.size);
    let starts = table.methods().iter().skip(1).map(|method| method.start);
    assert!(ends.zip(starts).all(|(end, next)| end <= next));
    let ends = table.thunks().iter().map(|thunk| thunk.start + thunk.size);
    let starts = table.thunks().iter().skip(1).map(|thunk| thunk.start);
    assert!(ends.zip(starts).all(|(end, next)| end <= next));
}

fn check_method(table: &MethodTable, method: &Method) {
    let check = |rva: u32, expected: Part, distance: u32| {
        let place = Place::Method { method, part: expected, offset: distance };
        assert_eq!(table.lookup(Rva(rva.into())), Some(place));
    };
    assert!(0 < method.body_size && method.body_size <= method.size);
    check(method.start, Part::Body, 0);
    check(method.start + method.body_size - 1, Part::Body, method.body_size - 1);
    if let Some(cold) = method.cold.filter(|cold| method.size.checked_add(cold.size).is_some()) {
        let found = table.lookup(Rva(cold.start.into()));
        assert!(matches!(found, Some(Place::Method { method: owner, offset, .. }) if owner == method && offset == method.size));
    }
}
