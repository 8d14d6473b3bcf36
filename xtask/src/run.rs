//! Running other programs so that a failure says which command it was, how it ended and what it last said.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// How many of the last lines of a failed command's standard error are repeated.
const LAST_LINES: usize = 30;

/// Runs to the end with its output kept; fails on any exit code but 0.
pub(crate) fn quietly(command: &mut Command) -> Result<Output> {
    let shown = show(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("failed to start `{shown}`"))?;
    if output.status.success() {
        return Ok(output);
    }
    let mut said = last_lines(&output.stderr);
    if said.is_empty() {
        said = last_lines(&output.stdout);
    }
    bail!("`{shown}` ended with {}; it last said:\n{said}", output.status)
}

/// Runs to the end with output passed through; fails on any exit code but 0.
pub(crate) fn loudly(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("failed to start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}")
    }
    Ok(())
}

/// True if the command can be started and exits with 0.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Where the program is found on PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The command as a person would type it, without its environment.
pub(crate) fn show(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(LAST_LINES);
    lines.iter().skip(from).map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_command_code_and_words() {
        let error = quietly(Command::new("sh").args(["-c", "echo one; echo two >&2; exit 7"])).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("sh -c"), "{text}");
        assert!(text.contains('7'), "{text}");
        assert!(text.contains("two"), "{text}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = quietly(&mut Command::new("no-such-program-at-all")).unwrap_err();
        assert!(format!("{error:#}").contains("no-such-program-at-all"));
    }
}
