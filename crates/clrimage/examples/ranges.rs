//! Times reading the ranges of every image of folders: `ranges FOLDER...`. The best round is told beside the median, as other
//! work on the machine only ever adds.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use strata_clrimage::{Image, Layout};

const ROUNDS: usize = 15;

fn main() {
    for folder in std::env::args_os().skip(1).map(PathBuf::from) {
        measure(&folder);
    }
}

fn measure(folder: &Path) {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "dll") {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name, std::fs::read(path).expect("a file that can be read")));
        }
    }
    let (others, core) = files.iter().partition::<Vec<_>, _>(|(name, _)| name != "System.Private.CoreLib.dll");
    println!("{}", folder.display());
    time("CoreLib", &core);
    time("all", &[core.clone(), others].concat());
}

fn time(what: &str, files: &[&(String, Vec<u8>)]) {
    let mut times = [Duration::ZERO; ROUNDS];
    let mut count = 0;
    for time in &mut times {
        let start = Instant::now();
        count = std::hint::black_box(files.iter().map(|(_, bytes)| methods(bytes)).sum());
        *time = start.elapsed();
    }
    times.sort_unstable();
    let (median, best) = (times[ROUNDS / 2], times[0]);
    println!("  {what}: {} files, {count} methods in {median:.1?} (best {best:.1?})", files.len());
}

/// Number of methods in an image; files that are no images have none.
fn methods(bytes: &[u8]) -> usize {
    let table = Image::parse(bytes, Layout::File).and_then(|image| image.methods());
    table.map_or(0, |table| table.methods().len())
}
