//! What lies beside an image: other assemblies, and debug information.

use super::{ImageBytes, Outside, Program};
use crate::files::{FilePath, Files};
use crate::source_lines::{SourceLines, WantedPdb};
use std::ops::Deref;
use std::rc::Rc;

/// Where an image lies.
pub(crate) enum Surroundings {
    /// In a folder, under this path.
    Folder(FilePath),
    /// Inside of a single-file program.
    Program(Rc<Program>),
}

impl Surroundings {
    /// The image of the assembly with this simple name, as the runtime would find it.
    pub(crate) fn assembly(&self, files: &dyn Files, name: &str) -> Option<ImageBytes> {
        // Names come from images: none leads out of the folder.
        if name.contains(['/', '\\']) {
            return None;
        }
        let (_, bytes) = self.file(files, &format!("{name}.dll"))?;
        Some(bytes)
    }

    /// The debug information that an image says is its own; `image` gives the bytes of that image.
    pub(crate) fn lines<B: Deref<Target = [u8]>>(
        &self,
        outside: &Outside<'_>,
        wanted: WantedPdb<'_>,
        image: impl FnOnce() -> Option<B>,
    ) -> Option<SourceLines> {
        let name = wanted.file_name();
        let read = |(path, bytes)| SourceLines::new(outside, path, bytes, wanted);
        let in_program = || self.in_program(name).and_then(read);
        let in_folder = || self.in_folder(outside.files, name).and_then(read);
        let embedded = || read((format!("{name} (embedded)"), ImageBytes::inflated(embedded(&image()?)?)));
        in_program().or_else(in_folder).or_else(embedded)
    }

    /// A file of this name, and how its path is shown.
    fn file(&self, files: &dyn Files, name: &str) -> Option<(String, ImageBytes)> {
        self.in_program(name).or_else(|| self.in_folder(files, name))
    }

    fn in_program(&self, name: &str) -> Option<(String, ImageBytes)> {
        match self {
            Self::Folder(_) => None,
            Self::Program(program) => program.file(name),
        }
    }

    fn in_folder(&self, files: &dyn Files, name: &str) -> Option<(String, ImageBytes)> {
        let image = match self {
            Self::Folder(path) => path,
            Self::Program(program) => program.path(),
        };
        let path = image.path().parent()?.join(name);
        let shown = path.to_string_lossy().into_owned();
        files.read(&image.neighbour(path)).ok().map(|bytes| (shown, ImageBytes::whole(bytes)))
    }
}

fn embedded(image: &[u8]) -> Option<Vec<u8>> {
    use strata_clrimage::debug_directory::DebugDirectory;
    use strata_clrimage::{Layout, Pe};
    let pe = Pe::parse(image, Layout::File).ok()?;
    DebugDirectory::read(&pe).ok()??.embedded_pdb().ok()?
}
