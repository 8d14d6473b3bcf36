//! What code a process has at one moment: its images, and the methods that its runtime compiled.

use crate::files::Files;
use crate::images::{Images, Opened};
use crate::managed::{Home, ManagedReader};
use crate::mappings::{Mapped, MappedAs, Mappings};
use crate::symbols::KernelIdentity;
use std::ops::ControlFlow;
use std::rc::Rc;
use strata_address::{Avma, AvmaRange};
use strata_perfdata::record::Mmap;
use strata_profile::{CodeKind, Gap};
use strata_recording::StreamKind;

/// The .NET images that a process has mapped as code, found and opened as for the names of a recording.
pub struct ProcessImages<'f> {
    pid: u32,
    images: Images<'f>,
    mappings: Mappings,
}

/// One of them.
pub struct LoadedImage<'i> {
    /// Path of the file; of an image in a single-file program `PROGRAM!/PATH`.
    pub path: &'i str,
    /// Where its RVA 0 is.
    pub base: Avma,
    /// The image as it lies in its file.
    pub bytes: &'i [u8],
}

impl<'f> ProcessImages<'f> {
    /// Of the process numbered `pid`, with files through `files`.
    pub fn new(pid: u32, files: &'f dyn Files) -> Self {
        Self { pid, images: Images::new(files, KernelIdentity::Other), mappings: Mappings::default() }
    }

    /// Takes over a mapping of code, as recordings describe it.
    pub fn mapped(&mut self, record: &Mmap<'_>) {
        self.mappings.mapped(self.pid, record);
    }

    /// Hands over each image, in the order of addresses, until `take` says that it is enough.
    pub fn for_each(&mut self, mut take: impl FnMut(LoadedImage<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let Self { pid, images, mappings } = self;
        let mut last = None;
        for mapped in mappings.all(*pid) {
            for (base, opened) in images_of(images, mappings, mapped) {
                // An image may have several mappings with code.
                if let (Opened::Managed(image), true) = (&*opened, last.replace(base) != Some(base)) {
                    take(LoadedImage { path: &image.module().path, base, bytes: image.bytes() })?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Images that could not be read.
    pub fn take_notices(&mut self) -> Vec<Gap> {
        self.images.take_notices()
    }
}

/// The images whose code a mapping shows, and where RVA 0 of each is.
fn images_of(images: &mut Images<'_>, mappings: &Mappings, mapped: Mapped<'_>) -> Vec<(Avma, Rc<Opened>)> {
    let in_file = |start, opened: &Opened| match opened {
        Opened::Managed(image) => image.base_in_file(mapped, start),
        _ => None,
    };
    let mapping = mapped.mapping;
    let mapped_as = mapping.mapped_as();
    if let MappedAs::Memory | MappedAs::Vdso = mapped_as {
        return Vec::new();
    }
    let opened = images.open(mappings, mapped);
    if let Opened::Elf(elf) = &*opened {
        let within = images.bundled_within(elf, mapped).into_iter();
        return within.filter_map(|(start, image)| Some((in_file(start, &image)?, image))).collect();
    }
    let base = match mapped_as {
        MappedAs::ProgramImage => mapping.start.0.checked_sub(mapping.file_offset).map(Avma),
        _ => in_file(0, &opened),
    };
    base.map(|base| (base, opened)).into_iter().collect()
}

/// A method that a runtime compiled while its program ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JittedMethod {
    /// Where its code is.
    pub range: AvmaRange,
    /// As profiles show it.
    pub name: String,
    /// Its tier, or that it is a stub.
    pub kind: CodeKind,
}

/// The methods that a runtime's list of what it has compiled tells of, in the order of addresses, and what is missing from
/// the list. `stream` is a whole event stream.
pub fn jitted_methods(stream: &[u8]) -> (Vec<JittedMethod>, Vec<Gap>) {
    let mut reader = ManagedReader::default();
    reader.read("list of methods", StreamKind::Attach, stream, 0);
    let mut code = reader.finish();
    let gaps = std::mem::take(&mut code.damage);
    let jitted = code.remaining().filter(|(_, method)| method.home != Home::Image);
    let methods =
        jitted.map(|(range, method)| JittedMethod { range, name: method.name.clone(), kind: method.kind }).collect();
    (methods, gaps)
}
