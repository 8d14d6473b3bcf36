//! What a live runtime says about its precompiled code, and the images that it has in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use strata_address::Avma;
use strata_clrimage::Layout;
use strata_testkit::live::{self, Jitted, LoadedImage, MappedImage, Method, Running, Runtime, Source, Until};

/// Long enough for a machine that builds something else meanwhile.
const LIMIT: Duration = Duration::from_secs(90);

/// How long the workload is at work before its mappings are read, and all in all.
const SETTLED: Duration = Duration::from_secs(1);
const SECONDS: &str = "3";

/// One run of a workload.
pub(crate) struct Observed {
    /// The images in its memory, near its end.
    pub(crate) images: Vec<MappedImage>,
    /// The jitdump it wrote; none on .NET Core 3.1.
    pub(crate) jitted: Vec<Jitted>,
    /// The perfinfo it wrote; none before .NET 8 and from .NET 9 on.
    pub(crate) loaded: Vec<LoadedImage>,
    /// The methods that its rundown lists, as TraceEvent reads them.
    pub(crate) rundown: Vec<Method>,
}

impl Observed {
    /// Runs the workload with everything on by which a runtime tells of its code.
    pub(crate) fn of(runtime: Runtime, workload: &str) -> Observed {
        let scratch = Scratch::new(&format!("{}-{workload}", runtime.name()));
        let mut told = runtime.command(workload, [SECONDS]).unwrap_or_else(|missing| panic!("{missing}"));
        // No events but the rundown at the end. The file goes to the working folder: .NET Core 3.1.23 crashes when it is
        // told another place.
        told.current_dir(&scratch.0);
        for prefix in ["DOTNET_", "COMPlus_"] {
            told.env(format!("{prefix}EnableEventPipe"), "1")
                .env(format!("{prefix}EventPipeConfig"), "Microsoft-Windows-DotNETRuntime:0:5");
        }
        let has_jitdump = runtime != Runtime::Net3;
        if has_jitdump {
            told.env("DOTNET_PerfMapEnabled", "1").env("DOTNET_PerfMapJitDumpPath", &scratch.0);
        }
        let running =
            Running::start(told, Until::Ready, LIMIT).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        std::thread::sleep(SETTLED);
        let images = live::mapped_images(running.pid()).unwrap();
        let finished = running.wait(LIMIT).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        assert_eq!(finished.status.code(), Some(0), "{runtime}: {finished:?}");

        let reading = live::oracle(&scratch.only("nettrace")).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        assert_eq!((reading.error, reading.lost), (None, 0), "{runtime}");
        let jitted = if has_jitdump { live::jitdump(&scratch.0).unwrap() } else { Vec::new() };
        let has_perfinfo = runtime.version().starts_with("8.");
        let loaded = if has_perfinfo { live::perfinfo(&scratch.0).unwrap() } else { Vec::new() };
        Observed { images, jitted, loaded, rundown: reading.methods }
    }

    /// The image at an address, by its index.
    pub(crate) fn image_at(&self, address: Avma) -> Option<usize> {
        self.images.iter().position(|image| image.contains(address))
    }
}

/// The files that images in memory are of: a single file holds all of them.
#[derive(Default)]
pub(crate) struct Files(BTreeMap<PathBuf, Vec<u8>>);

impl Files {
    /// Reads each once.
    pub(crate) fn of(images: &[MappedImage]) -> Files {
        let mut files = BTreeMap::new();
        for image in images {
            if let Source::File { path, .. } = &image.source
                && !files.contains_key(path)
            {
                let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                files.insert(path.clone(), bytes);
            }
        }
        Files(files)
    }

    /// The bytes of an image in memory, and how they lie; those of a file go on to the file's end.
    pub(crate) fn bytes<'a>(&'a self, image: &'a MappedImage) -> (&'a [u8], Layout) {
        match &image.source {
            Source::File { path, offset } => (&self.0[path][usize::try_from(*offset).unwrap()..], Layout::File),
            Source::Memory(bytes) => (bytes, Layout::Memory),
        }
    }
}

/// A folder of its own, removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("strata-clrimage-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    fn only(&self, extension: &str) -> PathBuf {
        let mut paths = fs::read_dir(&self.0).unwrap().flatten().map(|entry| entry.path());
        let path = paths.find(|path| path.extension().is_some_and(|found| found == extension));
        path.unwrap_or_else(|| panic!("no .{extension} in {}", self.0.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
