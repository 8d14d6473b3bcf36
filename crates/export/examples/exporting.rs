//! Prints how much CPU time each format takes for one million samples (not wall time: other programs may run).

use std::io::{self, Write};
use std::time::Duration;
use strata_export::{Compression, Format, write_profile};
use strata_profile::{CodeKind, StackEnd, Tier};
use strata_testkit::profile::Sketch;

const SAMPLES: usize = 1_000_000;
const DISTINCT_STACKS: usize = 50_000;
const DEPTH: usize = 30;
const FUNCTIONS: usize = 5_000;

struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// CPU time of this process so far.
fn cpu_time() -> Duration {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let ns = schedstat.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or_default())
}

fn main() -> io::Result<()> {
    let mut sketch = Sketch::new("exporting");
    let process = sketch.process(1, "app");
    let threads: Vec<_> = (0..16).map(|tid| sketch.thread(process, tid + 1, "worker")).collect();
    let module = Some(sketch.module("App", None));
    let frames: Vec<_> = (0..FUNCTIONS)
        .map(|number| {
            let name = format!("App.Namespace{}.Type{number}.Method(System.String, int)", number % 40);
            sketch.frame(&name, module, CodeKind::Jit(Tier::OptimizedTier1))
        })
        .collect();
    // A fixed walk: stacks share their outer half and differ towards the leaf.
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize
    };
    let stacks: Vec<Vec<_>> = (0..DISTINCT_STACKS)
        .map(|_| {
            let family = next() % 100;
            (0..DEPTH)
                .map(|depth| {
                    frames[if depth < DEPTH / 2 { (family * 50 + depth) % FUNCTIONS } else { next() % FUNCTIONS }]
                })
                .collect()
        })
        .collect();
    for _ in 0..SAMPLES {
        sketch.sample(threads[next() % threads.len()], &stacks[next() % stacks.len()], StackEnd::Root);
    }
    let profile = sketch.finish();
    let start = cpu_time();
    let tree = strata_digest::CallTree::new(&profile, &strata_digest::Groups::single(&profile), |_| None);
    println!("call tree alone: {:.3?}, {} nodes", cpu_time() - start, tree.nodes.len());
    let start = cpu_time();
    strata_digest::LossSummary::of(&profile);
    println!("loss alone: {:.3?}", cpu_time() - start);
    println!("{} samples, {} stacks, {} frames", profile.samples.len(), profile.stacks.len(), profile.frames.len());

    for (format, compression) in [
        (Format::Folded, Compression::None),
        (Format::Firefox, Compression::None),
        (Format::Firefox, Compression::Gzip),
        (Format::Speedscope, Compression::None),
        (Format::Speedscope, Compression::Gzip),
    ] {
        let mut counter = Counter(0);
        let start = cpu_time();
        write_profile(&profile, format, compression, &mut counter)?;
        println!("{format:?} {compression:?}: {:.3?}, {:.1} MB", cpu_time() - start, counter.0 as f64 / 1e6);
    }
    Ok(())
}
