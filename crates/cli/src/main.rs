//! The `strata` command: arguments said, arguments meant, run.

#![forbid(unsafe_code)]

mod args;
mod convert;
mod durations;
mod events;
mod failure;
mod images;
mod info;
mod load;
mod output;
mod ps;
mod record;
mod report;
mod say;
mod signals;
mod status;
mod trace;

use args::{Arguments, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let asked_for = !error.use_stderr();
            // Nothing can be said when even this cannot be written.
            let _ = error.print();
            return if asked_for { ExitCode::SUCCESS } else { failure::BAD_ARGUMENTS.into() };
        }
    };
    match run(arguments.command) {
        Ok(code) => code,
        Err(failure) => failure.show(),
    }
}

fn run(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Ps => ps::run(),
        Command::Record(arguments) => record::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Convert(arguments) => convert::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Events(arguments) => events::run(&arguments),
        Command::Images(arguments) => images::run(&arguments),
    }
}
