//! Arguments as they are said.

use crate::durations;
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A sampling profiler for Linux that shows kernel, native and .NET code in one stack.
#[derive(Debug, Parser)]
#[command(
    name = "strata",
    version,
    after_help = "Exit codes: 0 ok, 1 could not start, 2 recording failed or a file could not be written, 3 bad arguments, 4 not possible on this \
                  machine, 5 input unreadable, 6 nothing to show. When a program is launched, its own code passes \
                  through (128 + signal when a signal ended it)."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List .NET processes: which can be attached to, and why the others cannot.
    Ps,
    /// Record a running process, or a program from its start.
    Record(RecordArguments),
    /// Show a recording or a .nettrace trace as text or JSON.
    Report(ReportArguments),
    /// Write a recording or a .nettrace trace in another format, or cut a trace.
    Convert(ConvertArguments),
    /// Tell what a trace of runtime events (.nettrace) holds and what it can be used for.
    Info(InfoArguments),
    /// List the events of a trace (.nettrace), in the order of time.
    Events(EventsArguments),
    /// List the precompiled methods of an image, or the images of a program or of a running process.
    Images(ImagesArguments),
}

/// How to record.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("target").required(true).args(["process_id", "name", "program"]),
    override_usage = "strata record [OPTIONS] -p <PID>\n       strata record [OPTIONS] -n <NAME>\n       \
                      strata record [OPTIONS] -- <PROGRAM> [ARGUMENTS]...",
    after_help = "Examples:\n  strata record -p 4242 -d 30s\n  strata record -n Shop.Web -o before.strata\n  \
                  strata record -o profile.json.gz -- dotnet app.dll --port 5000\n\n\
                  Stop with Ctrl+C (or Enter, when attached at a terminal); once more gives up waiting for the runtime."
)]
pub(crate) struct RecordArguments {
    /// Attach to the process with this id.
    #[arg(short, long, value_name = "PID")]
    pub(crate) process_id: Option<u32>,
    /// Attach to the one process with this name: its program, or the assembly that dotnet runs.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Stop after this long: `30s`, `1m30s`, or dd:hh:mm:ss. A launched program is then ended (SIGTERM).
    #[arg(short, long, value_name = "TIME", value_parser = durations::parse)]
    pub(crate) duration: Option<Duration>,
    /// Samples per second and busy processor.
    #[arg(short = 'F', long, value_name = "HZ", default_value_t = 999, value_parser = clap::value_parser!(u64).range(1..=20_000))]
    pub(crate) frequency: u64,
    /// Where to: a recording folder, or by its ending .json[.gz] (Firefox Profiler), .speedscope.json, .folded.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Bytes of user stack copied with each sample, for code without frame pointers.
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_STACK_BYTES, value_parser = stack_bytes)]
    pub(crate) stack_size: u32,
    /// Program to launch, and its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// What a measurement showed to be enough: more copies cost more and make hardly any stack whole that was not.
const DEFAULT_STACK_BYTES: u32 = 8192;

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "a number from 0 to 100 is wanted".to_owned())
}

fn stack_bytes(text: &str) -> Result<u32, String> {
    /// The kernel's limit: a record, stack included, has a 16-bit size.
    const LIMIT: u32 = 65_528;
    let bytes: u32 = text.parse().map_err(|_| "a number of bytes is wanted".to_owned())?;
    if !bytes.is_multiple_of(8) || bytes > LIMIT || bytes == 0 {
        return Err(format!("a multiple of 8 from 8 to {LIMIT} is wanted"));
    }
    Ok(bytes)
}

fn thread_id(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "the number of a thread (tid) is wanted: strata report FILE threads lists them".to_owned())
}

/// What to read.
#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    /// A .nettrace trace, or for reports and other formats a recording; - for a trace on standard input.
    pub(crate) file: PathBuf,
    /// Folder with the precompiled images of the traced program or of its framework, for names that a .nettrace trace
    /// lacks. Can be given several times; an image is used only if it is the build that was running, and if the trace tells
    /// where it was: by a list of methods (rundown), or by R2RGetEntryPoint events (keyword 0x2000000000).
    #[arg(long, value_name = "DIR")]
    pub(crate) symbols: Vec<PathBuf>,
}

impl InputArguments {
    /// How the file is called in messages.
    pub(crate) fn shown(&self) -> String {
        if self.file == Path::new("-") { "standard input".to_owned() } else { self.file.display().to_string() }
    }

    /// The same without the folders it is in.
    pub(crate) fn file_name(&self) -> String {
        self.file.file_name().map_or_else(|| self.shown(), |name| name.to_string_lossy().into_owned())
    }
}

/// What to show.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  strata report app.strata\n  strata report app.nettrace tree --thread 4242 --from 1.5s --to 2s\n  \
                  strata report app.nettrace --name GCAllocationTick\n\n\
                  With --name or --provider the events of a .nettrace trace are counted, by where they happened: strata info lists them.\n\n\
                  A .nettrace trace has thread time: how long each thread was in its code, at work or waiting; one of a whole \
                  machine (dotnet-trace collect-linux) has CPU time. A trace that is cut is read up to there: one warning says at which byte, and the exit code is 0."
)]
pub(crate) struct ReportArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    #[command(flatten)]
    pub(crate) wanted: SelectionArguments,
    /// Which view of it.
    #[arg(value_enum, default_value_t = View::Top)]
    pub(crate) view: View,
    /// The same as the view `tree`.
    #[arg(long, conflicts_with = "view")]
    pub(crate) tree: bool,
    /// JSON with units in its field names, for programs.
    #[arg(long)]
    pub(crate) json: bool,
    /// Most functions to list in `top`.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) limit: usize,
    /// Least share of the whole, in percent, that a row of `tree` must have.
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub(crate) min_percent: f64,
    /// In `tree`, add all threads together.
    #[arg(long)]
    pub(crate) merge_threads: bool,
    /// Columns that text may take: shortens names and folds straight calls. Default: the terminal's; when the output is no
    /// terminal, nothing is shortened.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(60..))]
    pub(crate) width: Option<u16>,
}

/// A view of a recording or trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum View {
    /// Functions by what they cost.
    Top,
    /// Who called what.
    Tree,
    /// Threads by what they cost.
    Threads,
    /// What is missing.
    Loss,
}

/// What to write.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  strata convert app.strata -o app.json.gz\n  strata convert big.nettrace -o cut.nettrace --from 1.5s --to 2s\n  \
                  strata convert big.nettrace -o samples.nettrace --thread 4242 --provider Microsoft-DotNETCore-SampleProfiler\n  \
                  strata convert big.nettrace -o allocations.folded --name GCAllocationTick\n\n\
                  With --name or --provider, formats other than .nettrace count events instead of time.\n\n\
                  A .nettrace file that is written has its events in the order of time. It always keeps those that name \
                  methods, modules and the process, whatever is asked for (all of the rundown among them), so that frames of \
                  the others still have names; how many these are is said at the end. What the runtime lost stays visible as \
                  lost, what was left out does not look like it.\n\n\
                  The exit code is 0 when a usable file was written, even if what was read is cut or damaged in places: \
                  warnings say where. It is 5 when nothing can be read, and 6 when no event is what was asked for; then the \
                  file that was there stays."
)]
pub(crate) struct ConvertArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    /// Where to, its format by its ending: .json[.gz] (Firefox Profiler), .speedscope.json[.gz], .folded; - for folded stacks
    /// on standard output; .nettrace, from a .nettrace file.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) wanted: SelectionArguments,
}

/// Which events or samples are wanted; all of these hold for each of them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Only a part of it")]
pub(crate) struct SelectionArguments {
    /// Only what was from this long after the start on: `1.5s`, `200ms`, `1m30s`, `90` (seconds).
    #[arg(long, value_name = "TIME", value_parser = durations::parse_moment)]
    pub(crate) from: Option<Duration>,
    /// Only what was before this long after the start.
    #[arg(long, value_name = "TIME", value_parser = durations::parse_moment)]
    pub(crate) to: Option<Duration>,
    /// Only the thread with this OS thread id; more than one may be given.
    #[arg(long = "thread", value_name = "TID", value_parser = thread_id)]
    pub(crate) threads: Vec<u64>,
    /// Only events of the trace's provider with this name, whole but in any case; more than one may be given.
    #[arg(long = "provider", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) providers: Vec<String>,
    /// Only events of the trace with this name, whole but in any case; more than one may be given.
    #[arg(long = "name", value_name = "EVENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) names: Vec<String>,
}

impl SelectionArguments {
    /// Whether some kinds of events are asked for.
    pub(crate) fn asks_for_events(&self) -> bool {
        !self.names.is_empty() || !self.providers.is_empty()
    }

    /// Which kinds of events are asked for.
    pub(crate) fn events_in_words(&self) -> String {
        let (names, providers) = (self.names.join(", "), self.providers.join(", "));
        match (names.is_empty(), providers.is_empty()) {
            (_, true) => names,
            (true, false) => format!("all of {providers}"),
            (false, false) => format!("{names} of {providers}"),
        }
    }
}

/// Which trace to tell of.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  strata info app.nettrace\n  strata info app.nettrace --json\n\n\
                  Text at a terminal has the most frequent kinds of events of each provider; --all, or a pipe, gets all.\n\
                  A trace that is cut or damaged is told of as far as it can be read, with a warning and exit code 0.")]
pub(crate) struct InfoArguments {
    /// The trace; - for standard input.
    pub(crate) file: PathBuf,
    /// All kinds of events and all threads. Text at a terminal, or of a given width, sums the rest of long tables up.
    #[arg(long)]
    pub(crate) all: bool,
    /// Columns that text may take: shortens names and breaks lines. Default: the terminal's; when the output is no terminal,
    /// nothing is shortened, broken or summed up.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(60..))]
    pub(crate) width: Option<u16>,
    /// JSON with units in its field names, for programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which events to list.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  strata events app.nettrace --name GCStart --name GCEnd\n  \
                  strata events app.nettrace --provider System.Runtime --json\n  \
                  strata events app.nettrace --thread 4242 --from 1.5s --to 2s --stacks\n\n\
                  Each line has the time since the start of the trace, the thread (of a whole machine process:thread), the event and \
                  its fields. strata info lists the providers, events and threads of a trace.\n\
                  A trace that is cut or damaged is listed as far as it can be read, with a warning and exit code 0.")]
pub(crate) struct EventsArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,
    #[command(flatten)]
    pub(crate) wanted: SelectionArguments,
    /// At most so many events.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// The stack of each event as well, innermost first: with names, unless the trace comes from a pipe. CSV has addresses.
    #[arg(long)]
    pub(crate) stacks: bool,
    /// JSON, one object a line, with units in its field names.
    #[arg(long)]
    pub(crate) json: bool,
    /// Comma-separated values, the fields of each event as a JSON object.
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Columns that text may take: events go on below, indented. Default: the terminal's; when the output is no terminal, each
    /// event is one line.
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(60..))]
    pub(crate) width: Option<u16>,
}

/// What to list.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  strata images System.Private.CoreLib.dll\n  strata images 4242 --image Shop.Core\n  \
                  strata images 4242 --perfmap -o /tmp/perf-4242.map\n\n\
                  Addresses, sizes and tokens in text and maps are hexadecimal, in JSON decimal. SIZE is in memory; COLD is \
                  where the rarely run part of a method lies, if it was put apart. perf itself looks into such a map only for \
                  memory without a file: for code of the JIT when the program runs with DOTNET_EnableWriteXorExecute=0."
)]
pub(crate) struct ImagesArguments {
    /// An assembly, a single-file program, or the pid of a running process.
    #[arg(value_name = "FILE|PID")]
    pub(crate) target: OsString,
    /// Of several images only this one, by its file name: then its methods are listed.
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<String>,
    /// JSON with units in its field names, for programs.
    #[arg(long)]
    pub(crate) json: bool,
    /// A map for other tools: of a file as crossgen writes it (.r2rmap), of a process as perf reads it (perf-PID.map), with
    /// the methods that were compiled while it ran.
    #[arg(long, conflicts_with = "json")]
    pub(crate) perfmap: bool,
    /// Where to; standard output unless it is given.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn what_is_said_is_checked() {
        let check = |words: &[&str], good| {
            let said = Arguments::try_parse_from(std::iter::once(&"strata").chain(words));
            assert_eq!(said.is_ok(), good, "{words:?}: {said:?}");
        };
        check(&["record", "-p", "7", "-d", "1m30s"], true);
        check(&["record", "--process-id", "7", "--duration", "00:00:00:30", "--output", "x"], true);
        check(&["record", "--", "dotnet", "app.dll", "-p", "7"], true);
        check(&["record", "-n", "Shop", "-F", "99"], true);
        check(&["record"], false);
        check(&["record", "-p", "7", "--", "x"], false);
        check(&["record", "-p", "x"], false);
        check(&["record", "-p", "7", "-F", "0"], false);
        check(&["record", "-p", "7", "--stack-size", "100"], false);
        check(&["report", "a.strata", "tree", "--json"], true);
        check(&["report", "a.strata", "--tree"], true);
        check(&["report", "a.strata", "nothing"], false);
        check(&["convert", "a.strata", "-o", "b.json"], true);
        check(&["convert", "a.nettrace", "-o", "b.nettrace", "--from", "0", "--to", "1.5s", "--provider", "P"], true);
        check(&["convert", "-", "-o", "b.nettrace", "--thread", "7", "--thread", "8"], true);
        check(&["convert", "a.nettrace", "-o", "b.nettrace", "--to", "0"], true);
        check(&["report", "a.nettrace", "--name", ""], false);
        check(&["events", "a.nettrace", "--provider="], false);
        check(&["convert", "a.nettrace", "-o", "b.nettrace", "--thread", "main"], false);
        check(&["convert", "a.nettrace", "--symbols", "x", "--symbols", "y", "-o", "b.json"], true);
        check(&["report", "-", "threads"], true);
    }
}
