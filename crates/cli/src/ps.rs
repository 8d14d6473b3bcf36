//! `strata ps`.

use crate::failure::{Failure, to_stdout};
use std::collections::HashMap;
use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;
use strata_diagnostics::{Error, Seen, processes};
use strata_digest::visible;

/// A runtime that does not answer must not hold up the list.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

struct Row {
    pid: String,
    runtime: String,
    user: String,
    what: String,
}

pub(crate) fn run() -> Result<ExitCode, Failure> {
    let seen = processes();
    if seen.is_empty() {
        return Err(Failure::nothing_to_show(
            "no .NET process was found",
            "processes of other users are seen only as root; strata record -p PID works for any program",
        ));
    }
    let users = user_names();
    // Each is asked on a thread of its own: one that hangs costs its own time-out only.
    let rows: Vec<Row> = thread::scope(|scope| {
        let asked: Vec<_> = seen.iter().map(|process| scope.spawn(|| row(process, &users))).collect();
        asked.into_iter().filter_map(|row| row.join().ok()).collect()
    });
    to_stdout(|out| {
        let width = |of: fn(&Row) -> &str, title: &str| {
            rows.iter().map(|row| of(row).chars().count()).chain([title.len()]).max().unwrap_or(0)
        };
        let pid = width(|row| &row.pid, "PID");
        let runtime = width(|row| &row.runtime, "RUNTIME");
        let user = width(|row| &row.user, "USER");
        writeln!(out, "{:>pid$}  {:runtime$}  {:user$}  COMMAND", "PID", "RUNTIME", "USER")?;
        for row in &rows {
            writeln!(out, "{:>pid$}  {:runtime$}  {:user$}  {}", row.pid, row.runtime, row.user, row.what)?;
        }
        Ok(())
    })
}

fn row(process: &Seen, users: &HashMap<u32, String>) -> Row {
    let (runtime, problem) = match &process.attachable {
        Ok(endpoint) => match endpoint.process_info(ANSWER_TIMEOUT) {
            Ok(info) => (info.runtime_version.unwrap_or_else(|| "?".to_owned()), None),
            Err(Error::NoProcessQuery) => ("3.x".to_owned(), None),
            Err(error) => ("?".to_owned(), Some(no_answer(process.pid, &error))),
        },
        Err(reason) => ("-".to_owned(), Some(reason.to_string())),
    };
    let words: Vec<_> = process.command_line.iter().map(|word| word.to_string_lossy()).collect();
    let command = words.join(" ");
    let what = match problem {
        Some(problem) => format!("{command} [not attachable: {problem}]"),
        None => command,
    };
    Row {
        pid: process.pid.to_string(),
        runtime: visible(&runtime).into_owned(),
        user: users.get(&process.uid).cloned().unwrap_or_else(|| process.uid.to_string()),
        what: visible(&what).into_owned(),
    }
}

/// Why a runtime did not say what it is.
fn no_answer(pid: u32, error: &Error) -> String {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    let state = stat.iter().rposition(|byte| *byte == b')').and_then(|end| stat.get(end + 2));
    if matches!(error, Error::TimedOut { .. }) && matches!(state, Some(b'T' | b't')) {
        return format!("it is stopped (kill -CONT {pid} lets it go on)");
    }
    error.to_string()
}

/// User names by id, as far as this machine's own list has them.
fn user_names() -> HashMap<u32, String> {
    let list = fs::read_to_string("/etc/passwd").unwrap_or_default();
    list.lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            Some((fields.nth(1)?.parse().ok()?, visible(name).into_owned()))
        })
        .collect()
}
