//! `strata report`.

use crate::args::{ReportArguments, View};
use crate::failure::{Failure, to_stdout};
use crate::load;
use crate::width::width;
use std::process::ExitCode;
use strata_profile::Profile;
use strata_report::{Calls, Document, Losses, Report, Threads, Top, Tree};

pub(crate) fn run(arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let view = if arguments.tree { View::Tree } else { arguments.view };
    // What is missing can be shown even when nothing is there.
    let profile = match view {
        View::Loss => load::profile(&arguments.input, &arguments.wanted)?,
        _ => load::profile_with_samples(&arguments.input, &arguments.wanted)?,
    };
    match view {
        View::Top => show(&profile, Top::of(&profile, Some(arguments.limit)), arguments),
        View::Tree => {
            let calls = if arguments.merge_threads { Calls::Merged } else { Calls::ByThread };
            show(&profile, Tree::of(&profile, calls, arguments.min_percent), arguments)
        }
        View::Threads => show(&profile, Threads::of(&profile), arguments),
        View::Loss => show(&profile, Losses::of(&profile), arguments),
    }
}

fn show<R: Report>(profile: &Profile, report: R, arguments: &ReportArguments) -> Result<ExitCode, Failure> {
    let document = Document::new(profile, report);
    if arguments.json {
        return to_stdout(|out| document.write_json(out));
    }
    let text = document.text(width(arguments.width));
    to_stdout(|out| out.write_all(text.as_bytes()))
}
