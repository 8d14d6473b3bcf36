//! The C# programs in `workloads/`: compiled by Debian's `mcs` into `workloads/NAME/NAME.dll` of the targets' folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::layout::Layout;
use crate::{apt, install, run, targets};

/// One C# source file and what it becomes.
struct Workload {
    name: &'static str,
    about: &'static str,
    kind: Kind,
}

/// Which assemblies a workload is compiled against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A program against the compiler's own mscorlib: it runs on every runtime.
    Program,
    /// The same as a library.
    Library,
    /// A program against the net3 target and TraceEvent, whose files are put beside it.
    Oracle,
}

const WORKLOADS: &[Workload] = &[
    Workload { name: "Varied", about: "a small shop: every kind of work on named threads", kind: Kind::Program },
    Workload { name: "Shares", about: "three kernels in known shares of CPU time", kind: Kind::Program },
    Workload { name: "Bench", about: "one busy thread, slices of fixed work, timed", kind: Kind::Program },
    Workload { name: "Exits", about: "ways to end and to speak", kind: Kind::Program },
    Workload { name: "ManyMethods", about: "many small methods made at run time", kind: Kind::Program },
    Workload { name: "Spawner", about: "a process with two busy .NET children", kind: Kind::Program },
    Workload { name: "Hook", about: "startup hook that runs a workload in a single-file host", kind: Kind::Library },
    Workload { name: "Oracle", about: "prints what TraceEvent reads in a .nettrace file", kind: Kind::Oracle },
];

/// Rolls forward to whatever runtime the host has, from the oldest one that we run on.
const RUNTIME_CONFIG: &str = r#"{
  "runtimeOptions": {
    "tfm": "netcoreapp3.1",
    "rollForward": "LatestMajor",
    "framework": { "name": "Microsoft.NETCore.App", "version": "3.1.0" },
    "configProperties": { "System.Globalization.Invariant": true }
  }
}
"#;

const COMMON_OPTIONS: &[&str] = &["-nologo", "-optimize+", "-unsafe+", "-langversion:7.2", "-warn:4", "-warnaserror+"];

/// The assemblies of the framework whose types the oracle and TraceEvent's public members mention.
const ORACLE_FACADES: &[&str] = &[
    "System.Private.CoreLib",
    "System.Runtime",
    "netstandard",
    "System.Collections",
    "System.Console",
    "System.Linq.Expressions",
    "System.Runtime.Extensions",
];

pub(crate) fn exists(name: &str) -> bool {
    WORKLOADS.iter().any(|workload| workload.name == name)
}

/// Name and one line about each.
pub(crate) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    WORKLOADS.iter().map(|workload| (workload.name, workload.about))
}

pub(crate) fn ensure_all(layout: &Layout) -> Result<()> {
    for workload in WORKLOADS {
        build(layout, workload)?;
    }
    Ok(())
}

pub(crate) fn ensure(layout: &Layout, name: &str) -> Result<()> {
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    build(layout, workload.with_context(|| format!("no workload `{name}`"))?)
}

fn build(layout: &Layout, workload: &Workload) -> Result<()> {
    let source = layout.workload_sources().join(format!("{}.cs", workload.name));
    let text = fs::read_to_string(&source).with_context(|| format!("failed to read {}", source.display()))?;
    // The marker holds the source itself: any change of it, of the options or of the configuration compiles anew.
    let beside = if workload.kind == Kind::Oracle { targets::pin("traceevent") } else { String::new() };
    let pin = format!("{COMMON_OPTIONS:?} {:?} {beside}\n{RUNTIME_CONFIG}{text}", workload.kind);
    let place = format!("workloads/{}", workload.name);
    if install::is_current(layout, &place, &pin) {
        return Ok(());
    }
    apt::ensure(&[apt::MCS])?;
    if workload.kind == Kind::Oracle {
        targets::ensure_named(layout, "net3")?;
        targets::ensure_named(layout, "traceevent")?;
    }
    install::once(layout, &place, &pin, |scratch| compile(layout, workload, &source, &scratch.join("result")))
}

fn compile(layout: &Layout, workload: &Workload, source: &Path, result: &Path) -> Result<()> {
    let mut mcs = Command::new("mcs");
    mcs.args(COMMON_OPTIONS);
    match workload.kind {
        Kind::Program => mcs.args(["-target:exe", "-r:System.Core.dll"]),
        Kind::Library => mcs.args(["-target:library"]),
        Kind::Oracle => {
            mcs.arg("-target:exe");
            reference_oracle(layout, &mut mcs, result)?
        }
    };
    mcs.arg(format!("-out:{}", result.join(format!("{}.dll", workload.name)).display())).arg(source);
    run::quietly(&mut mcs)?;
    if workload.kind != Kind::Library {
        fs::write(result.join(format!("{}.runtimeconfig.json", workload.name)), RUNTIME_CONFIG)?;
    }
    Ok(())
}

/// TraceEvent is written against netstandard, which the compiler's own class library does not have: compile against a
/// .NET framework instead. The oldest, because the compiler gives up on types that are written in a newer language.
fn reference_oracle<'a>(layout: &Layout, mcs: &'a mut Command, result: &Path) -> Result<&'a mut Command> {
    let frameworks = layout.target("net3").join("shared/Microsoft.NETCore.App");
    let framework = match fs::read_dir(&frameworks)?.next() {
        Some(entry) => entry?.path(),
        None => bail!("no framework in {}", frameworks.display()),
    };
    mcs.args(["-nostdlib", "-noconfig"]);
    for facade in ORACLE_FACADES {
        mcs.arg(format!("-r:{}", framework.join(format!("{facade}.dll")).display()));
    }
    for entry in fs::read_dir(layout.target("traceevent"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "dll") {
            let name = path.file_name().context("a listed file has a name")?;
            targets::copy(&path, &result.join(name))?;
            mcs.arg(format!("-r:{}", path.display()));
        }
    }
    Ok(mcs)
}
