//! How fast a trace is read, beside TraceEvent in the same run: `cargo xtask bench nettrace`.
//!
//! `beside_traceevent STRATA ROUNDS`
//!
//! Records a program that allocates a million large arrays, with an event and a stack for each, and reads that trace in turns:
//! this crate's decoder, the same with events put in the order of time, TraceEvent's event loop, and TraceEvent's conversion to
//! a TraceLog. `strata convert` makes folded stacks of its allocations, and of the runtime's own samples of a varied program. Then
//! `strata info` reads a file of 500 MB and, from a pipe and with little memory, 5 GiB.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use strata_nettrace::order::TimeOrder;
use strata_nettrace::{Decoder, Item};
use strata_testkit::live::{self, Running, Runtime, Until};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, utf16};

type Outcome<T> = Result<T, Box<dyn Error>>;

const LIMIT: Duration = Duration::from_secs(900);

/// The runtime's samples, and what names their frames.
const SAMPLES: &str = "Microsoft-Windows-DotNETRuntime:0x4C14FCCBD:5,Microsoft-DotNETCore-SampleProfiler:0:5";

/// Arrays that the recorded program makes.
const ARRAYS: &str = "1000000";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [strata, rounds] = arguments.as_slice() else { return Err("usage: beside_traceevent STRATA ROUNDS".into()) };
    let scratch = Scratch::new()?;
    eprintln!("bench: recording a program that allocates, which takes a minute or two");
    let trace = record(&scratch, "Happens", &["allocations", ARRAYS], "Microsoft-Windows-DotNETRuntime:0x1:5")?;
    let (strata, rounds) = (Path::new(strata), rounds.parse()?);
    beside(&trace, rounds, &scratch)?;
    folding(strata, &trace, &["--name", "GCAllocationTick"], rounds, &scratch)?;
    fs::remove_file(trace)?;
    eprintln!("bench: recording a varied program with the runtime's own samples, which takes a minute");
    let trace = record(&scratch, "Varied", &["60"], SAMPLES)?;
    folding(strata, &trace, &[], rounds, &scratch)?;
    fs::remove_file(trace)?;
    large(strata, &scratch)
}

fn record(scratch: &Scratch, program: &str, arguments: &[&str], providers: &str) -> Outcome<PathBuf> {
    let mut told = Runtime::Net8.command(program, arguments)?;
    live::traced(&mut told, &scratch.0, providers);
    let running = Running::start(told, Until::Ready, LIMIT).map_err(|failure| failure.to_string())?;
    running.wait(LIMIT).map_err(|failure| failure.to_string())?;
    Ok(scratch.0.join("trace.nettrace"))
}

/// From a file to folded stacks of its samples, or of the events that are chosen, beside the conversion that comes before them
/// there.
fn folding(strata: &Path, trace: &Path, chosen: &[&str], rounds: usize, scratch: &Scratch) -> Outcome<()> {
    let folded = scratch.0.join("trace.folded");
    let [mut ours, mut trace_log] = [const { Vec::new() }; 2];
    for _ in 0..rounds {
        let start = Instant::now();
        let mut convert = Command::new(strata);
        convert.arg("convert").arg(trace).args(chosen).arg("-o").arg(&folded).stderr(Stdio::null());
        if !convert.status()?.success() {
            return Err("strata convert failed".into());
        }
        ours.push(start.elapsed().as_secs_f64());
        trace_log.push(converting(trace, scratch)?);
    }
    let [ours, trace_log] = [ours, trace_log].map(median);
    let megabytes = fs::metadata(trace)?.len() as f64 / 1e6;
    let what = if chosen.is_empty() { "samples".to_owned() } else { chosen.join(" ") };
    println!("{megabytes:.0} MB, {what}; medians of {rounds} rounds in turns");
    println!("{:<44} {:>8.1}", "strata: file to folded stacks, names included", ours * 1e3);
    println!("{:<44} {:>8.1}", "TraceEvent: conversion to TraceLog alone", trace_log * 1e3);
    Ok(())
}

/// Seconds of each way to read, in turns.
fn beside(trace: &Path, rounds: usize, scratch: &Scratch) -> Outcome<()> {
    let bytes = fs::read(trace)?;
    let megabytes = bytes.len() as f64 / 1e6;
    let events = decode(&bytes);
    let [mut ours, mut in_order, mut event_loop, mut trace_log] = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        // From memory, as the event loop reads: several times, because once is over too soon to tell.
        ours.push(shortest(5, || decode(&bytes)));
        in_order.push(shortest(5, || decode_in_order(&bytes)));
        event_loop.push(reading(trace)?);
        trace_log.push(converting(trace, scratch)?);
    }
    let [ours, in_order, event_loop, trace_log] = [ours, in_order, event_loop, trace_log].map(median);
    println!(
        "{megabytes:.0} MB, {events} events, {:.0} bytes each; medians of {rounds} rounds in turns",
        megabytes * 1e6 / events as f64
    );
    println!("{:<44} {:>8} {:>8} {:>12}", "", "ms", "MB/s", "events/s");
    for (what, seconds) in [
        ("strata: events with stacks", ours),
        ("strata: the same in the order of time", in_order),
        ("TraceEvent: event loop, compiled", event_loop),
        ("TraceEvent: conversion to TraceLog", trace_log),
    ] {
        println!("{what:<44} {:>8.1} {:>8.0} {:>12.3e}", seconds * 1e3, megabytes / seconds, events as f64 / seconds);
    }
    println!("{:<44} {:>8.1}", "TraceEvent's event loop takes so many times ours", event_loop / ours);
    Ok(())
}

fn shortest(times: usize, what: impl Fn() -> u64) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..times {
        let start = Instant::now();
        black_box(what());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// What any consumer does with every event: look at its time, kind, payload and the ends of its stack.
fn look(item: &Item<'_>, sum: &mut u64) {
    if let Item::Event(event) = item {
        *sum = sum.wrapping_add(event.header.time).wrapping_add(u64::from(event.metadata.event_id));
        *sum = sum.wrapping_add(event.payload.first().map_or(0, |byte| u64::from(*byte)));
        if let Some(stack) = event.stack {
            let mut addresses = stack.addresses();
            *sum = sum.wrapping_add(addresses.next().map_or(0, |leaf| leaf.0));
            *sum = sum.wrapping_add(addresses.next_back().map_or(0, |root| root.0));
        }
    }
}

fn decode(bytes: &[u8]) -> u64 {
    let mut sum = 0;
    let mut sink = |item: Item<'_>| look(&item, &mut sum);
    let mut decoder = Decoder::new();
    let fed = decoder.feed(bytes, &mut sink);
    let events = fed.and_then(|()| decoder.finish(&mut sink)).map_or(0, |summary| summary.events);
    black_box(sum);
    events
}

fn decode_in_order(bytes: &[u8]) -> u64 {
    let mut sum = 0;
    let mut sink = |item: Item<'_>| look(&item, &mut sum);
    let mut order = TimeOrder::new();
    let mut decoder = Decoder::new();
    let fed = decoder.feed(bytes, &mut |item: Item<'_>| order.push(item, &mut sink));
    let events = fed.and_then(|()| decoder.finish(&mut |item: Item<'_>| order.push(item, &mut sink)));
    order.finish(&mut sink);
    black_box(sum);
    events.map_or(0, |summary| summary.events)
}

/// TraceEvent's event loop over a file in memory, in seconds: the best pass but the first, in which it is compiled.
fn reading(trace: &Path) -> Outcome<f64> {
    let passes = ["6", "events"].map(AsRef::as_ref);
    let lines = printed("Reading", &[&[trace.as_os_str()], &passes[..]].concat())?;
    let passes = lines.iter().skip(1).filter_map(|line| line.split_once(' ')?.1.parse::<f64>().ok());
    Ok(passes.fold(f64::INFINITY, f64::min) / 1e9)
}

/// TraceEvent's conversion to a TraceLog, in seconds, compilation included: each conversion is a process of its own.
fn converting(trace: &Path, scratch: &Scratch) -> Outcome<f64> {
    let converted = scratch.0.join("converted.etlx");
    let lines = printed("Stacks", &[trace.as_os_str(), converted.as_os_str()])?;
    let took = lines.iter().find_map(|line| line.strip_prefix("took\t"));
    Ok(took.ok_or("no time was told")?.parse::<f64>()? / 1e3)
}

fn printed(program: &str, arguments: &[&std::ffi::OsStr]) -> Outcome<Vec<String>> {
    let running = Running::start(Runtime::Net8.command(program, arguments)?, Until::Started, LIMIT);
    let finished =
        running.map_err(|failure| failure.to_string())?.wait(LIMIT).map_err(|failure| failure.to_string())?;
    Ok(finished.stdout)
}

/// `strata info` on much.
fn large(strata: &Path, scratch: &Scratch) -> Outcome<()> {
    const FILE: usize = 500_000_000;
    const PIPE: usize = 5 << 30;
    let (head, group) = groups();
    let path = scratch.0.join("large.nettrace");
    let mut file = std::io::BufWriter::with_capacity(1 << 20, fs::File::create(&path)?);
    write_groups(&mut file, &head, &group, FILE)?;
    drop(file);
    let start = Instant::now();
    let child = Command::new(strata).arg("info").arg(&path).stdout(Stdio::null()).spawn()?;
    let (peak, _) = finished(child)?;
    println!("strata info, file of 500 MB: {:.2} s, {peak} MiB at most", start.elapsed().as_secs_f64());

    let start = Instant::now();
    let script = "ulimit -v 524288; exec \"$0\" info -";
    let mut child =
        Command::new("sh").args(["-c", script]).arg(strata).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let mut input = child.stdin.take().ok_or("no pipe")?;
    let writer = std::thread::spawn(move || write_groups(&mut input, &head, &group, PIPE));
    let (peak, success) = finished(child)?;
    writer.join().map_err(|_| "the writer failed")??;
    println!(
        "strata info, 5 GiB from a pipe under ulimit -v 512 MiB: {:.1} s, {peak} MiB at most, {}",
        start.elapsed().as_secs_f64(),
        if success { "read to its end" } else { "FAILED" }
    );
    Ok(())
}

/// Waits for a program; its largest size in memory, in MiB, and whether it did what it should.
fn finished(mut child: Child) -> Outcome<(u64, bool)> {
    let mut peak = 0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let told =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(told.unwrap_or(0_u64));
        if let Some(status) = child.try_wait()? {
            return Ok((peak >> 10, status.success()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The front of a stream, and a group of blocks that may follow it as often as one likes.
fn groups() -> (Vec<u8>, Vec<u8>) {
    // A block of three bytes ends at a multiple of four, which what follows is aligned by.
    let head = Stream::with_trace().metadata(&[Definition::native(1, "Bench", 1, 0)]).block("Padding", &[0; 3]);
    let front = head.clone().bytes();
    let stacks: Vec<Vec<u64>> =
        (0..100).map(|stack| (0..20).map(|frame| 0x7000 + stack * 100 + frame).collect()).collect();
    let stacks: Vec<&[u64]> = stacks.iter().map(Vec::as_slice).collect();
    let blobs = (1..=1500).fold(Blobs::compressed(), |blobs, number: u32| {
        blobs.with(Blob {
            metadata: 1,
            sequence: number,
            capture_thread: 7,
            thread: 7,
            stack: number % 100 + 1,
            time: 1000 + u64::from(number) * 1000,
            payload: utf16("the text of an event of usual size"),
            ..Blob::default()
        })
    });
    let group =
        head.stacks(1, &stacks).events(&blobs).sequence_point(1_000_000, &[(7, 1500)]).block("Padding", &[0; 3]);
    let group = group.bytes().split_off(front.len());
    (front, group)
}

fn write_groups(out: &mut impl Write, head: &[u8], group: &[u8], bytes: usize) -> std::io::Result<()> {
    out.write_all(head)?;
    for _ in 0..bytes / group.len() {
        out.write_all(group)?;
    }
    out.write_all(&[1])?;
    out.flush()
}

/// A folder that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Outcome<Scratch> {
        let folder = std::env::temp_dir().join(format!("strata-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left over lies in the folder for such things.
        let _ = fs::remove_dir_all(&self.0);
    }
}
