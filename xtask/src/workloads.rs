//! The C# programs in `workloads/`: compiled by Debian's `mcs`, or by Roslyn where a PDB is wanted, into
//! `workloads/NAME/NAME.dll` of the targets' folder.

use std::fs;
use std::path::{Path, PathBuf};
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
    /// A program compiled by Roslyn against the net3 target, twice: with a Portable PDB beside it, and in the folder
    /// `embedded` with the PDB inside.
    WithPdb,
}

const WORKLOADS: &[Workload] = &[
    Workload { name: "Varied", about: "a small shop: every kind of work on named threads", kind: Kind::Program },
    Workload { name: "Shares", about: "three kernels in known shares of CPU time", kind: Kind::Program },
    Workload { name: "Bench", about: "one busy thread, slices of fixed work, timed", kind: Kind::Program },
    Workload { name: "Exits", about: "ways to end and to speak", kind: Kind::Program },
    Workload { name: "ManyMethods", about: "many small methods made at run time", kind: Kind::Program },
    Workload { name: "Spawner", about: "a process with two busy .NET children", kind: Kind::Program },
    Workload { name: "Prepares", about: "makes ready most methods of the libraries", kind: Kind::Program },
    Workload { name: "Sleepers", about: "one thread that spins and nine that sleep", kind: Kind::Program },
    Workload { name: "Happens", about: "one kind of event of the runtime, again and again", kind: Kind::Program },
    Workload { name: "Hook", about: "startup hook that runs a workload in a single-file host", kind: Kind::Library },
    Workload { name: "Oracle", about: "prints what TraceEvent reads in a .nettrace file", kind: Kind::Oracle },
    Workload { name: "Stacks", about: "sums up what TraceLog makes of a .nettrace file", kind: Kind::Oracle },
    Workload { name: "Reading", about: "how long TraceEvent reads a rundown", kind: Kind::Oracle },
    Workload { name: ROSLYN_DRIVER, about: "compiles a C# file with Roslyn", kind: Kind::Program },
    Workload {
        name: "Lines",
        about: "busy on known lines, with a PDB beside and with one inside",
        kind: Kind::WithPdb,
    },
];

/// The target that is the compiler.
const ROSLYN: &str = "roslyn";
/// The workload that calls it.
const ROSLYN_DRIVER: &str = "RoslynDriver";

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
    let beside = match workload.kind {
        Kind::Oracle => targets::pin("traceevent"),
        Kind::WithPdb => targets::pin(ROSLYN),
        Kind::Program | Kind::Library => String::new(),
    };
    let pin = format!("{COMMON_OPTIONS:?} {:?} {beside}\n{RUNTIME_CONFIG}{text}", workload.kind);
    let place = format!("workloads/{}", workload.name);
    if install::is_current(layout, &place, &pin) {
        return Ok(());
    }
    apt::ensure(&[apt::MCS])?;
    let needs: &[&str] = match workload.kind {
        Kind::Oracle => &["net3", "traceevent"],
        Kind::WithPdb => &["net3", "net8", ROSLYN, ROSLYN_DRIVER],
        Kind::Program | Kind::Library => &[],
    };
    for need in needs {
        targets::ensure_named(layout, need)?;
    }
    install::once(layout, &place, &pin, |scratch| compile(layout, workload, &source, &scratch.join("result")))
}

fn compile(layout: &Layout, workload: &Workload, source: &Path, result: &Path) -> Result<()> {
    if workload.kind == Kind::WithPdb {
        compile_with_pdb(layout, workload, source, result, "beside")?;
        return compile_with_pdb(layout, workload, source, &result.join("embedded"), "embedded");
    }
    let mut mcs = Command::new("mcs");
    mcs.args(COMMON_OPTIONS);
    match workload.kind {
        Kind::Program => mcs.args(["-target:exe", "-r:System.Core.dll"]),
        Kind::Library => mcs.args(["-target:library"]),
        Kind::Oracle => {
            mcs.arg("-target:exe");
            reference_oracle(layout, &mut mcs, result)?
        }
        Kind::WithPdb => bail!("{} is not compiled by mcs", workload.name),
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
    let framework = oldest_framework(layout)?;
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

/// `place` is where the PDB goes, as the driver takes it.
fn compile_with_pdb(layout: &Layout, workload: &Workload, source: &Path, result: &Path, place: &str) -> Result<()> {
    fs::create_dir_all(result)?;
    run::quietly(
        Command::new(layout.target("net8").join("dotnet"))
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            .arg(layout.target("workloads").join(ROSLYN_DRIVER).join(format!("{ROSLYN_DRIVER}.dll")))
            .arg(layout.target(ROSLYN))
            .arg(source)
            .arg(result.join(format!("{}.dll", workload.name)))
            .arg(place)
            .arg(oldest_framework(layout)?),
    )?;
    fs::write(result.join(format!("{}.runtimeconfig.json", workload.name)), RUNTIME_CONFIG)?;
    Ok(())
}

fn oldest_framework(layout: &Layout) -> Result<PathBuf> {
    let frameworks = layout.target("net3").join("shared/Microsoft.NETCore.App");
    match fs::read_dir(&frameworks)?.next() {
        Some(entry) => Ok(entry?.path()),
        None => bail!("no framework in {}", frameworks.display()),
    }
}
