use super::*;
use crate::files::{FileBytes, FileError, FileIdentity, FileOrigin, HostFiles};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::path::{Path, PathBuf};
use strata_clrimage::bundle::{Bundle, content};
use strata_clrimage::{Image, Layout};
use strata_perfdata::record::{Mmap, Mmap2Fields, MmapIdentity, TaskId};
use strata_testkit::image::code::{self, Funclet, FuncletKind};
use strata_testkit::image::debug_directory::Entry;
use strata_testkit::image::debug_info::{Bound, Debug};
use strata_testkit::image::metadata::{Assembly, MethodDefinition, TypeDefinition};
use strata_testkit::image::{self, bundle, pdb};
use strata_testkit::live::{ImageSet, Images, Runtime};

const PID: u32 = 7;
/// Where every mapping of these tests begins.
const START: Avma = Avma(0x10_0000);
const SIZE: u64 = 1 << 36;

/// Files by path, each with a number, and how often one was read.
#[derive(Default)]
struct Fake {
    files: FxHashMap<PathBuf, (Rc<[u8]>, u64)>,
    reads: Cell<u32>,
    /// A process that sees no files.
    blind: Option<u32>,
}

impl Fake {
    fn with(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.insert(path.into(), (bytes.into(), 7));
        self
    }
}

impl Files for Fake {
    fn read(&self, path: &FilePath) -> Result<FileBytes, FileError> {
        let asked = path.path().to_owned();
        if path.is_deleted() {
            return Err(FileError::Deleted { path: asked });
        }
        if asked == Path::new("/app/huge.dll") {
            return Err(FileError::TooLarge { path: asked, limit: 1 << 30 });
        }
        let found = self.files.get(&asked).filter(|_| self.blind.is_none() || path.process() != self.blind);
        let Some((bytes, inode)) = found else { return Err(FileError::NotFound { path: asked }) };
        self.reads.set(self.reads.get() + 1);
        let identity = FileIdentity { device: 1, inode: *inode };
        Ok(FileBytes::new(bytes.to_vec(), FileOrigin::Given).of_file(identity))
    }
}

/// What is to be said of a mapping's file.
#[derive(Clone, Copy, Default)]
struct Is<'i> {
    build_id: Option<&'i [u8]>,
    inode: u64,
}

fn map(mappings: &mut Mappings, path: &str, file_offset: u64, is: Is<'_>) {
    map_in(mappings, PID, path, file_offset, is);
}

fn map_in(mappings: &mut Mappings, pid: u32, path: &str, file_offset: u64, is: Is<'_>) {
    let identity = match is.build_id {
        Some(build_id) => MmapIdentity::BuildId(strata_perfdata::BuildId::new(build_id).unwrap()),
        None => MmapIdentity::Inode { major: 8, minor: 1, inode: is.inode, generation: 0 },
    };
    mappings.mapped(
        pid,
        &Mmap {
            task: TaskId { pid: PID.cast_signed(), tid: PID.cast_signed() },
            start: START,
            length: SIZE,
            file_offset,
            filename: path.as_bytes(),
            is_data: false,
            more: Some(Mmap2Fields { identity, protection: 5, flags: 2 }),
        },
    );
}

/// What the byte at `offset` of a mapped file is called, and what is to be told.
fn look_up(files: &dyn Files, path: &str, offset: u64, is: Is<'_>) -> (Named, Vec<Gap>) {
    let mut symbols = Symbols::new(files, KernelIdentity::Other);
    let mut mappings = Mappings::default();
    map(&mut mappings, path, 0, is);
    let address = Avma(START.0 + offset);
    let mut named = || symbols.image(&mappings, mappings.get(PID, address).unwrap(), address);
    let (first, second) = (named(), named());
    assert_eq!((first.name, first.source), (second.name.clone(), second.source), "the same when asked again");
    let notices = symbols.take_notices();
    (second, notices)
}

fn core_library() -> Vec<u8> {
    let folder = Runtime::Net8.framework().unwrap_or_else(|missing| panic!("{missing}")).unwrap();
    std::fs::read(folder.join("System.Private.CoreLib.dll")).unwrap()
}

/// File offset in the core library of .NET 8.0.4 of its method `AppContext.Setup`.
const SETUP: u64 = 0x138880;

fn identity(image: &[u8]) -> [u8; 20] {
    *Image::parse(image, Layout::File).unwrap().identity().as_bytes()
}

#[test]
fn an_image_names_its_methods() {
    let image = core_library();
    let files = Fake::default().with("/framework/System.Private.CoreLib.dll", &image);
    let id = identity(&image);
    for is in [Is::default(), Is { build_id: Some(&id), inode: 0 }, Is { build_id: None, inode: 7 }] {
        let (named, notices) = look_up(&files, "/framework/System.Private.CoreLib.dll", SETUP + 4, is);
        assert_eq!(named.name, "System.AppContext.Setup(wchar**,wchar**,int32)");
        assert_eq!((named.kind, named.source), (CodeKind::ReadyToRun, NameSource::R2rImage));
        let module = named.module.unwrap();
        assert_eq!(module.name, "System.Private.CoreLib");
        assert_eq!(module.path, "/framework/System.Private.CoreLib.dll");
        assert_eq!(notices, []);
    }
    assert_eq!(files.reads.get(), 3, "read once each time");
}

#[test]
fn what_is_no_code_has_no_name() {
    let image = core_library();
    let files = Fake::default().with("/framework/System.Private.CoreLib.dll", &image);
    // Headers; the data section; behind the end.
    for offset in [0x100, 0x94_0000, 1 << 35] {
        let (named, _) = look_up(&files, "/framework/System.Private.CoreLib.dll", offset, Is::default());
        assert_eq!(named.name, format!("System.Private.CoreLib.dll+{offset:#x}"));
        assert_eq!(named.source, NameSource::None(Unnamed::NoSymbol));
        assert_eq!(named.module.unwrap().name, "System.Private.CoreLib");
    }
}

#[test]
fn images_that_cannot_be_read_are_told_of_once() {
    let image = core_library();
    let files = Fake::default()
        .with("/app/good.dll", &image)
        .with("/app/cut.dll", &image[..0x10_0000])
        .with("/app/header.dll", &image[..0x150])
        .with("/app/text.dll", b"this is not an image\n")
        .with("/app/empty.dll", b"")
        .with("/app/mz.dll", b"MZ");
    let other = [1; 20];
    let check = |path: &str, is: Is<'_>, why: Unnamed, reason: &str| {
        let (named, notices) = look_up(&files, path, SETUP, is);
        assert_eq!(named.source, NameSource::None(why), "{path}");
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        assert_eq!(named.name, format!("{}+{SETUP:#x}", path.rsplit('/').next().unwrap()));
        let [Gap::Image { path: told, reason: found }] = &notices[..] else { panic!("{path}: {notices:?}") };
        assert_eq!(told, path);
        assert!(found.contains(reason), "{path}: {found}");
    };
    let plain = Is::default();
    check("/app/good.dll", Is { build_id: Some(&other), inode: 0 }, Unnamed::OtherFile, "no longer the one");
    check("/app/good.dll", Is { build_id: Some(&other[..8]), inode: 0 }, Unnamed::OtherFile, "no longer the one");
    check("/app/good.dll", Is { build_id: None, inode: 8 }, Unnamed::OtherFile, "no longer the one");
    check("/app/good.dll (deleted)", plain, Unnamed::OtherFile, "was deleted");
    check("/app/gone.dll", plain, Unnamed::NoFile, "no file at");
    check("/app/huge.dll", plain, Unnamed::TooLarge, "larger than 1073741824 bytes");
    check("/app/header.dll", plain, Unnamed::Damaged, "at offset");
    check("/app/text.dll", plain, Unnamed::Damaged, "at offset 0x0");
    check("/app/empty.dll", plain, Unnamed::Damaged, "at offset 0x0");
    check("/app/mz.dll", plain, Unnamed::Damaged, "at offset");
    check("/app/cut.dll", plain, Unnamed::Damaged, "at offset");
}

#[test]
fn what_is_no_image_by_name_is_passed_over_in_silence() {
    let files = Fake::default().with("/app/data.bin", b"not an image");
    for (path, why) in [("/app/data.bin", Unnamed::NoSymbol), ("/app/gone.so", Unnamed::NoFile)] {
        let (named, notices) = look_up(&files, path, 0x10, Is::default());
        assert_eq!((named.source, named.kind), (NameSource::None(why), CodeKind::Native));
        assert_eq!(notices, []);
    }
}

#[test]
fn a_huge_sparse_file_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.dll");
    std::fs::File::create(&path).unwrap().set_len(2 << 30).unwrap();
    let (named, notices) = look_up(&HostFiles::default(), path.to_str().unwrap(), 0x1000, Is::default());
    assert_eq!(named.source, NameSource::None(Unnamed::TooLarge));
    assert_eq!(notices.len(), 1);
}

#[test]
fn a_file_without_a_build_id_is_told_by_its_number() {
    let library = std::fs::read("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
    let files = Fake::default().with("/libc.so.6", &library);
    let mut symbols = Symbols::new(&files, KernelIdentity::Other);
    let mut source = |inode: u64| {
        let mut mappings = Mappings::default();
        map(&mut mappings, "/libc.so.6", 0, Is { build_id: None, inode });
        // Any function of the library: what matters is whether its symbols are asked at all.
        let address = Avma(START.0 + 0x30000);
        symbols.image(&mappings, mappings.get(PID, address).unwrap(), address).source
    };
    assert_eq!(source(8), NameSource::None(Unnamed::OtherFile));
    assert_ne!(source(7), NameSource::None(Unnamed::OtherFile));
    assert_ne!(source(0), NameSource::None(Unnamed::OtherFile), "where no number was recorded");
    assert_eq!(source(8), NameSource::None(Unnamed::OtherFile), "it is not shared by path");
    assert_eq!(files.reads.get(), 3);
}

/// A small assembly: `Shop.Cart` with `Add`, which has a funclet and a cold part, and `Clear`; lines 10 and 12 are of `Add`.
fn cart(pdb: Option<&[u8]>) -> image::Built {
    let methods = ["Add", "Clear"].map(MethodDefinition::simple).to_vec();
    let cart = TypeDefinition { namespace: "Shop".into(), name: "Cart".into(), methods, ..TypeDefinition::default() };
    let assembly = Assembly { name: "Shop.Cart".into(), types: vec![cart], ..Assembly::default() };
    let rows = [(0, -2), (4, 0), (8, 4), (40, 8)].map(|(native, il)| Bound { native, il, flags: 0 });
    let add = code::Method {
        names: vec![code::Name::Definition(0, 1)],
        body: 32,
        funclets: vec![Funclet { length: 16, kind: FuncletKind::Catch }],
        debug: Debug::Map(rows.to_vec()),
        ..code::Method::default()
    };
    let clear = code::Method { names: vec![code::Name::Definition(0, 2)], body: 16, ..code::Method::default() };
    let mut directory = vec![Entry::CodeView([5; 16], 0x0606_0606, 1, r"C:\src\obj\Shop.Cart.pdb".into())];
    directory.extend(pdb.map(|pdb| Entry::EmbeddedPdb(pdb.to_vec())));
    image::Image { methods: vec![add, clear], debug_directory: directory, ..image::Image::single(assembly.bytes()) }
        .build()
}

fn cart_pdb(timestamp: u8) -> Vec<u8> {
    let mut id = [5; 20];
    id[16..].fill(timestamp);
    let point = |il, line| pdb::Point { il, range: Some([line, 1, line, 20]) };
    let methods =
        vec![pdb::Lines { document: 1, points: vec![point(0, 10), point(4, 11), point(8, 12)] }, pdb::Lines::default()];
    pdb::Pdb {
        id,
        documents: vec!["/_/src/Cart.cs".into()],
        methods,
        source_link: Some(r#"{"documents":{"/_/*":"https://example.org/shop/*"}}"#.into()),
    }
    .bytes()
}

/// File offset of an RVA.
fn file_offset(built: &image::Built, rva: u32) -> u64 {
    let image = Image::parse(&built.file, Layout::File).unwrap();
    let section = image.pe().section_of(rva).unwrap();
    u64::from(rva - section.virtual_address + section.file_offset)
}

#[test]
fn lines_come_from_the_pdb_that_belongs_to_the_image() {
    let (plain, right, wrong) = (cart(None), cart_pdb(6), cart_pdb(7));
    let embedded = cart(Some(&right));
    let check = |files: Fake, built: &image::Built, has_lines: bool, told: usize| {
        let add = &built.methods[0];
        for (rva, line) in
            [(add.start(), 10), (add.start() + 5, 10), (add.start() + 9, 11), (add.hot[1].start + 10, 12)]
        {
            let (named, notices) = look_up(&files, "/shop/Shop.Cart.dll", file_offset(built, rva), Is::default());
            assert_eq!(named.name, "Shop.Cart.Add()");
            assert_eq!(notices.len(), told, "{notices:?}");
            assert!(
                notices.iter().all(|notice| matches!(notice, Gap::SourceLines { path, .. } if path.ends_with(".pdb")))
            );
            let found = named.line.as_ref().map(|line| (line.file.path.as_str(), line.number.get()));
            assert_eq!(found, has_lines.then_some(("/_/src/Cart.cs", line)), "at {rva:#x}");
            let link = named.line.and_then(|line| line.file.link.clone());
            assert_eq!(link, has_lines.then(|| "https://example.org/shop/src/Cart.cs".to_owned()));
        }
        let clear = file_offset(built, built.methods[1].start() + 1);
        let (named, _) = look_up(&files, "/shop/Shop.Cart.dll", clear, Is::default());
        assert_eq!((named.name.as_str(), named.line), ("Shop.Cart.Clear()", None));
    };
    let with = |built: &image::Built| Fake::default().with("/shop/Shop.Cart.dll", &built.file);
    let pdb = "/shop/Shop.Cart.pdb";
    check(with(&plain), &plain, false, 0);
    check(with(&plain).with(pdb, &right), &plain, true, 0);
    check(with(&plain).with(pdb, &wrong), &plain, false, 0);
    check(with(&plain).with(pdb, b"Microsoft C/C++ MSF 7.00"), &plain, false, 0);
    check(with(&plain).with(pdb, &right[..right.len() / 2]), &plain, false, 1);
    check(with(&embedded), &embedded, true, 0);
    check(with(&embedded).with(pdb, &wrong), &embedded, true, 0);
}

#[test]
fn thunks_have_a_label() {
    let built = cart(None);
    let files = Fake::default().with("/shop/Shop.Cart.dll", &built.file);
    let offset = file_offset(&built, built.thunks[0].start);
    let (named, _) = look_up(&files, "/shop/Shop.Cart.dll", offset, Is::default());
    assert_eq!((named.kind, named.source), (CodeKind::Stub, NameSource::R2rImage));
    assert!(named.name.starts_with("[R2R "), "{}", named.name);
}

/// A whole single-file program of a set, and one of its assemblies with the offset of that.
fn program(set: ImageSet, assembly: &str) -> (PathBuf, Vec<u8>, Vec<u8>, u64) {
    let Ok(Images::SingleFile(path)) = set.images() else { panic!("{} is not installed", set.name()) };
    let file = std::fs::read(&path).unwrap();
    let (image, offset) = {
        let bundle = Bundle::find(&file).unwrap().unwrap();
        let entry = bundle.entry(assembly).unwrap();
        (content(&file, entry).unwrap().into_owned(), entry.offset)
    };
    (path, file, image, offset)
}

#[test]
fn assemblies_inside_of_a_program_name_their_methods() {
    let (path, file, image, start) = program(ImageSet::Net8Single28, "System.Private.CoreLib.dll");
    let path = path.to_str().unwrap();
    let parsed = Image::parse(&image, Layout::File).unwrap();
    let methods = parsed.methods().unwrap();
    let method = methods.methods()[1000];
    let section = parsed.pe().section_of(method.start).unwrap();
    let offset = start + u64::from(method.start - section.virtual_address + section.file_offset);
    let files = Fake::default().with(path, &file);
    let (named, notices) = look_up(&files, path, offset, Is::default());
    assert_eq!((named.kind, named.source), (CodeKind::ReadyToRun, NameSource::R2rImage));
    let module = named.module.unwrap();
    assert_eq!((module.name.as_str(), notices), ("System.Private.CoreLib", vec![]));
    assert_eq!(module.path, format!("{path}!/System.Private.CoreLib.dll"));
}

#[test]
fn images_that_were_copied_into_memory_are_found_in_their_program() {
    let (path, file, image, _) = program(ImageSet::Net10Compressed, "System.Private.CoreLib.dll");
    let path = path.to_str().unwrap();
    let method = Image::parse(&image, Layout::File).unwrap().methods().unwrap().methods()[1000];
    let (right, wrong) = (identity(&image), [9; 20]);
    let files = Fake::default().with(path, &file);
    let check = |assembly: &str, build_id: &[u8]| {
        let mapped = format!("{path}!/{assembly}.dll");
        let (named, notices) = look_up(&files, &mapped, method.start.into(), Is { build_id: Some(build_id), inode: 0 });
        (named.source, named.kind, notices.len())
    };
    assert_eq!(check("System.Private.CoreLib", &right), (NameSource::R2rImage, CodeKind::ReadyToRun, 0));
    let other = NameSource::None(Unnamed::OtherFile);
    assert_eq!(check("System.Private.CoreLib", &wrong), (other, CodeKind::ReadyToRun, 1));
    let missing = NameSource::None(Unnamed::NoFile);
    assert_eq!(check("No.Such.Assembly", &right), (missing, CodeKind::ReadyToRun, 1));
}

#[test]
fn damaged_content_of_a_program_is_told_of() {
    let built = bundle::Bundle {
        version: 6,
        alignment: 64,
        entries: vec![bundle::Entry {
            path: "a.dll".into(),
            kind: 1,
            content: b"text, and no image".to_vec(),
            storage: bundle::Storage::Stored,
        }],
    }
    .build();
    // The small program of the test's builder is no whole ELF file; what matters is that nothing fails.
    let files = Fake::default().with("/app/program", &built.file);
    let (named, notices) = look_up(&files, "/app/program!/a.dll", 0x100, Is { build_id: Some(&[3; 20]), inode: 0 });
    assert_eq!(named.source, NameSource::None(Unnamed::Damaged));
    let [Gap::Image { path, .. }] = &notices[..] else { panic!("{notices:?}") };
    assert_eq!(path, "/app/program!/a.dll");
}

#[test]
fn what_is_left_of_a_mapping_keeps_its_place_in_the_file() {
    let files = Fake::default();
    let mut mappings = Mappings::default();
    map(&mut mappings, "/app/gone.so", 0x4000, Is::default());
    let other = Mmap {
        task: TaskId { pid: PID.cast_signed(), tid: PID.cast_signed() },
        start: Avma(START.0 + 0x1000),
        length: 0x1000,
        file_offset: 0,
        filename: b"//anon",
        is_data: false,
        more: None,
    };
    mappings.mapped(PID, &other);
    let address = Avma(START.0 + 0x2010);
    let mut symbols = Symbols::new(&files, KernelIdentity::Other);
    let named = symbols.image(&mappings, mappings.get(PID, address).unwrap(), address);
    assert_eq!(named.name, "gone.so+0x6010");
}

#[test]
fn a_composite_image_asks_its_neighbours_for_names() {
    let assembly = |name: &str, method: &str, mvid: u8| {
        let types = vec![TypeDefinition {
            namespace: "N".into(),
            name: "T".into(),
            methods: vec![MethodDefinition::simple(method)],
            ..TypeDefinition::default()
        }];
        let assembly = Assembly { name: name.into(), types, mvid: [mvid; 16], ..Assembly::default() }.bytes();
        image::Image::of_kind(image::Kind::Component(assembly, "all.r2r.dll".into())).build().file
    };
    let component = |name: &str, mvid| image::Component { name: name.into(), mvid: [mvid; 16], embedded: None };
    let method =
        |number| code::Method { names: vec![code::Name::Definition(number, 1)], body: 16, ..code::Method::default() };
    let components = vec![component("First", 1), component("Second", 2), component("Third", 3)];
    let built = image::Image {
        methods: vec![method(0), method(1), method(2)],
        ..image::Image::of_kind(image::Kind::Composite(components))
    }
    .build();
    let files = Fake::default()
        .with("/app/all.r2r.dll", &built.file)
        .with("/app/First.dll", &assembly("First", "One", 1))
        .with("/app/Second.dll", &assembly("Second", "Two", 2))
        .with("/app/Third.dll", &assembly("Third", "Three", 4));
    let named = |index: usize| {
        let offset = file_offset(&built, built.methods[index].start());
        let (named, notices) = look_up(&files, "/app/all.r2r.dll", offset, Is::default());
        let module = named.module.unwrap();
        assert_eq!(module.path, "/app/all.r2r.dll");
        ((named.name, module.name, named.source), notices)
    };
    assert_eq!(named(0), (("N.T.One()".into(), "First".into(), NameSource::R2rImage), vec![]));
    assert_eq!(named(1), (("N.T.Two()".into(), "Second".into(), NameSource::R2rImage), vec![]));
    // Another version of the assembly than the code was made from.
    let ((.., source), notices) = named(2);
    assert_eq!(source, NameSource::None(Unnamed::NoAssembly));
    let reason = "the metadata of Third is needed".to_owned();
    assert_eq!(notices, [Gap::Image { path: "/app/all.r2r.dll".into(), reason }]);
}

/// A single-file program with these files.
fn program_of(files: &[(&str, Vec<u8>)]) -> bundle::Built {
    let entry = |(path, content): &(&str, Vec<u8>)| bundle::Entry {
        path: (*path).to_owned(),
        kind: if path.ends_with(".pdb") { 5 } else { 1 },
        content: content.clone(),
        storage: bundle::Storage::Stored,
    };
    bundle::Bundle { version: 6, alignment: 64, entries: files.iter().map(entry).collect() }.build()
}

#[test]
fn an_image_is_held_against_each_mapping_that_shows_it() {
    let built = cart(None);
    let program = program_of(&[("Shop.Cart.dll", built.file.clone())]);
    let files = Fake::default().with("/shop/cart", &program.file);
    let (right, wrong) = (identity(&built.file), [9; 20]);
    let address = Avma(START.0 + u64::from(built.methods[0].start()));
    for ids in [[right, wrong, right], [wrong, right, wrong]] {
        let mut symbols = Symbols::new(&files, KernelIdentity::Other);
        for (id, pid) in ids.into_iter().zip(1..) {
            let mut mappings = Mappings::default();
            map_in(&mut mappings, pid, "/shop/cart!/Shop.Cart.dll", 0, Is { build_id: Some(&id), inode: 0 });
            let named = symbols.image(&mappings, mappings.get(pid, address).unwrap(), address);
            let expected = if id == right { NameSource::R2rImage } else { NameSource::None(Unnamed::OtherFile) };
            assert_eq!(named.source, expected);
        }
        assert_eq!(symbols.take_notices().len(), 1);
    }
}

#[test]
fn what_one_process_cannot_read_another_may() {
    let built = cart(None);
    let id = identity(&built.file);
    let offset = file_offset(&built, built.methods[0].start());
    let files = || Fake { blind: Some(1), ..Fake::default().with("/shop/Shop.Cart.dll", &built.file) };
    let address = Avma(START.0 + offset);
    for is in [Is::default(), Is { build_id: Some(&id), inode: 0 }, Is { build_id: None, inode: 7 }] {
        let files = files();
        let mut symbols = Symbols::new(&files, KernelIdentity::Other);
        let mut source = |pid| {
            let mut mappings = Mappings::default();
            map_in(&mut mappings, pid, "/shop/Shop.Cart.dll", 0, is);
            symbols.image(&mappings, mappings.get(pid, address).unwrap(), address).source
        };
        assert_eq!(source(1), NameSource::None(Unnamed::NoFile));
        assert_eq!([source(2), source(3)], [NameSource::R2rImage; 2]);
        assert_eq!(source(1), NameSource::None(Unnamed::NoFile));
        // Without any identity the same path may be another file.
        let is_known = is.build_id.is_some() || is.inode != 0;
        assert_eq!(files.reads.get(), if is_known { 1 } else { 2 });
    }
}

#[test]
fn files_that_a_program_cannot_hold_are_told_of() {
    let built = cart(None);
    let mut program = program_of(&[("Shop.Cart.dll", built.file.clone()), ("a.dll", vec![0; 64])]);
    // The offset of the second file is that of the first.
    let [(first, _), (second, _)] = program.entries[..] else { panic!() };
    let header = usize::try_from(program.header).unwrap();
    let found = program.file[header..].windows(8).rposition(|bytes| bytes == second.to_le_bytes()).unwrap();
    program.file[header + found..][..8].copy_from_slice(&first.to_le_bytes());
    let files = Fake::default().with("/shop/cart", &program.file);
    let rva = built.methods[0].start().into();
    let is = Is { build_id: Some(&identity(&built.file)), inode: 0 };
    let (named, notices) = look_up(&files, "/shop/cart!/Shop.Cart.dll", rva, is);
    assert_eq!(named.name, "Shop.Cart.Add()");
    let reason = "1 of the files that it lists cannot be inside of it".to_owned();
    assert_eq!(notices, [Gap::Image { path: "/shop/cart".into(), reason }]);
}

#[test]
fn lines_of_a_module_come_from_the_program_that_holds_it() {
    let program = program_of(&[("Shop.Cart.dll", cart(None).file), ("Shop.Cart.pdb", cart_pdb(6))]);
    let library = std::fs::read("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
    let files = Fake::default().with("/shop/cart", &program.file).with("/shop/a-helper", &library);
    let mut mappings = Mappings::default();
    for (pid, paths) in [(1, &["/shop/a-helper", "/shop/cart"][..]), (2, &["/shop/a-helper"])] {
        for (path, start) in paths.iter().zip([0x1000, 0x2000]) {
            let mmap = Mmap {
                task: TaskId { pid: 1, tid: 1 },
                start: Avma(start),
                length: 0x1000,
                file_offset: 0,
                filename: path.as_bytes(),
                is_data: false,
                more: None,
            };
            mappings.mapped(pid, &mmap);
        }
    }
    let mut images = crate::images::Images::new(&files, KernelIdentity::Other);
    let mut has_lines = |pid, signature| {
        let pdb = Some(([signature; 16], r"C:\src\obj\Shop.Cart.pdb".into()));
        let module = Rc::new(crate::managed::ModuleFile { path: "/shop/Shop.Cart.dll".into(), pdb });
        images.lines_of_module(&mappings, pid, &module).is_some()
    };
    // Another module may take the path of one that was unloaded.
    assert_eq!([has_lines(1, 4), has_lines(1, 5), has_lines(2, 5)], [false, true, false]);
}
