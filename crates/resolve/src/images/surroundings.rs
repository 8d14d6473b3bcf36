//! What lies beside an image: other assemblies, and debug information.

use super::{ImageBytes, bundled};
use crate::files::{FileBytes, FilePath, Files};
use crate::source_lines::{SourceLines, WantedPdb};

/// Where an image lies.
pub(crate) enum Surroundings {
    /// In a folder, under this path.
    Folder(FilePath),
    /// Inside of a single-file program.
    Program { executable: FileBytes, path: FilePath },
}

impl Surroundings {
    /// The image of the assembly with this simple name, as the runtime would find it.
    pub(crate) fn assembly(&self, files: &dyn Files, name: &str) -> Option<ImageBytes> {
        // Names come from images: none leads out of the folder.
        if name.contains(['/', '\\']) {
            return None;
        }
        match self {
            Self::Folder(path) => beside(files, path, &format!("{name}.dll")),
            Self::Program { executable, path } => {
                bundled::assembly(executable, name).or_else(|| beside(files, path, &format!("{name}.dll")))
            }
        }
    }

    /// The debug information that an image says is its own; `image` gives the bytes of that image.
    pub(crate) fn lines<B: std::ops::Deref<Target = [u8]>>(
        &self,
        files: &dyn Files,
        wanted: WantedPdb<'_>,
        image: impl FnOnce() -> Option<B>,
    ) -> Option<SourceLines> {
        let name = wanted.file_name();
        let in_program = match self {
            Self::Folder(_) => None,
            Self::Program { executable, .. } => bundled::file(executable, name),
        };
        let (Self::Folder(path) | Self::Program { path, .. }) = self;
        in_program
            .and_then(|bytes| SourceLines::new(bytes, wanted))
            .or_else(|| SourceLines::new(beside(files, path, name)?, wanted))
            .or_else(|| SourceLines::new(ImageBytes::inflated(embedded(&image()?)?), wanted))
    }
}

fn beside(files: &dyn Files, image: &FilePath, name: &str) -> Option<ImageBytes> {
    let path = image.path().parent()?.join(name);
    files.read(&image.neighbour(path)).ok().map(ImageBytes::whole)
}

fn embedded(image: &[u8]) -> Option<Vec<u8>> {
    use strata_clrimage::debug_directory::DebugDirectory;
    use strata_clrimage::{Layout, Pe};
    let pe = Pe::parse(image, Layout::File).ok()?;
    DebugDirectory::read(&pe).ok()??.embedded_pdb().ok()?
}
