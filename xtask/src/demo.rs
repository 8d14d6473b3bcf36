//! `cargo xtask demo`: a .NET program at work, recorded from outside for five seconds, and what came of it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::layout::Layout;
use crate::{run, targets, workloads};

const RECORDING: &str = "demo.strata";
const FIREFOX: &str = "demo.json.gz";

pub(crate) fn run(layout: &Layout) -> Result<()> {
    let strata = build_strata(layout)?;
    targets::ensure_named(layout, "net8")?;
    workloads::ensure(layout, "Varied")?;

    let folder = layout.target("demo");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("failed to remove the last demonstration")?;
    }
    std::fs::create_dir_all(&folder)?;
    let mut shop = Shop::open(layout)?;
    let pid = shop.0.id().to_string();
    eprintln!("demo: a .NET 8 program is at work as process {pid}; nothing about it was prepared for profiling");
    let told = |arguments: &[&str]| {
        let mut command = Command::new(&strata);
        command.current_dir(&folder).args(arguments);
        eprintln!("\n$ {}", run::show(&command));
        run::loudly(&mut command)
    };
    told(&["record", "-p", &pid, "-d", "5s", "-o", RECORDING])?;
    shop.close()?;
    told(&["report", RECORDING])?;
    told(&["convert", RECORDING, "-o", FIREFOX])?;

    let (strata, folder) = (strata.display(), folder.display());
    println!(
        "
The recording is {folder}/{RECORDING}. To look at it:
  {strata} report {folder}/{RECORDING} tree     the call tree, in the terminal
  {strata} report {folder}/{RECORDING} loss     what was not seen
  https://profiler.firefox.com                  load {folder}/{FIREFOX} there; it is not sent anywhere"
    );
    Ok(())
}

/// Builds strata as users run it, and says where the program is.
pub(crate) fn build_strata(layout: &Layout) -> Result<PathBuf> {
    eprintln!("building strata");
    let build = ["build", "--release", "--quiet", "-p", "strata-cli"];
    run::loudly(Command::new("cargo").current_dir(&layout.root).args(build))?;
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| layout.root.join("target"), |folder| layout.root.join(folder));
    let program = target.join("release/strata");
    if !program.is_file() {
        bail!("the build left no {}", program.display());
    }
    Ok(program)
}

/// The workload, ended by its process id however the demonstration ends.
struct Shop(Child);

impl Shop {
    fn open(layout: &Layout) -> Result<Shop> {
        let mut command = Command::new(layout.target("net8").join("dotnet"));
        command
            .arg(layout.target("workloads").join("Varied").join("Varied.dll"))
            .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let shown = run::show(&command);
        let mut shop = Shop(command.spawn().with_context(|| format!("failed to start `{shown}`"))?);
        let stdout = shop.0.stdout.take().context("standard output of the workload")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if !line.starts_with("ready") {
            bail!("`{shown}` did not get ready; it ended with {}", shop.0.wait()?);
        }
        Ok(shop)
    }

    /// Ends the workload, which must still be running: a profiler that ends its target is no good.
    fn close(&mut self) -> Result<()> {
        if let Some(status) = self.0.try_wait()? {
            bail!("the program ended with {status} while it was recorded");
        }
        Ok(())
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
