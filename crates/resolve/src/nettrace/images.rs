//! Images at hand as a source of names for a stream that does not say where its images are.
//!
//! An image counts if it has the debug information's signature that the stream has for a module of its name. Where it was
//! follows from where the stream says that methods begin: by their tokens, which leave no doubt, or by their names.

use super::ImageFiles;
use super::evidence::{Evidence, TracedModule};
use crate::files::FilePath;
use crate::images::{ImageBytes, Notices, Outside, Surroundings};
use crate::paths;
use crate::precompiled::ManagedImage;
use crate::symbols::Named;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use strata_address::{Avma, AvmaRange, RangeMap, Rva};
use strata_clrimage::debug_directory::DebugDirectory;
use strata_clrimage::{EventName, Image, Layout, MethodSource, MethodTable, NoAssemblies};
use strata_profile::{Gap, NameSource};

/// Images begin at such addresses, whatever the system.
const PAGE: u64 = 4096;

/// One method of a name may be in several modules, of which not all are at hand: so many must agree on where an image is.
const ENOUGH_NAMES: usize = 2;

/// The images that were accepted, where they were.
pub(super) struct FoundImages<'f> {
    images: RangeMap<Rc<ManagedImage>>,
    outside: Outside<'f>,
    /// Those that were not, by the reason.
    refused: BTreeMap<String, Vec<String>>,
}

impl<'f> FoundImages<'f> {
    /// Looks for the images of the stream's modules.
    pub(super) fn find(evidence: &Evidence, given: &ImageFiles<'f>) -> Self {
        let outside = Outside { files: given.files, notices: Notices::default() };
        let mut found = Self { images: RangeMap::default(), outside, refused: BTreeMap::new() };
        let mut by_name: FxHashMap<String, Vec<&Path>> = FxHashMap::default();
        for candidate in &given.candidates {
            let name = candidate.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
            by_name.entry(name).or_default().push(candidate);
        }
        for (id, module) in evidence.modules() {
            let name = paths::file_name_anywhere(&module.path).to_ascii_lowercase();
            let mut refused = Vec::new();
            for candidate in by_name.get(&name).into_iter().flatten() {
                match found.accept(evidence, id, module, candidate) {
                    Ok(()) => {
                        refused.clear();
                        break;
                    }
                    Err(None) => {}
                    Err(Some(reason)) => refused.push((reason, candidate.to_string_lossy().into_owned())),
                }
            }
            for (reason, path) in refused {
                found.refused.entry(reason).or_default().push(path);
            }
        }
        found
    }

    /// What is to be told of images: those that were refused, and what could not be read of the others.
    pub(super) fn take_notices(&mut self) -> Vec<Gap> {
        let refused = std::mem::take(&mut self.refused).into_iter();
        let refused = refused.map(|(reason, paths)| Gap::ImagesRefused { paths, reason });
        refused.chain(self.outside.notices.take()).collect()
    }

    /// What an image says is at an address; `None` where no image was.
    pub(super) fn name(&self, address: Avma) -> Option<Named> {
        let (range, image) = self.images.get(address)?;
        let offset = address.offset_from(range.start())?;
        Some(image.named(&self.outside, Rva(offset)).unwrap_or_else(|why| Named {
            name: format!("{}+{offset:#x}", paths::file_name(&image.module().path)),
            module: Some(image.module().clone()),
            kind: image.kind(),
            source: NameSource::None(why),
            line: None,
        }))
    }

    /// Takes an image for a module, or tells why not; without a reason where nobody misses it.
    fn accept(
        &mut self,
        evidence: &Evidence,
        id: u64,
        module: &TracedModule,
        path: &Path,
    ) -> Result<(), Option<String>> {
        let asked = FilePath::on_host(path);
        let bytes = self.outside.files.read(&asked).map_err(|error| Some(error.to_string()))?;
        let bytes = ImageBytes::whole(bytes);
        let image = Image::parse(&bytes, Layout::File).map_err(|error| Some(error.to_string()))?;
        if image.ready_to_run().is_none() {
            return Err(None);
        }
        is_of(&image, module)?;
        if let Some(composite) = image.owner_composite() {
            return Err(Some(format!("its precompiled code is in {composite}, which is not supported")));
        }
        let methods = image.methods().map_err(|error| Some(error.to_string()))?;
        let base = base_of(evidence, id, &image, &methods)?;
        let size = u64::from(image.pe().image_size());
        let range = AvmaRange::sized(base, size).ok_or_else(|| Some("it has no size".to_owned()))?;
        if self.images.overlaps(&range) {
            return Err(Some("another image is where its methods are said to begin".to_owned()));
        }
        let shown = path.to_string_lossy();
        let surroundings = Surroundings::Folder(asked);
        let image = ManagedImage::read(bytes, surroundings, &shown).map_err(|refused| Some(refused.reason))?;
        self.images.insert(range, Rc::new(image));
        Ok(())
    }
}

/// Whether the image is that of the module, by the signature of its debug information.
fn is_of(image: &Image<'_>, module: &TracedModule) -> Result<(), Option<String>> {
    let Some((wanted, age)) = module.pdb else {
        return Err(Some("the trace does not tell which build was running".to_owned()));
    };
    let directory = DebugDirectory::read(image.pe()).map_err(|error| Some(error.to_string()))?;
    let code_view = directory.map_or(Ok(None), |directory| directory.code_view());
    let Some(code_view) = code_view.map_err(|error| Some(error.to_string()))? else {
        return Err(Some("the image does not tell which build it is".to_owned()));
    };
    // The age is that of portable debug information: it is always 1.
    if code_view.guid.0 != wanted || age != 1 {
        return Err(Some("another build was running".to_owned()));
    }
    Ok(())
}

/// Where RVA 0 of the image was.
fn base_of(evidence: &Evidence, id: u64, image: &Image<'_>, methods: &MethodTable) -> Result<Avma, Option<String>> {
    let by_token = definitions(methods);
    let base = |start: Avma, rva: u32| start.0.checked_sub(u64::from(rva)).map(Avma);
    let told = evidence.bodies(id).filter_map(|(token, start)| {
        let row = token & 0x00ff_ffff;
        by_token.get(&row).map(|rva| base(start, *rva))
    });
    let told: FxHashSet<Option<Avma>> = told.collect();
    let mut told = told.into_iter();
    match (told.next(), told.next()) {
        (Some(Some(base)), None) if base.0.is_multiple_of(PAGE) => return Ok(base),
        (None, _) => {}
        _ => return Err(Some("its methods do not lie as the trace has them".to_owned())),
    }
    by_names(evidence, image, methods)
        .ok_or_else(|| {
            let why = "the trace does not tell where it was: that takes R2RGetEntryPoint events (keyword 0x2000000000 of \
                       Microsoft-Windows-DotNETRuntime) or a list of methods (rundown)";
            Some(why.to_owned())
        })?
        .map_err(|()| Some("its methods do not lie as the trace has those of their names".to_owned()))
}

/// By row of their definition the RVAs of methods that are no instances.
fn definitions(methods: &MethodTable) -> FxHashMap<u32, u32> {
    let sources = methods.methods().iter().flat_map(|method| {
        let aliases = methods.aliases(method);
        std::iter::once(method.source).chain(aliases).map(|source| (source, method.start))
    });
    sources
        .filter_map(|(source, start)| match source {
            MethodSource::Definition { component: 0, rid } => Some((rid, start)),
            _ => None,
        })
        .collect()
}

/// The base by the names of methods. Methods of other modules may have the same names, but hardly such a place that the
/// image would begin with a page.
fn by_names(evidence: &Evidence, image: &Image<'_>, methods: &MethodTable) -> Option<Result<Avma, ()>> {
    if evidence.entry_points().len() == 0 {
        return None;
    }
    let names = image.names(&NoAssemblies);
    let mut by_name: FxHashMap<EventName, Option<u32>> = FxHashMap::default();
    for (row, start) in definitions(methods) {
        let name = names.name(&MethodSource::Definition { component: 0, rid: row }).and_then(|name| name.event_style());
        if let Ok(name) = name {
            // Of two methods of one name neither counts.
            by_name.entry(name).and_modify(|known| *known = None).or_insert(Some(start));
        }
    }
    let mut bases: FxHashMap<Avma, usize> = FxHashMap::default();
    for (name, start) in evidence.entry_points() {
        let Some(Some(rva)) = by_name.get(name) else { continue };
        if let Some(base) = start.0.checked_sub(u64::from(*rva)).filter(|base| base.is_multiple_of(PAGE)) {
            let count = bases.entry(Avma(base)).or_default();
            *count = count.saturating_add(1);
        }
    }
    match *bases.into_iter().collect::<Vec<_>>() {
        [(base, count)] if count >= ENOUGH_NAMES => Some(Ok(base)),
        [_, _, ..] => Some(Err(())),
        _ => None,
    }
}
