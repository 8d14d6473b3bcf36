//! `strata convert`.

mod nettrace;

use crate::args::ConvertArguments;
use crate::failure::{Failure, to_stdout};
use crate::load;
use crate::output;
use crate::say::{say, typed};
use std::path::Path;
use std::process::ExitCode;
use strata_export::{Compression, Format, write_profile};
use strata_profile::{Profile, Quantity};

pub(crate) fn run(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    let output = &arguments.output;
    if output::is_same_file(&arguments.input.file, output) {
        return Err(Failure::bad_arguments(
            format_args!("{} is both what is read and what is written", output.display()),
            "-o wants the name of another file",
        ));
    }
    if output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("nettrace")) {
        if !arguments.input.symbols.is_empty() {
            return Err(Failure::bad_arguments(
                "--symbols names frames, and a .nettrace file has addresses only",
                "strata report and the other formats take it",
            ));
        }
        return nettrace::run(arguments);
    }
    if output == Path::new("-") {
        let profile = load::profile_with_samples(&arguments.input, &arguments.wanted)?;
        has_weight(&profile, Format::Folded, arguments)?;
        return to_stdout(|out| write_profile(&profile, Format::Folded, Compression::None, out));
    }
    let format = output::format(output)?;
    let profile = load::profile_with_samples(&arguments.input, &arguments.wanted)?;
    has_weight(&profile, format.0, arguments)?;
    output::write(&profile, format, output)?;
    say(&format!("wrote {} ({})", typed(output), output::how_to_look(format.0)));
    Ok(ExitCode::SUCCESS)
}

/// Folded stacks of thread time are nothing but time, and the first sample of a thread stands for none.
fn has_weight(profile: &Profile, format: Format, arguments: &ConvertArguments) -> Result<(), Failure> {
    let is_time = profile.recording.measure.quantity() == Quantity::ThreadTime;
    if format != Format::Folded || !is_time || profile.samples.iter().any(|sample| sample.weight > 0) {
        return Ok(());
    }
    Err(Failure::nothing_to_show(
        format_args!("no time lies before any of the samples of {} that are asked for", arguments.input.shown()),
        "the first sample of a thread has none; strata report shows the samples there are",
    ))
}
