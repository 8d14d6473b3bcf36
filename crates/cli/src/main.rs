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
mod width;

use args::{Arguments, Command};
use clap::Parser;
use failure::{Failure, to_stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            // Nothing can be said when even this cannot be written.
            let _ = error.print();
            return failure::BAD_ARGUMENTS.into();
        }
        Err(help) => return shown(to_stdout(|_| help.print())),
    };
    shown(run(arguments.command))
}

fn shown(done: Result<ExitCode, Failure>) -> ExitCode {
    done.unwrap_or_else(|failure| failure.show())
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
