//! What knowing every precompiled method costs, from the images and from the runtime's rundown, side by side.
//!
//! `cargo xtask bench images`, which installs what it needs and runs
//! `cargo run --release -p strata-clrimage --example images -- ROUNDS`
//!
//! Each figure is the median of rounds in which everything is measured once, one after the other. Image files are read
//! into memory first, as is the file that TraceEvent reads.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use strata_address::{Avma, Rva};
use strata_clrimage::{Image, Layout, MethodTable, Names, NoAssemblies, Place};
use strata_diagnostics::{Level, Provider, Rundown, SessionRequest, StackWalk};
use strata_testkit::live::{self, ImageSet, Images, MappedImage, Running, Runtime, Source, Until};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const LIMIT: Duration = Duration::from_secs(120);

/// How long each of the recordings is.
const RECORDING: Duration = Duration::from_secs(2);

/// How often TraceEvent reads the file in each round, to be compiled by the last time.
const PASSES: &str = "15";

/// The rundown that lists precompiled and other methods with their modules.
const RUNDOWN: u64 = 0x138;

fn main() -> Result<()> {
    let rounds: usize = std::env::args().nth(1).as_deref().unwrap_or("7").parse()?;
    let framework = Framework::load()?;
    // One does a few things as programs do; the other has most of its libraries' methods made ready.
    let recorded = ["Varied", "Prepares"].into_iter().map(Recorded::make).collect::<Result<Vec<_>>>()?;
    let mut measured = Measured::default();
    for _ in 0..rounds.max(1) {
        framework.measure(&mut measured)?;
        for recorded in &recorded {
            recorded.measure(&mut measured)?;
        }
    }
    println!("milliseconds, {} rounds                       median      best\n", rounds.max(1));
    framework.tell(&measured);
    for recorded in &recorded {
        recorded.tell(&measured);
    }
    Ok(())
}

/// Durations in nanoseconds, by the program and what was done.
#[derive(Default)]
struct Measured(BTreeMap<(&'static str, &'static str), Vec<f64>>);

/// In place of a program's name: the framework's images.
const FRAMEWORK: &str = "";

impl Measured {
    fn time<T>(&mut self, of: &'static str, what: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let done = black_box(work()?);
        self.add(of, what, started.elapsed().as_secs_f64() * 1e9);
        Ok(done)
    }

    fn add(&mut self, of: &'static str, what: &'static str, nanoseconds: f64) {
        self.0.entry((of, what)).or_default().push(nanoseconds);
    }

    /// The median, and how short the shortest was, in milliseconds.
    fn told(&self, of: &'static str, what: &'static str) -> String {
        let mut all = self.0.get(&(of, what)).cloned().unwrap_or_default();
        all.sort_by(f64::total_cmp);
        let at = |index: usize| all.get(index).map_or(f64::NAN, |nanoseconds| nanoseconds / 1e6);
        format!("{:9.4} {:9.4}", at(all.len() / 2), at(0))
    }
}

/// The images of the 8.0 framework.
struct Framework {
    images: Vec<Vec<u8>>,
    core_library: Vec<u8>,
    methods: usize,
}

impl Framework {
    fn load() -> Result<Framework> {
        let Images::Loose(paths) = ImageSet::Net8.images()? else { return Err("not a folder of images".into()) };
        let images: Vec<Vec<u8>> = paths.iter().map(fs::read).collect::<std::io::Result<_>>()?;
        let core_library = paths.iter().position(|path| path.ends_with("System.Private.CoreLib.dll"));
        let core_library = images[core_library.ok_or("no System.Private.CoreLib.dll")?].clone();
        let methods = ranges_of(&images)?;
        Ok(Framework { images, core_library, methods })
    }

    fn measure(&self, measured: &mut Measured) -> Result<()> {
        measured.time(FRAMEWORK, "framework", || ranges_of(&self.images))?;
        let table = measured
            .time(FRAMEWORK, "core library", || Ok(Image::parse(&self.core_library, Layout::File)?.methods()?))?;
        let image = Image::parse(&self.core_library, Layout::File)?;
        let names = image.names(&NoAssemblies);
        // In parts that are over before a busy machine turns to something else.
        for part in table.methods().chunks(200) {
            let started = Instant::now();
            for method in part {
                black_box(names.name(&method.source)?.event_style()?);
            }
            measured.add(FRAMEWORK, "name", started.elapsed().as_secs_f64() * 1e9 / part.len() as f64);
        }
        Ok(())
    }

    fn tell(&self, measured: &Measured) {
        let (methods, images) = (self.methods, self.images.len());
        println!(".NET 8.0.4, {methods} methods in {images} images");
        println!("  ranges of all, at most 250              {}", measured.told(FRAMEWORK, "framework"));
        println!("  ranges of CoreLib, at most 30           {}", measured.told(FRAMEWORK, "core library"));
        println!("  one name of it, at most 0.002           {}", measured.told(FRAMEWORK, "name"));
    }
}

fn ranges_of(images: &[Vec<u8>]) -> Result<usize> {
    let mut count = 0;
    for bytes in images {
        count += Image::parse(bytes, Layout::File)?.methods()?.methods().len();
    }
    Ok(count)
}

/// One program, recorded with and without a rundown.
struct Recorded {
    workload: &'static str,
    /// The images it had in memory, by rising address, and their files' bytes.
    images: Vec<(MappedImage, Vec<u8>)>,
    /// Start addresses of the precompiled methods in the rundown.
    starts: Vec<Avma>,
    rundown: PathBuf,
    with: usize,
    without: usize,
}

impl Recorded {
    fn make(workload: &'static str) -> Result<Recorded> {
        let running = Running::start(Runtime::Net9.command(workload, ["600"])?, Until::Ready, LIMIT)?;
        let without = record(running.pid(), Rundown::None)?.len();
        let stream = record(running.pid(), Rundown::Keywords(RUNDOWN))?;
        let rundown = std::env::temp_dir().join(format!("strata-{workload}-{}.nettrace", std::process::id()));
        fs::write(&rundown, &stream)?;
        let mut images = Vec::new();
        for image in live::mapped_images(running.pid())? {
            if let Source::File { path, offset: 0 } = &image.source {
                let bytes = fs::read(path)?;
                images.push((image, bytes));
            }
        }
        let reading = live::oracle(&rundown)?;
        let starts = reading.methods.iter().map(|method| method.start);
        let starts = starts.filter(|start| images.iter().any(|(image, _)| image.contains(*start))).collect();
        Ok(Recorded { workload, images, starts, rundown, with: stream.len(), without })
    }

    fn measure(&self, measured: &mut Measured) -> Result<()> {
        // What a reader of the recording has to do when there is no rundown in it.
        let tables = measured.time(self.workload, "its ranges", || {
            let tables = self.images.iter().map(|(mapped, bytes)| {
                let image = Image::parse(bytes, Layout::File)?;
                Ok((mapped, image.names(&NoAssemblies), image.methods()?))
            });
            tables.collect::<Result<Vec<_>>>()
        })?;
        measured.time(self.workload, "its names", || self.name_in(&tables))?;
        let command =
            Runtime::Net8.command("Reading", [self.rundown.as_os_str(), PASSES.as_ref(), "methods".as_ref()])?;
        let finished = Running::start(command, Until::Started, LIMIT)?.wait(LIMIT)?;
        let passes: Vec<f64> = finished.stdout.iter().filter_map(|line| line.split_once(' ')?.1.parse().ok()).collect();
        measured.add(self.workload, "first pass", *passes.first().ok_or("TraceEvent read nothing")?);
        measured.add(self.workload, "last pass", *passes.last().ok_or("TraceEvent read nothing")?);
        Ok(())
    }

    fn name_in(&self, tables: &[(&MappedImage, Names<'_, '_>, MethodTable)]) -> Result<usize> {
        let mut length = 0;
        for start in &self.starts {
            let above = tables.partition_point(|(mapped, ..)| mapped.base <= *start);
            let here = above.checked_sub(1).and_then(|index| tables.get(index));
            let (mapped, names, table) = here.ok_or("a method of the rundown is in no image")?;
            let Some(Place::Method { method, .. }) = table.lookup(Rva(start.0 - mapped.base.0)) else {
                return Err("a method of the rundown is not in our table".into());
            };
            let name = names.name(&method.source)?.event_style()?;
            length += name.namespace.len() + name.name.len() + name.signature.len();
        }
        Ok(length)
    }

    fn tell(&self, measured: &Measured) {
        let (count, images) = (self.starts.len(), self.images.len());
        let told = |what| measured.told(self.workload, what);
        println!("\n{} on .NET 9.0.1, {count} precompiled methods of {images} images in its rundown", self.workload);
        println!("  ranges of these images                  {}", told("its ranges"));
        println!("  names of these methods                  {}", told("its names"));
        println!("  TraceEvent reads the rundown, cold      {}", told("first pass"));
        println!("  TraceEvent reads the rundown, compiled  {}", told("last pass"));
        let seconds = RECORDING.as_secs_f64();
        println!("  events of {seconds} s: {} bytes without a rundown, {} with it", self.without, self.with);
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.rundown);
    }
}

/// The stream of one session that asks for what is compiled at run time.
fn record(pid: u32, rundown: Rundown) -> Result<Vec<u8>> {
    const LOADER_AND_JIT: u64 = 0x18;
    let provider = Provider::new("Microsoft-Windows-DotNETRuntime", LOADER_AND_JIT, Level::Verbose);
    let request = SessionRequest { providers: vec![provider], buffer_mb: 256, rundown, stack_walk: StackWalk::Off };
    let endpoint = strata_diagnostics::find(pid)?;
    let mut session = endpoint.start_session(&request, LIMIT)?;
    let id = session.id();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        session.read_to_end(&mut bytes).map(|_| bytes)
    });
    std::thread::sleep(RECORDING);
    endpoint.stop_session(id, LIMIT)?;
    Ok(reader.join().map_err(|_| "the reader panicked")??)
}
