//! `strata report`.

use crate::args::{ReportArguments, View};
use crate::failure::{Failure, to_stdout};
use crate::load;
use std::process::ExitCode;
use strata_profile::Profile;
use strata_report::{Calls, DEFAULT_WIDTH, Document, Losses, Report, Threads, Top, Tree};

pub(crate) fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let view = if arguments.tree { View::Tree } else { arguments.view };
    // What is missing can be shown even when nothing is there.
    let profile = match view {
        View::Loss => load::profile(&arguments.file)?,
        _ => load::profile_with_samples(&arguments.file)?,
    };
    match view {
        View::Top => show(&profile, Top::of(&profile, Some(arguments.limit)), arguments.json),
        View::Tree => {
            let calls = if arguments.merge_threads { Calls::Merged } else { Calls::ByThread };
            show(&profile, Tree::of(&profile, calls, arguments.min_percent), arguments.json)
        }
        View::Threads => show(&profile, Threads::of(&profile), arguments.json),
        View::Loss => show(&profile, Losses::of(&profile), arguments.json),
    }
}

fn show<R: Report>(profile: &Profile, report: R, json: bool) -> Result<ExitCode, Failure> {
    let document = Document::new(profile, report);
    to_stdout(|out| if json { document.write_json(out) } else { out.write_all(document.text(width()).as_bytes()) })
}

/// Columns of the terminal; a fixed number when there is none, so that what is kept looks the same everywhere.
fn width() -> usize {
    match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_col >= 60 => usize::from(size.ws_col),
        _ => DEFAULT_WIDTH,
    }
}
