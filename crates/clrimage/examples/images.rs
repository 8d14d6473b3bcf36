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

use strata_clrimage::{Image, Layout, Method, MethodTable, NoAssemblies};
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
    let recorded = Recorded::make()?;
    let mut measured = Measured::default();
    for _ in 0..rounds.max(1) {
        framework.measure(&mut measured)?;
        recorded.measure(&mut measured)?;
    }
    println!("medians of {} rounds\n", rounds.max(1));
    framework.tell(&measured);
    recorded.tell(&measured);
    Ok(())
}

/// Durations by what they are of, in nanoseconds.
#[derive(Default)]
struct Measured(BTreeMap<&'static str, Vec<f64>>);

impl Measured {
    fn time<T>(&mut self, what: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let done = black_box(work()?);
        self.add(what, started.elapsed().as_secs_f64() * 1e9);
        Ok(done)
    }

    fn add(&mut self, what: &'static str, nanoseconds: f64) {
        self.0.entry(what).or_default().push(nanoseconds);
    }

    fn median(&self, what: &str) -> f64 {
        let mut all = self.0.get(what).cloned().unwrap_or_default();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
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
        measured.time("framework", || ranges_of(&self.images))?;
        let table = measured.time("core library", || Ok(Image::parse(&self.core_library, Layout::File)?.methods()?))?;
        let image = Image::parse(&self.core_library, Layout::File)?;
        let started = Instant::now();
        let names = image.names(&NoAssemblies);
        for method in table.methods() {
            black_box(names.name(&method.source)?.event_style()?);
        }
        measured.add("name", started.elapsed().as_secs_f64() * 1e9 / table.methods().len() as f64);
        Ok(())
    }

    fn tell(&self, measured: &Measured) {
        let (all, one) = (measured.median("framework") / 1e6, measured.median("core library") / 1e6);
        println!(
            "ranges of all {} methods in {} images of .NET 8.0.4    {all:.1} ms (at most 250)",
            self.methods,
            self.images.len()
        );
        println!("ranges of System.Private.CoreLib alone                  {one:.1} ms (at most 30)");
        println!(
            "one name, mean over System.Private.CoreLib              {:.2} us (at most 2)",
            measured.median("name") / 1e3
        );
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
    /// The images it had in memory; their first bytes' addresses, and their files.
    images: Vec<(MappedImage, Vec<u8>)>,
    /// Start addresses of the precompiled methods in the rundown.
    starts: Vec<strata_address::Avma>,
    rundown: PathBuf,
    with: usize,
    without: usize,
}

impl Recorded {
    fn make() -> Result<Recorded> {
        let running = Running::start(Runtime::Net9.command("Varied", ["600"])?, Until::Ready, LIMIT)?;
        let without = record(running.pid(), Rundown::None)?.len();
        let stream = record(running.pid(), Rundown::Keywords(RUNDOWN))?;
        let rundown = std::env::temp_dir().join(format!("strata-images-{}.nettrace", std::process::id()));
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
        Ok(Recorded { images, starts, rundown, with: stream.len(), without })
    }

    fn measure(&self, measured: &mut Measured) -> Result<()> {
        measured.time("ours", || self.name_them())?;
        let command = Runtime::Net8.command("Reading", [self.rundown.as_os_str(), PASSES.as_ref()])?;
        let finished = Running::start(command, Until::Started, LIMIT)?.wait(LIMIT)?;
        let passes: Vec<f64> = finished.stdout.iter().filter_map(|line| line.split_once(' ')?.1.parse().ok()).collect();
        measured.add("first pass", *passes.first().ok_or("TraceEvent read nothing")?);
        measured.add("last pass", *passes.last().ok_or("TraceEvent read nothing")?);
        Ok(())
    }

    /// What the recording's reader has to do without a rundown: the ranges of every image, then these methods' names.
    fn name_them(&self) -> Result<usize> {
        let mut ready: Vec<(&MappedImage, Image<'_>, MethodTable)> = Vec::new();
        for (mapped, bytes) in &self.images {
            let image = Image::parse(bytes, Layout::File)?;
            ready.push((mapped, image, image.methods()?));
        }
        let mut length = 0;
        for (mapped, image, table) in &ready {
            let names = image.names(&NoAssemblies);
            for start in self.starts.iter().filter(|start| mapped.contains(**start)) {
                let rva = u32::try_from(start.0 - mapped.base.0)?;
                let method = at(table, rva).ok_or("a method of the rundown is not in our table")?;
                let name = names.name(&method.source)?.event_style()?;
                length += name.namespace.len() + name.name.len() + name.signature.len();
            }
        }
        Ok(length)
    }

    fn tell(&self, measured: &Measured) {
        let (count, images) = (self.starts.len(), self.images.len());
        let all = |what| measured.median(what) / 1e6;
        println!("\none program on .NET 9.0.1, of whose {images} images {count} precompiled methods ran");
        println!("  ranges of all its images, and these methods' names    {:.1} ms", all("ours"));
        println!("  TraceEvent reads its rundown, for the first time      {:.1} ms", all("first pass"));
        println!("  TraceEvent reads its rundown, compiled                {:.1} ms", all("last pass"));
        let seconds = RECORDING.as_secs_f64();
        println!("\nits event stream of {seconds} s, {} bytes without a rundown, {} with one", self.without, self.with);
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.rundown);
    }
}

fn at(table: &MethodTable, rva: u32) -> Option<&Method> {
    let methods = table.methods();
    methods.binary_search_by_key(&rva, |method| method.start).ok().map(|index| &methods[index])
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
