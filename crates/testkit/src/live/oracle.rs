//! What TraceEvent, the .NET team's own reader, finds in a .nettrace file.

use std::collections::BTreeMap;
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

/// All events of one kind, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summed {
    /// How many events.
    pub events: u64,
    /// How many of them have a stack.
    pub stacks: u64,
    /// How many frames these stacks have.
    pub frames: u64,
    /// The hashes of all events, added up wrapping around: see [`Summed::add`].
    pub sum: u64,
}

impl Summed {
    /// Adds an event. Its hash is FNV-1a over its thread as eight bytes, its payload, and the addresses of its stack from the
    /// leaf on as eight bytes each; all least significant byte first.
    pub fn add(&mut self, thread: u64, payload: &[u8], stack: Option<&[u64]>) {
        let hash = |hash: u64, bytes: &[u8]| {
            bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
        };
        let mut value = hash(hash(0xcbf2_9ce4_8422_2325, &thread.to_le_bytes()), payload);
        for address in stack.unwrap_or_default() {
            value = hash(value, &address.to_le_bytes());
        }
        self.events += 1;
        self.stacks += u64::from(stack.is_some());
        self.frames += stack.map_or(0, |stack| stack.len() as u64);
        self.sum = self.sum.wrapping_add(value);
    }
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
    let mut reading = Reading::default();
    for line in asked("Oracle", &[file])? {
        reading.add(&line).ok_or(OracleFailure::Line(line))?;
    }
    Ok(reading)
}

/// Has TraceEvent convert `file` to a TraceLog in the folder `scratch`, on .NET 8, and sums up the events of each kind: by
/// provider and id.
///
/// # Errors
/// [`OracleFailure`], also when TraceEvent cannot read the file to its end.
pub fn trace_log(file: &Path, scratch: &Path) -> Result<BTreeMap<(String, u32), Summed>, OracleFailure> {
    let mut kinds = BTreeMap::new();
    for line in asked("Stacks", &[file, &scratch.join("converted.etlx")])? {
        let fields: Vec<&str> = line.split('\t').collect();
        let kind = match fields[..] {
            ["took", _] => continue,
            [provider, id, events, stacks, frames, sum] => summed(provider, [id, events, stacks, frames], sum),
            _ => None,
        };
        let (kind, summed) = kind.ok_or(OracleFailure::Line(line))?;
        kinds.insert(kind, summed);
    }
    Ok(kinds)
}

fn summed(provider: &str, counts: [&str; 4], sum: &str) -> Option<((String, u32), Summed)> {
    let [id, events, stacks, frames] = counts;
    let summed = Summed {
        events: events.parse().ok()?,
        stacks: stacks.parse().ok()?,
        frames: frames.parse().ok()?,
        sum: u64::from_str_radix(sum, 16).ok()?,
    };
    Some(((provider.to_owned(), id.parse().ok()?), summed))
}

/// What one of the programs around TraceEvent prints.
fn asked(program: &str, arguments: &[&Path]) -> Result<Vec<String>, OracleFailure> {
    let command = Runtime::Net8.command(program, arguments).map_err(OracleFailure::Missing)?;
    let running = Running::start(command, Until::Started, LIMIT).map_err(OracleFailure::Start)?;
    let finished = running.wait(LIMIT).map_err(OracleFailure::Wait)?;
    match finished.status.success() {
        true => Ok(finished.stdout),
        false => Err(OracleFailure::Failed { stderr: finished.stderr }),
    }
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
