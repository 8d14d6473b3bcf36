//! Every precompiled method that a live runtime tells of is in our table, with the same start and size.
//!
//! The runtime's word comes by two ways that share no code with ours: the jitdump that it writes itself, and its rundown
//! as TraceEvent reads it. Needs `cargo xtask targets`; without it every test here fails and says so.

use std::collections::BTreeMap;

use strata_address::{Avma, Rva};
use strata_clrimage::bundle::Bundle;
use strata_clrimage::metadata::Metadata;
use strata_clrimage::{Image, Layout, Method, MethodTable, Part, Place};
use strata_testkit::live::{ImageSet, Images, MappedImage, Runtime, Source};

use crate::observed::{Observed, bytes};

/// What one image of the process has, by our reading.
struct Ours {
    base: Avma,
    table: MethodTable,
}

impl Ours {
    fn of(image: &MappedImage, parsed: &Image<'_>) -> Ours {
        let table = parsed.methods().unwrap_or_else(|error| panic!("{image:?}: {error}"));
        assert_eq!(table.problems(), [], "{image:?}");
        Ours { base: image.base, table }
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

/// Runs a workload and compares; gives how many methods of the jitdump and of the rundown were held against ours.
fn compare(runtime: Runtime) -> (usize, usize) {
    let observed = Observed::of(runtime);
    let contents: Vec<_> = observed.images.iter().map(bytes).collect();
    let parsed: Vec<Image<'_>> = contents.iter().map(|(bytes, layout)| Image::parse(bytes, *layout).unwrap()).collect();
    let ours: Vec<Ours> = observed.images.iter().zip(&parsed).map(|(image, parsed)| Ours::of(image, parsed)).collect();
    bases_agree(runtime, &observed, &parsed);
    places_agree(runtime, &observed, &parsed, &ours);

    let mut wrong = Vec::new();
    let mut check = |start: Avma, size: u64, name: &str| match observed.image_at(start) {
        None => wrong.push(format!("{name}: {start} is in no image")),
        Some(image) => match ours[image].method(start) {
            Ok(method) if u64::from(method.size) == size => {}
            Ok(method) => wrong.push(format!("{name}: {size:#x} bytes, ours has {:#x}", method.size)),
            Err(why) => wrong.push(format!("{name}: {why}")),
        },
    };
    let mut in_jitdump = 0;
    for jitted in &observed.jitted {
        if let Some(name) = jitted.precompiled() {
            check(jitted.start, jitted.size, name);
            in_jitdump += 1;
        }
    }
    let mut in_rundown = 0;
    for method in &observed.rundown {
        // What is in no image was compiled at run time.
        if observed.image_at(method.start).is_some() {
            check(method.start, method.size, &method.name);
            in_rundown += 1;
        }
    }
    assert!(wrong.is_empty(), "{runtime}: {} of {}:\n{}", wrong.len(), in_jitdump + in_rundown, wrong.join("\n"));
    println!("{runtime} ({}): {in_jitdump} of the jitdump, {in_rundown} of the rundown", runtime.name());
    (in_jitdump, in_rundown)
}

/// Where the runtime wrote down what is mapped where, it says the same as the headers in memory.
fn bases_agree(runtime: Runtime, observed: &Observed, parsed: &[Image<'_>]) {
    let told: BTreeMap<Avma, &str> =
        observed.loaded.iter().filter_map(|image| Some((image.base?, image.mvid.as_str()))).collect();
    if told.is_empty() {
        // Images of a single file have no path, and are left out.
        assert_ne!(runtime, Runtime::Net8);
        return;
    }
    let found = observed.images.iter().zip(parsed).map(|(image, parsed)| (image.base, mvid(parsed))).collect();
    let told: BTreeMap<Avma, String> = told.into_iter().map(|(base, mvid)| (base, mvid.to_owned())).collect();
    assert_eq!(told, found, "{runtime}");
}

/// In a single file, an image begins where the bundle says; one that was copied is the one in the bundle.
fn places_agree(runtime: Runtime, observed: &Observed, parsed: &[Image<'_>], ours: &[Ours]) {
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
            let content = bundle.content(entry).unwrap().into_owned();
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
    let place = image.pe().cli_header().unwrap().unwrap().metadata;
    let metadata = Metadata::parse(image.pe().bytes_at(place.rva, place.size).unwrap()).unwrap();
    metadata.mvid().unwrap().to_string()
}

fn whole(runtime: Runtime) {
    let (in_jitdump, in_rundown) = compare(runtime);
    // The jitdump goes on to the very end; the rundown is made shortly before.
    assert!(in_rundown > 1000 && in_jitdump >= in_rundown, "{runtime}: {in_jitdump}, {in_rundown}");
}

#[test]
fn net3() {
    let (_, in_rundown) = compare(Runtime::Net3);
    assert!(in_rundown > 500, "{in_rundown}");
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
