//! Prints what looking up code by address and time costs, and what the map of it costs to make and to keep, beside two other
//! ways: walking forward through the changes with an ordered tree of what is alive, and a sorted list of all bodies that is
//! searched by address alone, whatever the time: `cargo run --release -p strata-resolve --example code_map`.
//!
//! Look-ups are as programs run (49 of 50 in a thousand bodies) or anywhere (each in any body, so that hardly anything
//! is in the caches). Figures are medians of short runs in which the three ways take turns.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};
use strata_address::{Avma, AvmaRange};
use strata_profile::Timestamp;
use strata_resolve::code_map::{CodeId, CodeMap, Life, Told};

const BUILDS: usize = 7;
const RUNS: usize = 51;
const LOOK_UPS_PER_RUN: usize = 20_000;
const HOT_BODIES: u64 = 1_000;
const MS: u64 = 1_000_000;

fn main() {
    println!("                                           as programs run, ns            anywhere, ns");
    println!("  bodies     build, ms  memory, MB     map  walking  by address     map  walking  by address");
    for (what, share) in [("few share addresses", 10), ("all share addresses", 1)] {
        println!("{what}:");
        for count in [10_000, 100_000, 500_000, 1_000_000] {
            measure(&lives(count, share));
        }
    }
    println!("all in each other:");
    for count in [10_000, 100_000, 1_000_000] {
        measure(&nested(count));
    }
}

/// Small numbers without pattern, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(limit)) >> 64) as u64
    }
}

/// Bodies as a runtime makes them, one each millisecond; every `share`th is unloaded, and the next is put over it, moved a
/// little.
fn lives(count: u32, share: u64) -> Vec<Life> {
    let mut numbers = Numbers(1);
    let mut free: Option<AvmaRange> = None;
    let mut end = Avma(0x7f00_0000_0000);
    let mut lives = Vec::new();
    for code in 0..count {
        let born = u64::from(code) * MS;
        let bytes = 64 + numbers.below(1_000);
        let place = match free.take() {
            Some(range) => range.start().saturating_add(16 * numbers.below(3)),
            None => end,
        };
        let range = AvmaRange::sized(place, bytes).expect("far from the end of memory");
        end = end.max(Avma(range.end().0.next_multiple_of(32)));
        let dies = numbers.below(share) == 0;
        if dies {
            free = Some(range);
        }
        let told = if numbers.below(4) == 0 { Told::Listed(Timestamp(born)) } else { Told::Born(Timestamp(born)) };
        lives.push(Life { range, told, until: dies.then_some(Timestamp(born + MS / 2)), code });
    }
    lives
}

/// Bodies that lie in each other like onion skins.
fn nested(count: u32) -> Vec<Life> {
    let life = |code| {
        let inset = 16 * u64::from(code);
        let start = Avma(0x7f00_0000_0000 + inset);
        let range = AvmaRange::sized(start, 2 * (16 * u64::from(count) - inset)).expect("not empty");
        Life { range, told: Told::Born(Timestamp(u64::from(code) * MS)), until: None, code }
    };
    (0..count).map(life).collect()
}

fn measure(lives: &[Life]) {
    let mut building = Vec::new();
    for _ in 0..BUILDS {
        building.push(timed(|| CodeMap::new(lives)).1);
    }
    let map = CodeMap::new(lives);
    let list = sorted(lives);
    let [[hot_map, hot_walk, hot_list], [map_anywhere, walk_anywhere, list_anywhere]] =
        [HOT_BODIES, 0].map(|hot| look_up_each_way(lives, &map, &list, &samples(lives, hot)));
    println!(
        "{:>8} {:>13.1} {:>11.1} {hot_map:>7.0} {hot_walk:>8.0} {hot_list:>11.0} {map_anywhere:>7.0} {walk_anywhere:>8.0} {list_anywhere:>11.0}",
        lives.len(),
        median(building).as_secs_f64() * 1e3,
        map.memory() as f64 / 1e6,
    );
}

/// Times and addresses in the order of time, each in a body that was made before. Most are in so many bodies, if any.
fn samples(lives: &[Life], hot: u64) -> Vec<(Timestamp, Avma)> {
    let mut numbers = Numbers(2);
    let count = lives.len() as u64;
    let span = count * MS;
    let mut samples: Vec<(Timestamp, Avma)> = (0..RUNS * LOOK_UPS_PER_RUN)
        .map(|_| {
            let at = numbers.below(span);
            let made = at / MS + 1;
            let made_hot = made * hot / count;
            let body = match numbers.below(50) {
                1.. if made_hot > 0 => numbers.below(made_hot) * count / hot,
                _ => numbers.below(made),
            };
            let range = lives[body as usize].range;
            (Timestamp(at), Avma(range.start().0 + numbers.below(range.len())))
        })
        .collect();
    samples.sort_unstable();
    samples
}

/// Nanoseconds for a look-up: in the map, walking, by address alone.
fn look_up_each_way(
    lives: &[Life],
    map: &CodeMap,
    list: &[(Avma, Avma, CodeId)],
    samples: &[(Timestamp, Avma)],
) -> [f64; 3] {
    let mut walk = Walk::new(lives);
    let mut runs = [vec![], vec![], vec![]];
    for samples in samples.chunks(LOOK_UPS_PER_RUN) {
        let count = |found: &mut dyn FnMut(Avma, Timestamp) -> bool| {
            timed(|| samples.iter().filter(|(at, address)| found(*address, *at)).count()).1
        };
        runs[0].push(count(&mut |address, at| map.look_up(address, at).code.is_some()));
        runs[1].push(count(&mut |address, at| walk.look_up(address, at).is_some()));
        runs[2].push(count(&mut |address, _| search(list, address).is_some()));
    }
    runs.map(|runs| median(runs).as_nanos() as f64 / LOOK_UPS_PER_RUN as f64)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let result = black_box(work());
    (result, begin.elapsed())
}

fn median(mut runs: Vec<Duration>) -> Duration {
    runs.sort_unstable();
    runs[runs.len() / 2]
}

/// What is alive, moved forward with the samples. It knows of nothing that comes later.
struct Walk {
    changes: Vec<(Timestamp, AvmaRange, Option<CodeId>)>,
    next: usize,
    alive: BTreeMap<Avma, (Avma, CodeId)>,
}

impl Walk {
    fn new(lives: &[Life]) -> Self {
        let born = lives.iter().map(|life| (life.told.at(), life.range, Some(life.code)));
        let died = lives.iter().filter_map(|life| Some((life.until?, life.range, None)));
        let mut changes: Vec<_> = born.chain(died).collect();
        changes.sort_by_key(|(at, ..)| *at);
        Self { changes, next: 0, alive: BTreeMap::new() }
    }

    fn look_up(&mut self, address: Avma, at: Timestamp) -> Option<CodeId> {
        while let Some(&(_, range, code)) = self.changes.get(self.next).filter(|(change, ..)| *change <= at) {
            self.next += 1;
            while let Some((&start, &(end, old))) = self.alive.range(..range.end()).next_back() {
                if end <= range.start() {
                    break;
                }
                self.alive.remove(&start);
                if start < range.start() {
                    self.alive.insert(start, (range.start(), old));
                }
                if end > range.end() {
                    self.alive.insert(range.end(), (end, old));
                }
            }
            if let Some(code) = code {
                self.alive.insert(range.start(), (range.end(), code));
            }
        }
        let (_, (end, code)) = self.alive.range(..=address).next_back()?;
        (address < *end).then_some(*code)
    }
}

/// All bodies by where they begin, whenever that was.
fn sorted(lives: &[Life]) -> Vec<(Avma, Avma, CodeId)> {
    let mut list: Vec<_> = lives.iter().map(|life| (life.range.start(), life.range.end(), life.code)).collect();
    list.sort_unstable();
    list
}

fn search(list: &[(Avma, Avma, CodeId)], address: Avma) -> Option<CodeId> {
    let place = list.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
    let (_, end, code) = list[place];
    (address < end).then_some(code)
}
