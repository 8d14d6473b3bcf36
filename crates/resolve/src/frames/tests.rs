use super::*;
use crate::code_map::{Life, Told};
use crate::elf::{ElfSymbols, SymbolSource};
use crate::files::{FileBytes, FileError, FileOrigin, FilePath, Files};
use crate::symbols::KernelIdentity;
use strata_address::AvmaRange;
use strata_perfdata::record::{Mmap, Mmap2Fields, MmapIdentity, TaskId};
use strata_profile::{RecordingInfo, Tier};

const PID: u32 = 7;
const PAGE: u64 = 0x1000;

/// The files that are there: this test's own program, and a small assembly.
struct OnlyThisProgram;

/// An assembly with the precompiled method `N.T.Precompiled`, and the file offset of that.
fn assembly() -> (Vec<u8>, u64) {
    use strata_testkit::image::code::{self, Name};
    use strata_testkit::image::metadata::{Assembly, MethodDefinition, TypeDefinition};
    let types = vec![TypeDefinition {
        namespace: "N".into(),
        name: "T".into(),
        methods: vec![MethodDefinition::simple("Precompiled")],
        ..TypeDefinition::default()
    }];
    let assembly = Assembly { name: "A".into(), types, ..Assembly::default() };
    let method = code::Method { names: vec![Name::Definition(0, 1)], body: 0x80, ..code::Method::default() };
    let built = strata_testkit::image::Image {
        methods: vec![method],
        ..strata_testkit::image::Image::single(assembly.bytes())
    }
    .build();
    let image = strata_clrimage::Image::parse(&built.file, strata_clrimage::Layout::File).unwrap();
    let section = image.pe().sections().find(|section| section.is_executable).unwrap();
    let offset = u64::from(built.methods[0].start() - section.virtual_address + section.file_offset);
    (built.file, offset)
}

fn this_program() -> Vec<u8> {
    std::fs::read(std::env::current_exe().unwrap()).unwrap()
}

impl Files for OnlyThisProgram {
    fn read(&self, path: &FilePath) -> Result<FileBytes, FileError> {
        let bytes = match path.path().to_str() {
            Some("/app/program") => this_program(),
            Some("/app/A.dll") => assembly().0,
            _ => return Err(FileError::NotFound { path: path.path().to_owned() }),
        };
        Ok(FileBytes::new(bytes, FileOrigin::Given))
    }
}

/// File offset of a page of this program whose code has a name a few bytes after its start.
fn page_of_code() -> u64 {
    let bytes = this_program();
    let symbols = ElfSymbols::parse(&bytes).unwrap();
    let named = |page: &u64| {
        let symbol = symbols.layout().rva_of_file_offset(page + 0x10).and_then(|rva| symbols.lookup(rva));
        symbol.is_some_and(|symbol| symbol.source != SymbolSource::UnwindTable)
    };
    (0..bytes.len() as u64).step_by(0x1000).find(named).unwrap()
}

fn method(home: Home) -> Method {
    Method {
        name: "Method".to_owned(),
        module: None,
        kind: match home {
            Home::Memory => CodeKind::Jit(Tier::OptimizedTier1),
            Home::Image => CodeKind::ReadyToRun,
            Home::Runtime => CodeKind::Stub,
        },
        source: NameSource::Snapshot,
        home,
        il: crate::managed::Il::default(),
    }
}

fn method_range() -> AvmaRange {
    AvmaRange::sized(Avma(PAGE), 0x100).unwrap()
}

fn namer(home: Home, told: Told) -> Namer<'static> {
    let code = ManagedCode::of(vec![method(home)], vec![Life { range: method_range(), told, until: None, code: 0 }]);
    Namer::new(FxHashMap::from_iter([(PID, code)]), Symbols::new(&OnlyThisProgram, KernelIdentity::Other))
}

fn name(namer: &mut Namer<'_>, at: u64) -> String {
    namer.name(PID, Timestamp(at), Avma(PAGE + 0x10)).0.name
}

fn map(namer: &mut Namer<'_>, path: &str, file_offset: u64) {
    let identity = MmapIdentity::Inode { major: 0, minor: 0, inode: 0, generation: 0 };
    let mapping = Mmap {
        task: TaskId { pid: PID.cast_signed(), tid: PID.cast_signed() },
        start: Avma(PAGE),
        length: PAGE,
        file_offset,
        filename: path.as_bytes(),
        is_data: false,
        more: Some(Mmap2Fields { identity, protection: 5, flags: 2 }),
    };
    namer.mappings.mapped(PID, &mapping);
    namer.changed(PID);
}

/// Whether a body of `home` is believed where `path` is mapped with this offset.
fn check(home: Home, path: &str, file_offset: u64, believed: bool) {
    let mut namer = namer(home, Told::Listed(Timestamp(0)));
    assert_eq!(name(&mut namer, 0), "Method", "nothing is known to be mapped");
    map(&mut namer, path, file_offset);
    let named = name(&mut namer, 0);
    assert_eq!(named == "Method", believed, "{home:?} in {path}+{file_offset:#x}: {named}");
    namer.gone(PID, Timestamp(1));
    assert_ne!(name(&mut namer, 1), "Method", "another program runs");
}

#[test]
fn a_newer_mapping_takes_the_name_away() {
    let code = page_of_code();
    let behind_its_segments = 1 << 40;
    for (path, offset, [memory, image, runtime]) in [
        ("//anon", 0, [true, true, true]),
        ("/memfd:doublemapper (deleted)", 0, [true, true, true]),
        ("/app/System.Linq.dll", 0, [false, true, true]),
        ("/app/System.Linq.DLL (deleted)", 0, [false, true, true]),
        ("/lib/libc.so.6", 0, [false, false, false]),
        ("/lib/libnew.so (deleted)", 0, [false, false, false]),
        ("[vdso]", 0, [false, false, false]),
        ("/app/libcoreclr.so", 0, [false, false, true]),
        ("/app/program", code, [false, false, false]),
        ("/app/program", behind_its_segments, [false, true, true]),
    ] {
        check(Home::Memory, path, offset, memory);
        check(Home::Image, path, offset, image);
        check(Home::Runtime, path, offset, runtime);
    }
}

#[test]
fn an_image_that_can_be_read_knows_better_than_the_runtimes_list() {
    let (_, code) = assembly();
    for (home, offset, expected) in [
        (Home::Image, code, "N.T.Precompiled()"),
        (Home::Memory, code, "N.T.Precompiled()"),
        // Where its table has nothing, what the runtime said still counts.
        (Home::Image, 1 << 40, "Method"),
    ] {
        let mut namer = namer(home, Told::Listed(Timestamp(0)));
        map(&mut namer, "/app/A.dll", offset);
        assert_eq!(name(&mut namer, 0), expected, "{home:?} at {offset:#x}");
    }
}

#[test]
fn a_method_that_was_not_there_yet_is_looked_up_again() {
    const MS: u64 = 1_000_000;
    let mut namer = namer(Home::Memory, Told::Born(Timestamp(5_000 * MS)));
    map(&mut namer, "//anon", 0);
    let mut builder = ProfileBuilder::new(RecordingInfo::default());
    let frames = [10 * MS, 4_900 * MS, 5_100 * MS]
        .map(|at| namer.user(&mut builder, (PID, Timestamp(at)), Avma(PAGE + 0x10), Found::Ip));
    let profile = builder.finish();
    let names = frames.map(|frame| profile.function_of(frame).name.as_str());
    assert_eq!(names, ["[.NET code at 0x1010]", "Method", "Method"]);
}

#[test]
fn memory_that_is_mapped_anew_does_not_bury_the_code_in_it() {
    let mut namer = namer(Home::Memory, Told::Born(Timestamp(5)));
    let mut builder = ProfileBuilder::new(RecordingInfo::default());
    let mut frames = Vec::new();
    for at in 5..9 {
        for path in ["//anon", "/memfd:doublemapper (deleted)", "", "[heap]"] {
            map(&mut namer, path, 0);
            frames.push(namer.user(&mut builder, (PID, Timestamp(at)), Avma(PAGE + 0x10), Found::Ip));
        }
    }
    let profile = builder.finish();
    assert!(frames.iter().all(|frame| profile.function_of(*frame).name == "Method"));
}
