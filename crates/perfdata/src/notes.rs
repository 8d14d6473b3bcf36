//! What can be wrong with a file: with all of it, with a part that the rest does without, with one record.

use crate::record::RecordError;

/// Why a file cannot be read at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FileError {
    /// It does not begin as perf.data does.
    #[error("not a perf.data file: it does not begin with PERFILE2")]
    NotPerfData,
    /// The format of before 2010.
    #[error("a perf.data file of the first version (PERFFILE), which is not read")]
    OldVersion,
    /// Recorded on a big-endian machine.
    #[error("a perf.data file of a big-endian machine, which is not read")]
    BigEndian,
    /// Written by `perf record -o -`.
    #[error("a perf.data stream in pipe mode (perf record -o -), which is not read yet")]
    PipeMode,
    /// Written by `perf record -z`.
    #[error("a compressed perf.data file (perf record -z), which is not read yet")]
    Compressed,
    /// A part lies outside the file.
    #[error("{part} at byte {offset} needs {size} bytes, the file has {file_size} in all")]
    Outside {
        /// Which part.
        part: &'static str,
        /// Where it would begin.
        offset: u64,
        /// Bytes it needs.
        size: u64,
        /// Bytes of the file.
        file_size: u64,
    },
    /// The size of an event's description is none.
    #[error("events are described in {size} bytes each: at least {} are needed", crate::attr::ATTR_SIZE_MIN + 16)]
    AttrSize {
        /// The size stated.
        size: u64,
    },
    /// Not one event is described.
    #[error("the file describes no event")]
    NoEvents,
    /// More ids than bytes: id tables lie over one another.
    #[error("id table of event {event} at byte {offset} lies over others")]
    OverlappingIds {
        /// Which event, counted from 0.
        event: usize,
        /// Where its table begins.
        offset: u64,
    },
    /// Events have differently laid out records and no id at one place tells them apart.
    #[error("records of event {event} cannot be told from those of the first: their ids lie at different places")]
    EventsNotTold {
        /// Which event, counted from 0.
        event: usize,
    },
}

/// What is missing from a file that was read all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Note {
    /// The size of the records was never filled in: what recorded was killed. They are read to the end of the file.
    #[error("the recording was not finished (size 0): {present} bytes of records are read")]
    Unfinished {
        /// Bytes from the records' begin to the end of the file.
        present: u64,
    },
    /// The file ends before its records do.
    #[error("the file is cut: {present} of {stated} bytes of records are there")]
    Cut {
        /// Bytes of records that the header states.
        stated: u64,
        /// Bytes that are there.
        present: u64,
    },
    /// An event has no ids though the file has several events: its records are taken for the first event's.
    #[error("event {event} has no ids: its records are taken for those of the first event")]
    EventWithoutIds {
        /// Which event, counted from 0.
        event: usize,
    },
    /// A feature section could not be read, or not whole.
    #[error("feature {feature}: {error} (counted from the file's begin)")]
    Feature {
        /// Its bit in the header's flags.
        feature: u32,
        /// What is wrong; its offset counts from the file's begin.
        error: RecordError,
    },
}

/// What is wrong with one record of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("record at byte {offset}: {kind}")]
pub struct Problem {
    /// Where the record begins, bytes from the file's begin.
    pub offset: u64,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProblemKind {
    /// Its bytes make no record. Reading goes on after it when its size can be believed.
    #[error(transparent)]
    Record(RecordError),
    /// It is compressed. Reading stops, because others may be inside.
    #[error("it is compressed, which is not read yet")]
    Compressed,
    /// It carries an id that no event of the file has. Reading goes on.
    #[error("it is of event id {id}, which the file does not describe")]
    UnknownEvent {
        /// The id.
        id: u64,
    },
}
