//! Every precompiled method that a live runtime tells of is in our table, with the same start, size and name.
//!
//! The runtime's word comes by two ways that share no code with ours: the jitdump that it writes itself, and its rundown
//! as TraceEvent reads it. Needs `cargo xtask targets`; without it every test here fails and says so.

use std::collections::BTreeMap;

use strata_address::{Avma, Rva};
use strata_clrimage::bundle::{self, Bundle};
use strata_clrimage::{Image, Layout, Method, MethodName, MethodTable, Names, NoAssemblies, Part, Place};
use strata_testkit::live::{ImageSet, Images, MappedImage, Runtime, Source};

use crate::observed::{Files, Observed};

/// What one image of the process has, by our reading.
struct Ours<'d> {
    base: Avma,
    table: MethodTable,
    names: Names<'d, 'd>,
}

impl<'d> Ours<'d> {
    fn of(image: &MappedImage, parsed: &Image<'d>) -> Ours<'d> {
        let table = parsed.methods().unwrap_or_else(|error| panic!("{image:?}: {error}"));
        assert_eq!(table.problems(), [], "{image:?}");
        Ours { base: image.base, table, names: parsed.names(&NoAssemblies) }
    }

    /// What the method may be called: .NET Core 3.1 has methods that share their code.
    fn names(&self, method: &Method) -> impl Iterator<Item = MethodName<'d, 'd>> {
        let sources = std::iter::once(method.source).chain(self.table.aliases(method));
        sources.map(move |source| self.names.name(&source).unwrap_or_else(|error| panic!("{method:?}: {error}")))
    }

    /// The method that begins at this address.
    fn method(&self, start: Avma) -> Result<&Method, String> {
        let rva = Rva(start.0 - self.base.0);
        match self.table.lookup(rva) {
            Some(Place::Method { method, part: Part::Body, offset: 0 }) => Ok(method),
            other => Err(format!("at {rva} there is {other:?}")),
        }
    }
}

/// How many methods were held against ours, and how many of them the runtime misspelt.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub(crate) jitdump: usize,
    pub(crate) rundown: usize,
    pub(crate) misspelt: usize,
}

/// Runs a workload and compares.
pub(crate) fn compare(runtime: Runtime, workload: &str) -> Compared {
    let observed = Observed::of(runtime, workload);
    let files = Files::of(&observed.images);
    let contents = observed.images.iter().map(|image| files.bytes(image));
    let parsed: Vec<Image<'_>> = contents.map(|(bytes, layout)| Image::parse(bytes, layout).unwrap()).collect();
    let ours: Vec<Ours<'_>> =
        observed.images.iter().zip(&parsed).map(|(image, parsed)| Ours::of(image, parsed)).collect();
    bases_agree(runtime, &observed, &parsed);
    places_agree(runtime, &observed, &parsed, &ours);

    let mut compared = Compared::default();
    let mut wrong = Vec::new();
    let mut check = |start: Avma, size: u64, told: &dyn Fn(&MethodName<'_, '_>) -> (String, String)| {
        let Some(image) = observed.image_at(start) else { return wrong.push(format!("{start} is in no image")) };
        let method = match ours[image].method(start) {
            Ok(method) => method,
            Err(why) => return wrong.push(why),
        };
        let names: Vec<(String, String)> = ours[image].names(method).map(|name| told(&name)).collect();
        if u64::from(method.size) != size {
            wrong.push(format!("{names:?}: {size:#x} bytes, ours has {:#x}", method.size));
        }
        match names.iter().any(|(told, name)| told == name) {
            true => {}
            false if runtime == Runtime::Net8 && names.iter().any(|(told, name)| is_misspelt(told, name)) => {
                compared.misspelt += 1;
            }
            false => wrong.push(format!("told and ours: {names:?}")),
        }
    };
    for jitted in &observed.jitted {
        if let Some(told) = jitted.precompiled() {
            check(jitted.start, jitted.size, &|name| (told.to_owned(), name.runtime_style().unwrap()));
            compared.jitdump += 1;
        }
    }
    for method in &observed.rundown {
        // What is in no image was compiled at run time.
        if observed.image_at(method.start).is_some() {
            let told = format!("{} {} {}", method.namespace, method.name, method.signature);
            check(method.start, method.size, &|name| {
                let name = name.event_style().unwrap();
                (told.clone(), format!("{} {} {}", name.namespace, name.name, name.signature))
            });
            compared.rundown += 1;
        }
    }
    println!("{runtime} ({}): {compared:?}", runtime.name());
    assert!(wrong.is_empty(), "{runtime}: {} of {compared:?}:\n{}", wrong.len(), wrong.join("\n"));
    compared
}

/// .NET 8.0.4 forgets the last letter of some methods' names in its jitdump: `.cto()`.
fn is_misspelt(told: &str, name: &str) -> bool {
    let (Some(told), Some(name)) = (told.split_once("::"), name.split_once("::")) else { return false };
    if told.0 != name.0 {
        return false;
    }
    let (Some((told_name, told_rest)), Some((name, rest))) = (told.1.split_once('('), name.1.split_once('(')) else {
        return false;
    };
    told_rest == rest && name.strip_suffix(|_: char| true) == Some(told_name)
}

/// Where the runtime wrote down what is mapped where, it says the same as the headers in memory.
///
/// .NET 8 now and then leaves one image out on a busy machine; that image's methods are held against the rundown all the same.
fn bases_agree(runtime: Runtime, observed: &Observed, parsed: &[Image<'_>]) {
    let told: BTreeMap<Avma, String> =
        observed.loaded.iter().filter_map(|image| Some((image.base?, image.mvid.clone()))).collect();
    if told.is_empty() {
        // Images of a single file have no path, and are left out.
        assert_ne!(runtime, Runtime::Net8);
        return;
    }
    let mut untold: BTreeMap<Avma, String> =
        observed.images.iter().zip(parsed).map(|(image, parsed)| (image.base, mvid(parsed))).collect();
    for (base, mvid) in &told {
        assert_eq!(untold.remove(base).as_ref(), Some(mvid), "{runtime}: at {base}");
    }
    assert!(untold.len() <= 1, "{runtime}: not told of: {untold:?}; told of: {:?}", observed.loaded);
}

/// In a single file, an image begins where the bundle says; one that was copied is the one in the bundle.
fn places_agree(runtime: Runtime, observed: &Observed, parsed: &[Image<'_>], ours: &[Ours<'_>]) {
    let Images::SingleFile(path) = ImageSet::of(runtime).images().unwrap_or_else(|missing| panic!("{missing}")) else {
        return;
    };
    let file = std::fs::read(path).unwrap();
    let bundle = Bundle::find(&file).unwrap().unwrap();
    let inflated: BTreeMap<String, Vec<u8>> = bundle
        .entries()
        .iter()
        .filter(|entry| entry.path.ends_with(".dll") && entry.compressed_size.is_some())
        .filter_map(|entry| {
            let content = bundle::content(&file, entry).unwrap().into_owned();
            let mvid = mvid(&Image::parse(&content, Layout::File).ok()?);
            Some((mvid, content))
        })
        .collect();
    for ((image, parsed), ours) in observed.images.iter().zip(parsed).zip(ours) {
        match &image.source {
            Source::File { offset, .. } => {
                let entry = bundle.entry_at(*offset).unwrap_or_else(|| panic!("{image:?}"));
                assert_eq!(entry.offset, *offset, "{image:?}");
            }
            Source::Memory(_) => {
                let content = inflated.get(&mvid(parsed)).unwrap_or_else(|| panic!("{image:?} is not in the bundle"));
                let of_file = Image::parse(content, Layout::File).unwrap().methods().unwrap();
                assert_eq!(of_file.methods(), ours.table.methods(), "{image:?}");
            }
        }
    }
}

fn mvid(image: &Image<'_>) -> String {
    image.metadata().unwrap().mvid().unwrap().to_string()
}

fn whole(runtime: Runtime) {
    let compared = compare(runtime, "Varied");
    // The jitdump goes on to the very end; the rundown is made shortly before.
    assert!(compared.rundown > 1000 && compared.jitdump >= compared.rundown, "{runtime}: {compared:?}");
    assert!(compared.misspelt < compared.jitdump / 20, "{runtime}: {compared:?}");
}

#[test]
fn net3() {
    let compared = compare(Runtime::Net3, "Varied");
    assert!(compared.rundown > 500, "{compared:?}");
}

#[test]
fn net8() {
    whole(Runtime::Net8);
}

#[test]
fn net9() {
    whole(Runtime::Net9);
}

#[test]
fn net10() {
    whole(Runtime::Net10);
}

#[test]
fn net8_single_28() {
    whole(Runtime::Net8Single28);
}

#[test]
fn net8_single_30() {
    whole(Runtime::Net8Single30);
}

#[test]
fn net10_compressed() {
    whole(Runtime::Net10Compressed);
}

/// The newest tables, from memory: nearly all methods of the libraries that a program of this single file has.
#[test]
fn net10_compressed_with_most_methods_made_ready() {
    let compared = compare(Runtime::Net10Compressed, "Prepares");
    assert!(compared.rundown > 20_000, "{compared:?}");
}
