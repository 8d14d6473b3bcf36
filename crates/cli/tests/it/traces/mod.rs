//! `strata info` and `strata events` on traces: real ones, ones built to be odd, and what is no trace at all.

mod counted;
mod damaged;
mod events;
mod info;
mod large;
mod live_threads;
mod machine;
mod odd;
mod thread_time;

use crate::support::{Scratch, run, strata};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream};

/// What a command prints as lines of JSON.
fn lines(arguments: &[&str], file: &Path) -> Vec<Value> {
    let output = run(arguments.iter().map(AsRef::as_ref).chain([file.as_os_str()]), 0);
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn info(file: &Path) -> Value {
    serde_json::from_slice(&run(["info".as_ref(), "--json".as_ref(), file.as_os_str()], 0).stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Puts bytes into a file.
fn written(scratch: &Scratch, name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch.path(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A trace with events of these definitions, in this order of the stream.
fn built(definitions: &[Definition], events: impl IntoIterator<Item = Blob>) -> Vec<u8> {
    let blobs = events.into_iter().fold(Blobs::compressed(), Blobs::with);
    Stream::with_trace().metadata(definitions).events(&blobs).end()
}

/// An event one microsecond after the one before it, on thread 7.
fn event(metadata: u32, number: u32, payload: &[u8]) -> Blob {
    Blob {
        metadata,
        sequence: number,
        capture_thread: 7,
        thread: 7,
        time: 1000 + u64::from(number) * 1000,
        payload: payload.to_vec(),
        ..Blob::default()
    }
}
