//! Where and when the figures were taken: figures without that are worth nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::layout::Layout;
use crate::run;

/// Facts in the order in which they are told, each with its name.
pub(crate) fn facts(layout: &Layout, strata: &Path) -> Result<Vec<(&'static str, String)>> {
    Ok(vec![
        ("date", said_by(Command::new("date").args(["--utc", "+%Y-%m-%d %H:%M UTC"]))?),
        ("kernel", said_by(Command::new("uname").args(["-sr"]))?),
        ("processors", processors()),
        ("runtime", runtime(layout)),
        ("strata", said_by(Command::new(strata).arg("--version"))?),
        ("perf", said_by(Command::new("perf").arg("--version"))?),
        ("load before the start", load()),
    ])
}

fn said_by(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8_lossy(&run::quietly(command)?.stdout).trim().to_owned())
}

fn processors() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let values = |name| {
        text.lines().filter_map(move |line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    let virtual_machine =
        text.lines().any(|line| line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor"));
    format!(
        "{} x {}{}",
        values("processor").count(),
        values("model name").next().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        if virtual_machine { ", a virtual machine" } else { "" },
    )
}

fn runtime(layout: &Layout) -> String {
    let frameworks = layout.target("net8").join("shared/Microsoft.NETCore.App");
    let versions = fs::read_dir(frameworks).into_iter().flatten().flatten();
    let versions: Vec<String> = versions.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    format!(".NET {}", versions.join(", "))
}

/// The mean number of runnable threads of the last minute.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
