//! A process whose main thread ends while it is recorded goes on: its other threads stay named and whole.

use crate::scene::{command, native, state, target};
use crate::support::{Scratch, record};
use crate::workload::profile;
use strata_profile::StackEnd;

#[test]
fn threads_that_outlive_the_main_thread_stay_named_and_whole() {
    let scratch = Scratch::new();
    let recording = scratch.path("x.strata");
    let target = target(command(&native(&scratch), &["outlived"]));
    assert_ne!(state(target.pid()), Some(b'Z'), "the main thread ended before the recording began");
    record(target.pid(), 5, &recording);
    assert_eq!(state(target.pid()), Some(b'Z'), "the main thread did not end during the recording");

    let profile = profile(&recording);
    let processes =
        profile.processes.iter().map(|(_, process)| (process.pid, process.name.clone())).collect::<Vec<_>>();
    assert_eq!(processes, [(target.pid(), "target".to_owned())]);
    let (mut samples, mut bad) = (0, Vec::new());
    for sample in &profile.samples {
        let Some(stack) = sample.stack else { continue };
        let names: Vec<_> =
            profile.frames_from_leaf(stack).map(|frame| profile.function_of(frame).name.clone()).collect();
        samples += 1;
        let in_worker = names.iter().any(|name| name == "spin_under_a_name");
        let at_root = sample.end == StackEnd::Root;
        if !(in_worker && at_root) || names.iter().any(|name| name.starts_with("[unmapped")) {
            bad.push((sample.end.label(), names));
        }
    }
    println!("{samples} samples, {} not whole and named: {:?}", bad.len(), bad.first());
    // Five seconds of a busy thread; a sample may fall into a thread that is ending.
    assert!(samples > 100, "{samples} samples are too few to judge");
    assert!(bad.len() * 100 <= samples, "{} of {samples}: {bad:?}", bad.len());
}
