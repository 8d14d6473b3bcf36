//! How fast streams are decoded to events with stacks, on one core.
//!
//! `cargo run --release -p strata-nettrace --example decoding -- FILE...`
//!
//! Each file is laid out in memory often enough to fill 256 MiB, so that the bytes come from memory and not from a cache,
//! and every copy is decoded from its first byte. The figures are the best and the median of several rounds, in time on the
//! processor where the kernel tells it (a busy machine then matters less), else in time on the clock; and the best with the
//! events put in the order of time.

use std::hint::black_box;
use std::time::Instant;

use strata_nettrace::order::TimeOrder;
use strata_nettrace::{Decoder, Item};

const BUFFER: usize = 256 << 20;
const ROUNDS: usize = 7;

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: decoding FILE...");
        std::process::exit(3);
    }
    println!("{:>10} {:>10} {:>10} {:>12} {:>10}  file", "best MB/s", "median", "in order", "events/s", "bytes/ev");
    for file in files {
        match std::fs::read(&file) {
            Ok(bytes) if !bytes.is_empty() => measure(&file, &bytes),
            Ok(_) => eprintln!("{file}: empty"),
            Err(error) => eprintln!("{file}: {error}"),
        }
    }
}

fn measure(file: &str, bytes: &[u8]) {
    let copies = (BUFFER / bytes.len()).max(1);
    let buffer = bytes.repeat(copies);
    let streams = || buffer.chunks_exact(bytes.len());
    let events: u64 = streams().map(decode).sum();
    let seconds = rounds(|| streams().map(decode).sum());
    let seconds_in_order = rounds(|| streams().map(decode_in_order).sum());
    let megabytes = buffer.len() as f64 / 1e6;
    let (best, median) = (seconds[0], seconds[ROUNDS / 2]);
    println!(
        "{:>10.0} {:>10.0} {:>10.0} {:>12.3e} {:>10.1}  {file}",
        megabytes / best,
        megabytes / median,
        megabytes / seconds_in_order[0],
        events as f64 / best,
        buffer.len() as f64 / events as f64,
    );
}

/// Seconds that several rounds of something took, shortest first.
fn rounds(what: impl Fn() -> u64) -> Vec<f64> {
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let (start, start_on_processor) = (Instant::now(), seconds_on_processor());
            black_box(what());
            match (start_on_processor, seconds_on_processor()) {
                (Some(start), Some(end)) => end - start,
                _ => start.elapsed().as_secs_f64(),
            }
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds
}

/// Time this thread was on a processor, good to a few milliseconds.
fn seconds_on_processor() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

/// What any consumer does with every event: look at its time, kind, payload and the ends of its stack.
fn look(item: &Item<'_>) -> u64 {
    let Item::Event(event) = item else { return 0 };
    let mut sum = event.header.time.wrapping_add(u64::from(event.metadata.event_id));
    sum = sum.wrapping_add(event.payload.first().map_or(0, |byte| u64::from(*byte)));
    if let Some(stack) = event.stack {
        let mut addresses = stack.addresses();
        sum = sum.wrapping_add(addresses.next().map_or(0, |leaf| leaf.0));
        sum = sum.wrapping_add(addresses.next_back().map_or(0, |root| root.0));
    }
    sum
}

fn decode(bytes: &[u8]) -> u64 {
    let mut sum = 0u64;
    let mut sink = |item: Item<'_>| sum = sum.wrapping_add(look(&item));
    let mut decoder = Decoder::new();
    if decoder.feed(bytes, &mut sink).is_err() {
        return 0;
    }
    let events = decoder.finish(&mut sink).map_or(0, |summary| summary.events);
    black_box(sum);
    events
}

fn decode_in_order(bytes: &[u8]) -> u64 {
    let mut sum = 0u64;
    let mut look = |item: Item<'_>| sum = sum.wrapping_add(look(&item));
    let mut order = TimeOrder::new();
    let mut decoder = Decoder::new();
    if decoder.feed(bytes, &mut |item: Item<'_>| order.push(item, &mut look)).is_err() {
        return 0;
    }
    let _ = decoder.finish(&mut |item: Item<'_>| order.push(item, &mut look));
    let counts = order.finish(&mut look);
    black_box(sum);
    counts.waited
}
