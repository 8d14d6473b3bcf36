//! Packages out of the registries, each by its ordinary client, unpacked into a folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::apt::{self, SystemNeed};
use crate::run;

/// One pinned package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Package {
    /// A wheel from PyPI.
    PyPi(&'static str, &'static str),
    /// A wheel from PyPI for another platform than this machine's, by its platform tag.
    Wheel(&'static str, &'static str, &'static str),
    /// A tarball from the npm registry.
    Npm(&'static str, &'static str),
}

impl Package {
    pub(crate) fn needs(self) -> &'static [SystemNeed] {
        match self {
            Package::PyPi(..) | Package::Wheel(..) => &[apt::PYTHON_PIP],
            Package::Npm(..) => &[apt::NPM, apt::TAR],
        }
    }

    /// Downloads the package and unpacks it into `scratch/unpacked`; gives the folder that holds its files.
    pub(crate) fn unpack(self, scratch: &Path) -> Result<PathBuf> {
        let download = scratch.join("download");
        let unpacked = scratch.join("unpacked");
        std::fs::create_dir_all(&download)?;
        std::fs::create_dir_all(&unpacked)?;
        match self {
            Package::PyPi(name, version) | Package::Wheel(name, version, _) => {
                let python = apt::python_with("pip").context("no Python interpreter has the module `pip`")?;
                let mut pip = Command::new(python);
                pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest"]);
                pip.arg(&download);
                if let Package::Wheel(_, _, platform) = self {
                    pip.args(["--platform", platform]);
                }
                run::quietly(pip.arg(format!("{name}=={version}")))?;
                // A wheel is a zip file; Python is here already, an unzip program may not be.
                run::quietly(
                    Command::new(python).args(["-m", "zipfile", "-e"]).arg(only_file(&download)?).arg(&unpacked),
                )?;
                remove_all(&download)?;
                Ok(unpacked)
            }
            Package::Npm(name, version) => {
                run::quietly(
                    Command::new("npm")
                        .args(["pack", "--silent", "--pack-destination"])
                        .arg(&download)
                        .arg(format!("{name}@{version}")),
                )?;
                run::quietly(Command::new("tar").arg("-xzf").arg(only_file(&download)?).arg("-C").arg(&unpacked))?;
                remove_all(&download)?;
                Ok(unpacked.join("package"))
            }
        }
    }
}

impl std::fmt::Display for Package {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Package::PyPi(name, version) => write!(f, "PyPI {name} {version}"),
            Package::Wheel(name, version, platform) => write!(f, "PyPI {name} {version} for {platform}"),
            Package::Npm(name, version) => write!(f, "npm {name} {version}"),
        }
    }
}

fn only_file(folder: &Path) -> Result<PathBuf> {
    let files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    match <[PathBuf; 1]>::try_from(files) {
        Ok([file]) => Ok(file),
        Err(files) => bail!("expected one downloaded file in {}, found {}", folder.display(), files.len()),
    }
}

fn remove_all(folder: &Path) -> Result<()> {
    std::fs::remove_dir_all(folder).with_context(|| format!("failed to remove {}", folder.display()))
}
