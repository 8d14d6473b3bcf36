//! Shares of CPU time are those that the workload itself measured.

use crate::support::{Scratch, record, report};
use crate::workload::{PerfMap, ShortFolder, manifest, on_each_runtime, start, wait_for};
use std::path::Path;
use strata_testkit::live::{KernelTimes, Running, Runtime, truths};

on_each_runtime!(check);

const KERNELS: [&str; 3] = ["Shares.KernelA(", "Shares.KernelB(", "Shares.KernelC("];

/// How far a share may be from the truth, in points of percent.
const MAX_DIFFERENCE: f64 = 3.0;

/// A share of 50 % that is estimated from so many samples has a standard error of two thirds of a point. A busy machine
/// gives fewer than 999 samples per second, so that more than one attachment may be needed.
const ENOUGH_SAMPLES: u64 = 6000;
const MAX_ATTACHMENTS: usize = 12;

fn check(runtime: Runtime) {
    let (scratch, temporary) = (Scratch::new(), ShortFolder::new());
    let shares = start(runtime, "Shares", &temporary, PerfMap::Off);
    wait_for(&shares, "readings", |lines| readings(lines).len() >= 2);

    let (mut recorded, mut truth) = (KernelTimes::default(), KernelTimes::default());
    let mut samples = 0;
    let mut attachments = 0;
    while samples < ENOUGH_SAMPLES {
        assert!(attachments < MAX_ATTACHMENTS, "{runtime}: {samples} samples in {attachments} attachments");
        let path = scratch.path(&format!("{attachments}.strata"));
        record(shares.pid(), 10, &path);
        attachments += 1;
        let (times, more) = recorded_times(&path);
        recorded = plus(recorded, times);
        truth = plus(truth, true_times(&shares, &path));
        samples += more;
    }

    println!(
        "{runtime}: {samples} samples in {attachments} attachments; CPU ms recorded / true, share recorded / true"
    );
    let rows = [(recorded.a, truth.a), (recorded.b, truth.b), (recorded.c, truth.c)];
    let percents =
        recorded.shares().into_iter().zip(truth.shares()).map(|(ours, true_share)| (ours * 100.0, true_share * 100.0));
    let mut worst: f64 = 0.0;
    for ((kernel, (ours_ns, true_ns)), (ours, true_share)) in KERNELS.iter().zip(rows).zip(percents) {
        let difference = ours - true_share;
        println!(
            "  {:<14} {:>8} / {:>8}   {ours:6.2} / {true_share:6.2}   {difference:+.2}",
            kernel.trim_end_matches('('),
            ours_ns / 1_000_000,
            true_ns / 1_000_000,
        );
        worst = worst.max(difference.abs());
    }
    assert!(worst <= MAX_DIFFERENCE, "{runtime}: a share is {worst:.2} points from the truth");
}

/// The kernels' CPU time with all that they called, and how many samples that are.
fn recorded_times(recording: &Path) -> (KernelTimes, u64) {
    let top = report(recording, "top");
    let mut samples = 0;
    let [a, b, c] = KERNELS.map(|kernel| {
        let rows = top["data"]["functions"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.filter(|row| row["name"].as_str().unwrap().starts_with(kernel)).collect();
        assert_eq!(rows.len(), 1, "{kernel}: {rows:?}");
        samples += rows[0]["total"]["samples"].as_u64().unwrap();
        rows[0]["total"]["cpu_ns"].as_u64().unwrap()
    });
    (KernelTimes { a, b, c }, samples)
}

/// What the workload measured between the first and the last moment of the recording.
fn true_times(shares: &Running, recording: &Path) -> KernelTimes {
    let manifest = manifest(recording);
    let (start, stop) = (manifest.started.monotonic_ns, manifest.stopped.unwrap().at.monotonic_ns);
    wait_for(shares, "reading after the end", |lines| readings(lines).last().is_some_and(|(at, _)| *at >= stop));
    let readings = readings(&shares.stdout_lines());
    at(&readings, stop).since(&at(&readings, start))
}

fn readings(lines: &[String]) -> Vec<(u64, KernelTimes)> {
    truths(lines).into_iter().filter_map(|truth| Some((truth.at?, truth.times))).collect()
}

/// The times at a moment between two readings. The workload holds its shares within milliseconds, so between two readings
/// that are a second apart every kernel advances evenly.
fn at(readings: &[(u64, KernelTimes)], moment: u64) -> KernelTimes {
    let after = readings.iter().position(|(at, _)| *at >= moment).expect("there is a reading after it");
    let before = after.checked_sub(1).expect("there is a reading before it");
    let ((earlier, then), (later, now)) = (readings[before], readings[after]);
    let part = (moment - earlier) as f64 / (later - earlier) as f64;
    let advance = now.since(&then);
    let [a, b, c] = [advance.a, advance.b, advance.c].map(|time| (time as f64 * part) as u64);
    plus(then, KernelTimes { a, b, c })
}

fn plus(left: KernelTimes, right: KernelTimes) -> KernelTimes {
    KernelTimes { a: left.a + right.a, b: left.b + right.b, c: left.c + right.c }
}
