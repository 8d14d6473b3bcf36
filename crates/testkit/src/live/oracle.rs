//! What TraceEvent, the .NET team's own reader, finds in a .nettrace file.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use strata_address::Avma;

use super::{Missing, Running, Runtime, StartFailure, Until, WaitFailure};

/// TraceEvent needs seconds for the largest files that tests have.
const LIMIT: Duration = Duration::from_secs(120);

/// All that the oracle says about one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// How many events of each kind, sorted by provider and id.
    pub events: Vec<EventCount>,
    /// Every method of a verbose load event or of a rundown, in the file's order.
    pub methods: Vec<Method>,
    /// Every map from native code to IL, in the file's order.
    pub maps: Vec<IlMap>,
    /// How many events the file says were lost.
    pub lost: u64,
    /// Why TraceEvent gave up before the end, in its words; the rest is what it had read until then.
    pub error: Option<String>,
}

/// One kind of event and how often it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// The provider's name.
    pub provider: String,
    /// The event's name as TraceEvent has it, like `GC/Start`; `EventID(n)` for those it does not know.
    pub name: String,
    /// The event's id.
    pub id: u32,
    /// How many.
    pub count: u64,
}

/// One method that the runtime named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// Where its code began.
    pub start: Avma,
    /// The code's size, in bytes.
    pub size: u64,
    /// Namespace and type.
    pub namespace: String,
    /// The name within the type.
    pub name: String,
    /// Return and parameter types as the runtime prints them.
    pub signature: String,
}

/// Which native code of a method's body comes from which IL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IlMap {
    /// The runtime's id of the method.
    pub method_id: u64,
    /// Which version of the method's code it is.
    pub code_version: u64,
    /// Offsets into native code and into IL, as the event has them.
    pub entries: Vec<(u32, u32)>,
}

/// Why the oracle has no answer.
#[derive(Debug)]
pub enum OracleFailure {
    /// It is not installed.
    Missing(Missing),
    /// Its process could not be started.
    Start(StartFailure),
    /// Its process did not end in time.
    Wait(WaitFailure),
    /// It ended with an error.
    Failed {
        /// What it wrote to standard error.
        stderr: Vec<String>,
    },
    /// It printed a line that is none of its kinds.
    Line(String),
}

impl Reading {
    /// How many events of this provider and id there are.
    pub fn count(&self, provider: &str, id: u32) -> u64 {
        self.events.iter().filter(|event| event.provider == provider && event.id == id).map(|event| event.count).sum()
    }

    /// How many events there are.
    pub fn total(&self) -> u64 {
        self.events.iter().map(|event| event.count).sum()
    }
}

/// Has TraceEvent read `file`, on .NET 8.
///
/// # Errors
/// [`OracleFailure`]. A file that TraceEvent cannot read to its end is no error: see [`Reading::error`].
pub fn oracle(file: &Path) -> Result<Reading, OracleFailure> {
    let command = Runtime::Net8.command("Oracle", [file]).map_err(OracleFailure::Missing)?;
    let running = Running::start(command, Until::Started, LIMIT).map_err(OracleFailure::Start)?;
    let finished = running.wait(LIMIT).map_err(OracleFailure::Wait)?;
    if !finished.status.success() {
        return Err(OracleFailure::Failed { stderr: finished.stderr });
    }
    let mut reading = Reading::default();
    for line in finished.stdout {
        reading.add(&line).ok_or(OracleFailure::Line(line))?;
    }
    Ok(reading)
}

impl Reading {
    fn add(&mut self, line: &str) -> Option<()> {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["lost", count] => self.lost = count.parse().ok()?,
            ["error", message] => self.error = Some(message.to_owned()),
            ["method", start, size, namespace, name, signature] => self.methods.push(Method {
                start: Avma(u64::from_str_radix(start, 16).ok()?),
                size: size.parse().ok()?,
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                signature: signature.to_owned(),
            }),
            ["map", method_id, code_version, entries] => self.maps.push(IlMap {
                method_id: u64::from_str_radix(method_id, 16).ok()?,
                code_version: code_version.parse().ok()?,
                entries: entries.split(' ').filter(|entry| !entry.is_empty()).map(entry).collect::<Option<_>>()?,
            }),
            [provider, name, count, id] => self.events.push(EventCount {
                provider: provider.to_owned(),
                name: name.to_owned(),
                id: id.parse().ok()?,
                count: count.parse().ok()?,
            }),
            _ => return None,
        }
        Some(())
    }
}

fn entry(text: &str) -> Option<(u32, u32)> {
    let (native, il) = text.split_once(':')?;
    Some((u32::from_str_radix(native, 16).ok()?, u32::from_str_radix(il, 16).ok()?))
}

impl fmt::Display for OracleFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OracleFailure::Missing(missing) => missing.fmt(f),
            OracleFailure::Start(failure) => failure.fmt(f),
            OracleFailure::Wait(failure) => failure.fmt(f),
            OracleFailure::Failed { stderr } => write!(f, "the oracle failed; it said:\n{}", stderr.join("\n")),
            OracleFailure::Line(line) => write!(f, "the oracle printed a line of no known kind: {line}"),
        }
    }
}

impl std::error::Error for OracleFailure {}
