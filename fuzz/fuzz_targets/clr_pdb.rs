//! Any bytes as a Portable PDB, and as an image with a debug directory: no panic, and every line found is a line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_clrimage::debug_directory::DebugDirectory;
use strata_clrimage::pdb::{Pdb, SourceLink};
use strata_clrimage::{Layout, Pe};

fn pdb(bytes: &[u8]) {
    let Ok(pdb) = Pdb::parse(bytes) else { return };
    for method in 0..pdb.method_count().min(64) + 2 {
        for il_offset in [0, 1, 7, 64, u32::MAX] {
            if let Ok(Some(line)) = pdb.line(method, il_offset) {
                let _ = pdb.document(line.document);
            }
        }
    }
    for row in 0..66 {
        let path = pdb.document(row).unwrap_or_default();
        if let Ok(Some(link)) = pdb.source_link() {
            let _ = link.url(&path);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    pdb(bytes);
    if let Ok(link) = SourceLink::parse(bytes) {
        let _ = link.url("/_/src/File.cs");
    }
    for layout in [Layout::File, Layout::Memory] {
        let Ok(pe) = Pe::parse(bytes, layout) else { continue };
        let Ok(Some(directory)) = DebugDirectory::read(&pe) else { continue };
        if let Ok(Some(code_view)) = directory.code_view() {
            assert!(!code_view.file_name().contains('/'));
        }
        let _ = directory.ready_to_run_map();
        if let Ok(Some(embedded)) = directory.embedded_pdb() {
            pdb(&embedded);
        }
    }
});
