//! Installing one thing so that it is either wholly there or not there at all.
//!
//! The work is done in a scratch folder beside the final one; the last steps are writing a marker that says what was
//! installed, and one rename. A run that dies half-way leaves only a scratch folder, which the next run removes. Two runs
//! at once do not disturb each other: each has a scratch folder of its own, and the later one drops its copy.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use crate::layout::Layout;

const MARKER: &str = ".installed";
const SCRATCH_PREFIX: &str = ".partial-";

/// True if `name` is installed from exactly this `pin`.
pub(crate) fn is_current(layout: &Layout, name: &str, pin: &str) -> bool {
    std::fs::read_to_string(layout.target(name).join(MARKER)).is_ok_and(|found| found == pin)
}

/// Makes `name` be there from `pin`: `build` is called with an empty scratch folder and puts the result below
/// `scratch/result`. Does nothing when it is there already.
pub(crate) fn once(layout: &Layout, name: &str, pin: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if is_current(layout, name, pin) {
        return Ok(());
    }
    let started = Instant::now();
    eprintln!("{name}: installing");
    std::fs::create_dir_all(&layout.targets)
        .with_context(|| format!("failed to create {}", layout.targets.display()))?;
    remove_abandoned(&layout.targets);
    let scratch = Scratch::create(&layout.targets, name)?;
    let result = scratch.0.join("result");
    std::fs::create_dir_all(&result)?;
    build(&scratch.0).with_context(|| format!("failed to install {name}"))?;
    std::fs::write(result.join(MARKER), pin)?;
    put_in_place(layout, name, pin, &scratch, &result)?;
    eprintln!("{name}: installed in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn put_in_place(layout: &Layout, name: &str, pin: &str, scratch: &Scratch, result: &Path) -> Result<()> {
    let place = layout.target(name);
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent)?;
    }
    // Moved aside first: a rename does not replace a folder that has files.
    if place.exists() && !is_current(layout, name, pin) {
        std::fs::rename(&place, scratch.0.join("old"))
            .with_context(|| format!("failed to move the old {} aside", place.display()))?;
    }
    match std::fs::rename(result, &place) {
        Ok(()) => Ok(()),
        // Another run was first, with the same result.
        Err(_) if is_current(layout, name, pin) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("failed to put {} in place", place.display())),
    }
}

/// A folder that is removed when it goes out of scope.
struct Scratch(PathBuf);

impl Scratch {
    fn create(targets: &Path, name: &str) -> Result<Scratch> {
        let flat = name.replace('/', "-");
        let path = targets.join(format!("{SCRATCH_PREFIX}{flat}-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("failed to create {}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes scratch folders whose process is gone.
fn remove_abandoned(targets: &Path) {
    let Ok(folder) = std::fs::read_dir(targets) else { return };
    for entry in folder.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let owner = name.strip_prefix(SCRATCH_PREFIX).and_then(|rest| rest.rsplit('-').next());
        if let Some(pid) = owner
            && !Path::new("/proc").join(pid).exists()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(name: &str) -> Layout {
        let targets = std::env::temp_dir().join(format!("xtask-install-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&targets);
        Layout { root: targets.clone(), targets }
    }

    fn install(layout: &Layout, pin: &str, says: &str) -> Result<bool> {
        let mut ran = false;
        once(layout, "thing", pin, |scratch| {
            ran = true;
            std::fs::write(scratch.join("result/file"), says)?;
            anyhow::ensure!(says != "bad", "half-way");
            Ok(())
        })?;
        Ok(ran)
    }

    #[test]
    fn installs_once_and_again_only_for_another_pin() {
        let layout = layout("once");
        assert!(install(&layout, "1", "one").unwrap());
        assert!(!install(&layout, "1", "one").unwrap());
        assert!(install(&layout, "2", "two").unwrap());
        assert_eq!(std::fs::read_to_string(layout.target("thing").join("file")).unwrap(), "two");
        std::fs::remove_dir_all(&layout.targets).unwrap();
    }

    #[test]
    fn a_failure_leaves_nothing_and_the_next_run_redoes_it() {
        let layout = layout("failure");
        assert!(install(&layout, "1", "bad").is_err());
        assert_eq!(std::fs::read_dir(&layout.targets).unwrap().count(), 0);
        assert!(install(&layout, "1", "one").unwrap());
        std::fs::remove_dir_all(&layout.targets).unwrap();
    }

    #[test]
    fn a_scratch_folder_of_a_dead_run_is_removed() {
        let layout = layout("dead");
        // No process has this id: it is above the kernel's limit.
        let dead = layout.targets.join(".partial-thing-99999999");
        std::fs::create_dir_all(&dead).unwrap();
        assert!(install(&layout, "1", "one").unwrap());
        assert!(!dead.exists());
        std::fs::remove_dir_all(&layout.targets).unwrap();
    }
}
