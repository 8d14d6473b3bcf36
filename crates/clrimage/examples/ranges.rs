//! Times reading the ranges of every image of folders: `ranges FOLDER...`.

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
    let is_core = |name: &str| name == "System.Private.CoreLib.dll";
    let all = median(|| files.iter().map(|(_, bytes)| methods(bytes)).sum());
    let core = median(|| files.iter().filter(|(name, _)| is_core(name)).map(|(_, bytes)| methods(bytes)).sum());
    println!("{}", folder.display());
    println!("  {} files: {} methods in {:.1?}", files.len(), all.1, all.0);
    println!("  CoreLib: {} methods in {:.1?}", core.1, core.0);
}

/// Number of methods in an image; files that are no images have none.
fn methods(bytes: &[u8]) -> usize {
    let table = Image::parse(bytes, Layout::File).and_then(|image| image.methods());
    table.map_or(0, |table| table.methods().len())
}

fn median(mut run: impl FnMut() -> usize) -> (Duration, usize) {
    let mut times = [Duration::ZERO; ROUNDS];
    let mut result = 0;
    for time in &mut times {
        let start = Instant::now();
        result = std::hint::black_box(run());
        *time = start.elapsed();
    }
    times.sort_unstable();
    (times[ROUNDS / 2], result)
}
