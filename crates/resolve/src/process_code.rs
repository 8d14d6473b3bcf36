//! What code a process has at one moment: its images, and the methods that its runtime compiled.

use crate::files::Files;
use crate::images::{Images, Opened};
use crate::managed::{Home, ManagedReader};
use crate::mappings::{MappedAs, Mappings};
use crate::precompiled::ManagedImage;
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
        Self { pid, images: Images::new(files, false), mappings: Mappings::default() }
    }

    /// Takes over a mapping of code, as recordings describe it.
    pub fn mapped(&mut self, record: &Mmap<'_>) {
        self.mappings.mapped(self.pid, record);
    }

    /// Hands over each image, in the order of addresses.
    pub fn for_each(&mut self, mut take: impl FnMut(LoadedImage<'_>)) {
        for mapped in self.mappings.all(self.pid) {
            match mapped.mapping.mapped_as() {
                MappedAs::Memory | MappedAs::Vdso => {}
                MappedAs::ProgramImage => {
                    let base = mapped.range.start().0.checked_sub(mapped.mapping.file_offset);
                    if let (Some(base), Opened::Managed(image)) = (base, &*self.images.open(&self.mappings, mapped)) {
                        take(LoadedImage::new(image, Avma(base)));
                    }
                }
                MappedAs::File => match &*self.images.open(&self.mappings, mapped) {
                    Opened::Managed(image) => {
                        image.base_in_file(mapped, 0).into_iter().for_each(|base| take(LoadedImage::new(image, base)));
                    }
                    Opened::Elf(elf) => {
                        for (start, opened) in self.images.bundled_within(elf, mapped) {
                            let Opened::Managed(image) = &*opened else { continue };
                            if let Some(base) = image.base_in_file(mapped, start) {
                                take(LoadedImage::new(image, base));
                            }
                        }
                    }
                    Opened::Refused(_) => {}
                },
            }
        }
    }

    /// Images that could not be read.
    pub fn take_notices(&mut self) -> Vec<Gap> {
        self.images.take_notices()
    }
}

impl<'i> LoadedImage<'i> {
    fn new(image: &'i ManagedImage, base: Avma) -> Self {
        Self { path: &image.module().path, base, bytes: image.bytes() }
    }
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
    let jitted = code.alive().filter(|(_, method)| method.home != Home::Image);
    let methods =
        jitted.map(|(range, method)| JittedMethod { range, name: method.name.clone(), kind: method.kind }).collect();
    (methods, gaps)
}
