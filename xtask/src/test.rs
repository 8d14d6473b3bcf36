//! `cargo xtask test`: what CI runs, step by step, each with its name and duration.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::layout::Layout;
use crate::tools::{CARGO_DENY, CARGO_FUZZ};
use crate::{run, targets};

/// How long each fuzz target runs; long enough to see that the kept inputs still pass and little more.
const FUZZ_SECONDS: u32 = 10;

/// One check.
struct Step {
    /// What one types to run it alone.
    name: &'static str,
    run: fn(&Layout) -> Result<()>,
}

const STEPS: &[Step] = &[
    Step { name: "targets", run: |layout| targets::ensure(layout, &[]) },
    Step { name: "format", run: |layout| run::loudly(cargo(layout).args(["fmt", "--all", "--check"])) },
    Step { name: "clippy", run: clippy },
    Step { name: "tests", run: tests },
    Step { name: "doctests", run: |layout| run::loudly(cargo(layout).args(["test", "--workspace", "--doc"])) },
    Step { name: "docs", run: docs },
    Step { name: "deny", run: deny },
    Step { name: "fuzz", run: fuzz },
];

/// Runs every step, or those named, and fails with the name of the first that fails.
pub(crate) fn run(layout: &Layout, names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !STEPS.iter().any(|step| step.name == name.as_str())) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!("no step `{unknown}`; there are {}", known.join(", "));
    }
    let chosen: Vec<&Step> =
        STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| name == step.name)).collect();
    let mut took: Vec<(&str, Duration)> = Vec::new();
    for step in &chosen {
        eprintln!("\n== {}", step.name);
        let started = Instant::now();
        let result = (step.run)(layout);
        let duration = started.elapsed();
        eprintln!("== {}: {} in {:.1} s", step.name, if result.is_ok() { "ok" } else { "FAILED" }, seconds(duration));
        if result.is_err() {
            println!("\nsteps: {} passed, 1 failed", took.len());
            return result.with_context(|| format!("step `{}` failed", step.name));
        }
        took.push((step.name, duration));
    }
    println!();
    for (name, duration) in &took {
        println!("{name:<10} {:>8.1} s", seconds(*duration));
    }
    let total: Duration = took.iter().map(|(_, duration)| *duration).sum();
    println!("{:<10} {:>8.1} s", "together", seconds(total));
    println!("steps: {} passed, 0 failed", took.len());
    Ok(())
}

fn clippy(layout: &Layout) -> Result<()> {
    run::loudly(cargo(layout).args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

/// By nextest where it is there: it runs each test in a process of its own, and all binaries at once.
fn tests(layout: &Layout) -> Result<()> {
    if run::on_path("cargo-nextest").is_some() {
        return run::loudly(cargo(layout).args(["nextest", "run", "--workspace", "--no-fail-fast"]));
    }
    run::loudly(cargo(layout).args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]))
}

fn docs(layout: &Layout) -> Result<()> {
    run::loudly(cargo(layout).args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Advisories are left out: their database comes from a place that not every machine reaches.
fn deny(layout: &Layout) -> Result<()> {
    let program = CARGO_DENY.ensure(layout)?;
    // It looks at the dependencies of every platform, of which a build has fetched only ours.
    run::loudly(cargo(layout).args(["fetch", "--locked"]))?;
    let checks = ["--offline", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"];
    run::loudly(Command::new(program).current_dir(&layout.root).args(checks))
}

fn fuzz(layout: &Layout) -> Result<()> {
    let folder = layout.root.join("fuzz");
    if !folder.join("Cargo.toml").is_file() {
        eprintln!("no fuzz targets yet");
        return Ok(());
    }
    let program = CARGO_FUZZ.ensure(layout)?;
    let list = run::quietly(cargo_fuzz(&program, layout).arg("list"))?;
    let list = String::from_utf8(list.stdout).context("the list of fuzz targets")?;
    for target in list.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let started = Instant::now();
        let mut command = cargo_fuzz(&program, layout);
        command.args(["run", "--sanitizer", "none", target]);
        fuzz_inputs(&folder, target, &mut command)?;
        command.args(["--", &format!("-max_total_time={FUZZ_SECONDS}"), "-rss_limit_mb=2048", "-timeout=10"]);
        // Millions of lines of progress help no one; the last of them are shown when it fails.
        run::quietly(&mut command).with_context(|| format!("fuzz target {target}"))?;
        eprintln!("fuzz {target}: ok in {:.1} s", seconds(started.elapsed()));
    }
    Ok(())
}

/// New inputs go to an ignored folder; the kept ones, where there are any, are read from beside it.
fn fuzz_inputs(folder: &Path, target: &str, command: &mut Command) -> Result<()> {
    let found = folder.join("corpus").join(target);
    std::fs::create_dir_all(&found)?;
    command.arg(found);
    let kept = folder.join("seeds").join(target);
    if kept.is_dir() {
        command.arg(kept);
    }
    Ok(())
}

fn cargo_fuzz(program: &Path, layout: &Layout) -> Command {
    let mut command = Command::new(program);
    // cargo-fuzz asks the compiler for unstable flags, which a stable one takes only so.
    // Without its own backtrace, what it says last is the input that failed.
    command.current_dir(&layout.root).env("RUSTC_BOOTSTRAP", "1").env("RUST_BACKTRACE", "0");
    command
}

fn cargo(layout: &Layout) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(&layout.root);
    command
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
