//! Record -> bytes, as the kernel would have written it for the same event.

use crate::build_id::BuildId;
use crate::record::{
    HEADER_SIZE, Lifetime, Misc, Mmap, MmapIdentity, Record, RecordData, RecordFormat, RegsAbi, Sample, SampleId,
    TaskId, Throttle, UserStack, Words, kind, sample_type,
};

/// Why a record has no bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// Longer than a record's size field can tell.
    #[error("record of {size} bytes: at most {} fit its size field", MAX_SIZE)]
    TooLong {
        /// Bytes it would take.
        size: usize,
    },
    /// The event's samples have fields that [`Sample`] does not carry.
    #[error("samples with fields {bits:#x} of sample_type cannot be written")]
    FieldsNotCarried {
        /// Those fields, as bits of `sample_type`.
        bits: u64,
    },
    /// Registers that are not those of the event's mask.
    #[error("registers {given:#x} ({values} values) where the event has {expected:#x}")]
    RegsMask {
        /// Mask of the registers.
        given: u64,
        /// How many values came with it.
        values: usize,
        /// Mask of the event.
        expected: u64,
    },
    /// A build id in a record of an event that did not ask for them; only one of twenty bytes would be read back.
    #[error("a build id of {length} bytes for an event that did not ask for build ids")]
    BuildIdNotAsked {
        /// Its bytes.
        length: usize,
    },
    /// Stack bytes or an undecoded body that would leave the record unaligned.
    #[error("{field} of {size} bytes: records are made of groups of eight")]
    Unaligned {
        /// What is unaligned.
        field: &'static str,
        /// Its bytes.
        size: usize,
    },
}

/// Most bytes of a record: the size field's largest multiple of eight.
pub const MAX_SIZE: usize = 65_528;

/// Appends the bytes of `record`, a record of an event of that format, to `out`.
///
/// What the format asks for and the record lacks is written as zero; what the format has no place for is left out. On
/// an error `out` is as it was. Raw bytes get the padding (counted in their size) that keeps the record's size a multiple
/// of eight, so they are read back with up to seven zero bytes more.
pub fn encode(record: &Record<'_>, format: &RecordFormat, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    let result = append(record, format, out, start);
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn append(record: &Record<'_>, format: &RecordFormat, out: &mut Vec<u8>, start: usize) -> Result<(), EncodeError> {
    out.extend_from_slice(&[0; HEADER_SIZE]);
    let mut misc = record.misc;
    let mut has_trailer = true;
    let kind = match &record.data {
        RecordData::Sample(sample) => {
            has_trailer = false;
            append_sample(sample, &record.id, format, out)?;
            kind::SAMPLE
        }
        RecordData::Mmap(mmap) => {
            misc = misc.with(Misc::MMAP_DATA, mmap.is_data);
            append_mmap(mmap, &mut misc, format, out)?
        }
        RecordData::Comm(comm) => {
            misc = misc.with(Misc::COMM_EXEC, comm.exec);
            push_task(out, comm.task);
            push_name(out, comm.name);
            kind::COMM
        }
        RecordData::Fork(lifetime) => {
            push_lifetime(out, lifetime);
            kind::FORK
        }
        RecordData::Exit(lifetime) => {
            push_lifetime(out, lifetime);
            kind::EXIT
        }
        RecordData::Lost { id, lost } => {
            push_u64(out, *id);
            push_u64(out, *lost);
            kind::LOST
        }
        RecordData::LostSamples { lost } => {
            push_u64(out, *lost);
            kind::LOST_SAMPLES
        }
        RecordData::Throttle(throttle) => {
            push_throttle(out, throttle);
            kind::THROTTLE
        }
        RecordData::Unthrottle(throttle) => {
            push_throttle(out, throttle);
            kind::UNTHROTTLE
        }
        RecordData::Other(other) => {
            has_trailer = other.kind < kind::USER_TYPE_START;
            aligned("record body", other.body)?;
            out.extend_from_slice(other.body);
            other.kind
        }
    };
    if has_trailer && format.sample_id_all {
        append_trailer(&record.id, format, out);
    }
    finish_header(out, start, kind, misc)
}

/// Writes the header of the record that begins at `start` and ends where `out` does.
fn finish_header(out: &mut [u8], start: usize, kind: u32, misc: Misc) -> Result<(), EncodeError> {
    let record = out.get_mut(start..).unwrap_or_default();
    let size = record.len();
    let stated = u16::try_from(size).ok().filter(|_| size <= MAX_SIZE).ok_or(EncodeError::TooLong { size })?;
    let [k0, k1, k2, k3] = kind.to_le_bytes();
    let [m0, m1] = misc.0.to_le_bytes();
    let [s0, s1] = stated.to_le_bytes();
    if let Some(header) = record.first_chunk_mut() {
        *header = [k0, k1, k2, k3, m0, m1, s0, s1];
    }
    Ok(())
}

fn append_sample(
    sample: &Sample<'_>,
    id: &SampleId,
    format: &RecordFormat,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let bits = format.sample_type & !sample_type::CARRIED;
    if bits != 0 {
        return Err(EncodeError::FieldsNotCarried { bits });
    }
    let mut word = |bit, value: u64| {
        if format.has(bit) {
            push_u64(out, value);
        }
    };
    word(sample_type::IDENTIFIER, id.id.unwrap_or_default());
    word(sample_type::IP, sample.ip.unwrap_or_default().0);
    word(sample_type::TID, task_word(id.task.unwrap_or_default()));
    word(sample_type::TIME, id.time.unwrap_or_default());
    word(sample_type::ADDR, sample.address.unwrap_or_default().0);
    word(sample_type::ID, id.id.unwrap_or_default());
    word(sample_type::STREAM_ID, id.stream_id.unwrap_or_default());
    word(sample_type::CPU, u64::from(id.cpu.unwrap_or_default()));
    word(sample_type::PERIOD, sample.period.unwrap_or_default());
    if format.has(sample_type::CALLCHAIN) {
        push_u64(out, sample.callchain.len() as u64);
        push_words(out, &sample.callchain.words);
    }
    if format.has(sample_type::RAW) {
        push_raw(out, sample.raw.unwrap_or_default())?;
    }
    if format.has(sample_type::REGS_USER) {
        append_user_regs(sample, format.sample_regs_user, out)?;
    }
    if format.has(sample_type::STACK_USER) {
        append_user_stack(sample.user_stack, out)?;
    }
    Ok(())
}

fn append_user_regs(sample: &Sample<'_>, mask: u64, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let Some(regs) = &sample.user_regs else {
        push_u64(out, 0);
        return Ok(());
    };
    let values = regs.values.len();
    if regs.mask != mask || values != mask.count_ones() as usize {
        return Err(EncodeError::RegsMask { given: regs.mask, values, expected: mask });
    }
    push_u64(
        out,
        match regs.abi {
            RegsAbi::Bits32 => 1,
            RegsAbi::Bits64 => 2,
            RegsAbi::Unknown(abi) => abi,
        },
    );
    push_words(out, &regs.values);
    Ok(())
}

fn append_user_stack(stack: Option<UserStack<'_>>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let Some(stack) = stack.filter(|stack| !stack.bytes.is_empty()) else {
        push_u64(out, 0);
        return Ok(());
    };
    aligned("user stack", stack.bytes)?;
    push_u64(out, stack.bytes.len() as u64);
    out.extend_from_slice(stack.bytes);
    push_u64(out, stack.filled);
    Ok(())
}

fn append_mmap(mmap: &Mmap<'_>, misc: &mut Misc, format: &RecordFormat, out: &mut Vec<u8>) -> Result<u32, EncodeError> {
    push_task(out, mmap.task);
    push_u64(out, mmap.start.0);
    push_u64(out, mmap.length);
    push_u64(out, mmap.file_offset);
    let Some(more) = mmap.more else {
        push_name(out, mmap.filename);
        return Ok(kind::MMAP);
    };
    match more.identity {
        MmapIdentity::Inode { major, minor, inode, generation } => {
            push_u32(out, major);
            push_u32(out, minor);
            push_u64(out, inode);
            push_u64(out, generation);
        }
        MmapIdentity::BuildId(id) => {
            let length = id.as_bytes().len();
            if !format.mmap_build_id && length != BuildId::CAPACITY {
                return Err(EncodeError::BuildIdNotAsked { length });
            }
            push_build_id(out, &id);
        }
    }
    *misc = misc.with(Misc::MMAP_BUILD_ID, matches!(more.identity, MmapIdentity::BuildId(_)));
    push_u32(out, more.protection);
    push_u32(out, more.flags);
    push_name(out, mmap.filename);
    Ok(kind::MMAP2)
}

/// Length and room of a build id as an MMAP2 record has them.
fn push_build_id(out: &mut Vec<u8>, id: &BuildId) {
    let length = u8::try_from(id.as_bytes().len()).unwrap_or_default();
    out.extend_from_slice(&[length, 0, 0, 0]);
    out.extend_from_slice(&id.padded());
}

fn append_trailer(id: &SampleId, format: &RecordFormat, out: &mut Vec<u8>) {
    let mut word = |bit, value: u64| {
        if format.has(bit) {
            push_u64(out, value);
        }
    };
    word(sample_type::TID, task_word(id.task.unwrap_or_default()));
    word(sample_type::TIME, id.time.unwrap_or_default());
    word(sample_type::ID, id.id.unwrap_or_default());
    word(sample_type::STREAM_ID, id.stream_id.unwrap_or_default());
    word(sample_type::CPU, u64::from(id.cpu.unwrap_or_default()));
    word(sample_type::IDENTIFIER, id.id.unwrap_or_default());
}

fn aligned(field: &'static str, bytes: &[u8]) -> Result<(), EncodeError> {
    let size = bytes.len();
    if size.is_multiple_of(8) { Ok(()) } else { Err(EncodeError::Unaligned { field, size }) }
}

fn push_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn push_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn push_words(out: &mut Vec<u8>, words: &Words<'_>) {
    match words {
        Words::Bytes(groups) => out.extend_from_slice(groups.as_flattened()),
        Words::Words(words) => {
            let start = out.len();
            out.resize(start.saturating_add(words.len().saturating_mul(8)), 0);
            let (room, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut();
            room.iter_mut().zip(*words).for_each(|(room, word)| *room = word.to_le_bytes());
        }
    }
}

/// Process and thread, in that order in memory.
fn task_word(task: TaskId) -> u64 {
    u64::from(task.pid.cast_unsigned()) | (u64::from(task.tid.cast_unsigned()) << 32)
}

fn push_task(out: &mut Vec<u8>, task: TaskId) {
    push_u64(out, task_word(task));
}

fn push_lifetime(out: &mut Vec<u8>, lifetime: &Lifetime) {
    // Both processes come before both threads.
    push_task(out, TaskId { pid: lifetime.task.pid, tid: lifetime.parent.pid });
    push_task(out, TaskId { pid: lifetime.task.tid, tid: lifetime.parent.tid });
    push_u64(out, lifetime.time);
}

fn push_throttle(out: &mut Vec<u8>, throttle: &Throttle) {
    push_u64(out, throttle.time);
    push_u64(out, throttle.id);
    push_u64(out, throttle.stream_id);
}

/// A string with one to eight NUL, so that its end is aligned.
fn push_name(out: &mut Vec<u8>, name: &[u8]) {
    out.extend_from_slice(name);
    push_zeros(out, 8_usize.saturating_sub(name.len() % 8));
}

/// A u32 size, the bytes, and padding that the size counts, so that the end is aligned.
fn push_raw(out: &mut Vec<u8>, raw: &[u8]) -> Result<(), EncodeError> {
    let too_long = EncodeError::TooLong { size: raw.len() };
    let padded = raw.len().checked_add(4).and_then(|size| size.checked_next_multiple_of(8)).ok_or(too_long)?;
    let size = padded.saturating_sub(4);
    push_u32(out, u32::try_from(size).map_err(|_| too_long)?);
    out.extend_from_slice(raw);
    push_zeros(out, size.saturating_sub(raw.len()));
    Ok(())
}

fn push_zeros(out: &mut Vec<u8>, count: usize) {
    out.resize(out.len().saturating_add(count), 0);
}
