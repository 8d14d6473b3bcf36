//! Writes the inputs that the fuzz targets of .NET images and nettrace streams begin with: `seeds FOLDER` fills `FOLDER/<target>/`.

mod nettrace;

use std::path::{Path, PathBuf};

use strata_testkit::image::bundle::{Bundle, Entry, Storage};
use strata_testkit::image::code::{Fixups, Name};
use strata_testkit::image::debug_directory;
use strata_testkit::image::debug_info::Form;
use strata_testkit::image::metadata::method_signature;
use strata_testkit::image::pdb::{Lines, Pdb, Point};
use strata_testkit::image::samples::{self, Embedded};
use strata_testkit::image::signature::{Instance, Method, Modifier, Token, Type};
use strata_testkit::image::{Image, Kind, pe};

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("a folder"));
    write(&folder, "clrimage", images())?;
    write(&folder, "clr_metadata", metadata())?;
    write(&folder, "clr_signature", signatures())?;
    write(&folder, "clr_bundle", bundles())?;
    write(&folder, "clr_pdb", pdbs())?;
    write(&folder, "clr_debug_info", debug_info())?;
    write(&folder, "nettrace", nettrace::streams())?;
    write(&folder, "nettrace_blocks", nettrace::blocks())?;
    write(&folder, "nettrace_metadata", nettrace::definitions())
}

type Seed = (String, Vec<u8>);

fn write(folder: &Path, target: &str, seeds: Vec<Seed>) -> std::io::Result<()> {
    let folder = folder.join(target);
    std::fs::create_dir_all(&folder)?;
    seeds.into_iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
}

fn seed(name: &str, bytes: Vec<u8>) -> Seed {
    (name.to_owned(), bytes)
}

/// Only what does not repeat itself: a fuzzer makes more of few bytes than of many.
fn small(mut image: Image) -> Image {
    image.methods.retain(|method| !matches!(method.names[..], [Name::Definition(_, 20..)]));
    for method in &mut image.methods {
        if let Fixups::Of(_) = method.fixups {
            method.fixups = Fixups::None;
        }
    }
    image
}

fn images() -> Vec<Seed> {
    let arm64 = Image { machine: pe::LINUX_ARM64, ..small(samples::single()) };
    vec![
        seed("single", small(samples::single()).build().file),
        seed("arm64", arm64.build().file),
        seed("hot-cold", small(samples::hot_cold()).build().file),
        seed("composite", samples::composite(Embedded::Yes).build().file),
        seed("composite-alone", samples::composite(Embedded::No).build().file),
        seed("component", samples::component().build().file),
        seed("il-only", Image::of_kind(Kind::IlOnly(samples::other().bytes())).build().file),
        seed("native", Image::of_kind(Kind::Native).build().file),
    ]
}

fn metadata() -> Vec<Seed> {
    let mut wide = samples::library();
    wide.wide_heaps = 7;
    wide.types.truncate(5);
    vec![
        seed("library", samples::library().bytes()),
        seed("other", samples::other().bytes()),
        seed("wide", wide.bytes()),
    ]
}

/// The length of an instance's signature, that signature, and the one of its method. The target's assembly has one method, a
/// generic type in row 2 and one inside it in row 3.
fn signatures() -> Vec<Seed> {
    let outer = Type::Class(Token::Definition(2));
    let inner = Type::Value(Token::Definition(3));
    let array = Type::Array(Box::new(Type::INT), 2, vec![3], vec![0, 7]);
    let function = Type::Function(vec![0x10, 1, 2, 1, 0x1e, 0, 8]);
    let elsewhere = samples::of(Type::InModule(1, Box::new(outer.clone())), inner.clone());
    let owner = samples::of(outer, Type::CANON);
    let modified = Type::Modified(Modifier::Required, Token::Reference(2), Box::new(Type::INT));
    let nested = Type::Pointer(Box::new(Type::Reference(Box::new(Type::Vector(Box::new(Type::Variable(0)))))));
    let (plain, member) = (Instance::of(1), Method::Member(1));
    let forms = [
        ("plain", plain.clone(), vec![]),
        ("owner", Instance { owner: Some(owner.clone()), ..plain.clone() }, vec![Type::Variable(0)]),
        ("arguments", Instance { arguments: vec![array.clone(), function.clone()], ..plain.clone() }, vec![array]),
        ("member", Instance { module: Some(0), method: member, ..plain.clone() }, vec![nested]),
        ("module", Instance { module: Some(1), owner: Some(elsewhere), ..plain.clone() }, vec![modified]),
        ("all", Instance { flags: 0x303, arguments: vec![owner], constrained: Some(inner), ..plain }, vec![function]),
    ];
    let bytes = |instance: Instance, parameters: Vec<Type>| {
        let (instance, method) = (instance.bytes(), method_signature(0x30, 1, &Type::STRING, &parameters));
        [vec![instance.len() as u8], instance, method].concat()
    };
    forms.into_iter().map(|(name, form, parameters)| seed(name, bytes(form, parameters))).collect()
}

fn bundles() -> Vec<Seed> {
    let bundle = |version, storage| {
        let entry =
            |path: &str, kind, content: &[u8]| Entry { path: path.into(), kind, content: content.into(), storage };
        let entries = vec![
            entry("Library.dll", 1, &b"not an assembly, but enough of bytes ".repeat(4)),
            entry("app.deps.json", 3, b"{}"),
            entry("app.runtimeconfig.json", 4, b"{}"),
        ];
        Bundle { version, alignment: 16, entries }.build().file
    };
    vec![
        seed("v1", bundle(1, Storage::Stored)),
        seed("v2", bundle(2, Storage::Stored)),
        seed("v6", bundle(6, Storage::Stored)),
        seed("v6-deflated", bundle(6, Storage::Deflated)),
    ]
}

fn pdbs() -> Vec<Seed> {
    let at = |il, range| Point { il, range };
    let points =
        vec![at(0, Some([10, 9, 10, 30])), at(3, None), at(7, Some([300, 1, 302, 2])), at(9, Some([12, 5, 12, 6]))];
    let pdb = Pdb {
        id: *b"an id of twenty byte",
        documents: vec!["/_/src/A.cs".into(), "/_/src/deep/B.cs".into()],
        methods: vec![Lines { document: 2, points }, Lines::default()],
        source_link: Some(r#"{"documents": {"/_/*": "https://example.org/raw/0/*"}}"#.into()),
    };
    let debug_directory = vec![
        debug_directory::Entry::CodeView([9; 16], 7, 1, "/_/obj/Library.pdb".into()),
        debug_directory::Entry::EmbeddedPdb(pdb.bytes()),
        debug_directory::Entry::Checksum("SHA256".into(), vec![5; 32]),
        debug_directory::Entry::PerfMap([3; 16], "Library.ni.r2rmap".into()),
    ];
    let image = Image { debug_directory, ..Image::of_kind(Kind::IlOnly(samples::other().bytes())) };
    vec![
        seed("alone", pdb.bytes()),
        seed("embedded", image.build().file),
        seed("source-link", pdb.source_link.unwrap_or_default().into_bytes()),
    ]
}

fn debug_info() -> Vec<Seed> {
    let forms = [("nibbles", 9, Form::Nibbles), ("packed", 16, Form::Packed), ("fat", 17, Form::Fat)];
    let image = |major, form| {
        let mut image = small(samples::single());
        image.kind = Kind::Single(samples::other().bytes());
        Image { version: (major, 0), debug_form: Some(form), ..image }.build().file
    };
    forms.into_iter().map(|(name, major, form)| seed(name, image(major, form))).collect()
}
