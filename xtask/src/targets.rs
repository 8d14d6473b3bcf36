//! `cargo xtask targets`: installs the pinned runtimes and oracles.

mod recipe;
mod table;

use anyhow::{Result, bail};

use crate::apt::{self, SystemNeed};
use crate::layout::Layout;
use crate::{install, workloads};

use recipe::Recipe;
use table::{TARGETS, Target};

pub(crate) use recipe::copy;

/// What tests use of the system beside the targets.
const SYSTEM: &[SystemNeed] = &[apt::PERF, apt::GCC, apt::GXX, apt::GO, apt::PYTHON_JSONSCHEMA];

/// Names that stand for something else than one target or workload.
const SYSTEM_NAME: &str = "system";
const WORKLOADS_NAME: &str = "workloads";

/// Installs the named things, or all of them.
pub(crate) fn ensure(layout: &Layout, names: &[String]) -> Result<()> {
    if names.is_empty() {
        apt::ensure(&all_system_needs())?;
        for target in TARGETS {
            ensure_target(layout, target)?;
        }
        workloads::ensure_all(layout)?;
        eprintln!("targets: all there, in {}", layout.targets.display());
        return Ok(());
    }
    for name in names {
        ensure_named(layout, name)?;
    }
    Ok(())
}

/// Installs one thing by name.
pub(crate) fn ensure_named(layout: &Layout, name: &str) -> Result<()> {
    match name {
        SYSTEM_NAME => apt::ensure(SYSTEM),
        WORKLOADS_NAME => workloads::ensure_all(layout),
        _ => match TARGETS.iter().find(|target| target.name == name) {
            Some(target) => ensure_target(layout, target),
            None if workloads::exists(name) => workloads::ensure(layout, name),
            None => bail!("nothing is called `{name}`; `cargo xtask targets --list` shows what there is"),
        },
    }
}

/// What the named target is installed from; another text after any change of it.
pub(crate) fn pin(name: &str) -> String {
    TARGETS.iter().filter(|target| target.name == name).map(Target::pin).collect()
}

/// Says what there is, on standard output.
pub(crate) fn list(layout: &Layout) {
    for target in TARGETS {
        let state = if install::is_current(layout, target.name, &target.pin()) { "installed" } else { "missing" };
        println!("{:<18} {state:<10} {}", target.name, target.about);
    }
    for (name, about) in workloads::names() {
        println!("{name:<18} {:<10} {about}", "workload");
    }
    println!("{WORKLOADS_NAME:<18} {:<10} every workload", "group");
    println!("{SYSTEM_NAME:<18} {:<10} Debian packages that tests use beside these", "group");
}

fn ensure_target(layout: &Layout, target: &Target) -> Result<()> {
    if install::is_current(layout, target.name, &target.pin()) {
        return Ok(());
    }
    apt::ensure(target.recipe.needs())?;
    if let Recipe::Framework { host, .. } = target.recipe {
        ensure_named(layout, host)?;
    }
    install::once(layout, target.name, &target.pin(), |scratch| target.recipe.carry_out(layout, scratch))
}

fn all_system_needs() -> Vec<SystemNeed> {
    let mut needs = SYSTEM.to_vec();
    needs.extend(TARGETS.iter().flat_map(|target| target.recipe.needs()));
    needs.push(apt::MCS);
    needs
}

impl Target {
    fn pin(&self) -> String {
        format!("{:?}\n", self.recipe)
    }
}
