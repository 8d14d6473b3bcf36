//! `strata convert`.

use crate::args::ConvertArguments;
use crate::convert_nettrace;
use crate::failure::{Failure, to_stdout};
use crate::load;
use crate::output;
use crate::say::{say, typed};
use std::path::Path;
use std::process::ExitCode;
use strata_export::{Compression, Format, write_profile};

pub(crate) fn run(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    let output = &arguments.output;
    if output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("nettrace")) {
        return convert_nettrace::run(arguments);
    }
    if arguments.selects() {
        return Err(Failure::bad_arguments(
            "--from, --to, --thread and --provider choose events of a .nettrace file",
            "the name of what is written (-o) must end in .nettrace",
        ));
    }
    if output == Path::new("-") {
        let profile = load::profile_with_samples(&arguments.file)?;
        return to_stdout(|out| write_profile(&profile, Format::Folded, Compression::None, out));
    }
    let format = output::format(output)?;
    let profile = load::profile_with_samples(&arguments.file)?;
    output::write(&profile, format, output)?;
    say(&format!("wrote {} ({})", typed(output), output::how_to_look(format.0)));
    Ok(ExitCode::SUCCESS)
}
