//! Bytes -> record.

use strata_address::Avma;

use super::{
    Callchain, Comm, HEADER_SIZE, Lifetime, Misc, Mmap, Mmap2Fields, MmapIdentity, Other, Record, RecordData,
    RecordError, RecordFormat, RecordHeader, RegsAbi, Sample, SampleId, TaskId, Throttle, UserRegs, UserStack, Words,
    branch_sample_type, kind, read_format, sample_type,
};
use crate::build_id::BuildId;
use crate::cursor::{Cursor, until_nul};

impl RecordHeader {
    /// The header at the start of `bytes`; its size is at least [`HEADER_SIZE`] but may pass the end of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        let mut cursor = Cursor::new(bytes, 0);
        let header =
            Self { kind: cursor.u32("type")?, misc: Misc(cursor.u16("misc")?), size: cursor.u16("header size")? };
        if usize::from(header.size) < HEADER_SIZE {
            return Err(RecordError::Size { stated: header.size });
        }
        Ok(header)
    }
}

impl<'a> Record<'a> {
    /// The record at the start of `bytes`, whose header tells its size; what follows is left alone.
    ///
    /// Nothing is allocated. The record must lie in one piece: one that wraps around a ring's end is copied first.
    pub fn parse(bytes: &'a [u8], format: &RecordFormat) -> Result<Self, RecordError> {
        let header = RecordHeader::parse(bytes)?;
        let whole = Cursor::new(bytes, 0).take(u64::from(header.size), "record")?;
        let body = whole.get(HEADER_SIZE..).unwrap_or_default();
        let misc = header.misc;
        if header.kind == kind::SAMPLE {
            let (id, sample) = parse_sample(Cursor::new(body, HEADER_SIZE), format)?;
            return Ok(Self { misc, id, data: RecordData::Sample(sample) });
        }
        if header.kind >= kind::USER_TYPE_START {
            let data = RecordData::Other(Other { kind: header.kind, body });
            return Ok(Self { misc, id: SampleId::default(), data });
        }
        let (body, id) = split_trailer(body, format)?;
        let data = parse_side(header.kind, misc, body, format)?;
        Ok(Self { misc, id, data })
    }
}

/// Parts a record's body from the sample id at its end.
fn split_trailer<'a>(body: &'a [u8], format: &RecordFormat) -> Result<(&'a [u8], SampleId), RecordError> {
    let size = format.trailer_size();
    if size == 0 {
        return Ok((body, SampleId::default()));
    }
    let cut =
        RecordError::Cut { offset: HEADER_SIZE, field: "sample_id", needed: size as u64, present: body.len() as u64 };
    let (body, trailer) = body.len().checked_sub(size).and_then(|at| body.split_at_checked(at)).ok_or(cut)?;
    let mut cursor = Cursor::new(trailer, HEADER_SIZE.saturating_add(body.len()));
    let mut id = SampleId::default();
    if format.has(sample_type::TID) {
        id.task = Some(parse_task(&mut cursor)?);
    }
    if format.has(sample_type::TIME) {
        id.time = Some(cursor.u64("time")?);
    }
    if format.has(sample_type::ID) {
        id.id = Some(cursor.u64("id")?);
    }
    if format.has(sample_type::STREAM_ID) {
        id.stream_id = Some(cursor.u64("stream_id")?);
    }
    if format.has(sample_type::CPU) {
        id.cpu = Some(parse_cpu(&mut cursor)?);
    }
    if format.has(sample_type::IDENTIFIER) {
        id.id = Some(cursor.u64("identifier")?);
    }
    Ok((body, id))
}

#[inline]
fn parse_task(cursor: &mut Cursor<'_>) -> Result<TaskId, RecordError> {
    Ok(TaskId { pid: cursor.i32("pid")?, tid: cursor.i32("tid")? })
}

#[inline]
fn parse_cpu(cursor: &mut Cursor<'_>) -> Result<u32, RecordError> {
    let cpu = cursor.u32("cpu")?;
    cursor.u32("reserved")?;
    Ok(cpu)
}

fn parse_side<'a>(kind: u32, misc: Misc, body: &'a [u8], format: &RecordFormat) -> Result<RecordData<'a>, RecordError> {
    let mut cursor = Cursor::new(body, HEADER_SIZE);
    Ok(match kind {
        kind::MMAP | kind::MMAP2 => RecordData::Mmap(parse_mmap(cursor, kind, misc, format)?),
        kind::COMM => RecordData::Comm(Comm {
            task: parse_task(&mut cursor)?,
            name: until_nul(cursor.rest()),
            exec: misc.has(Misc::COMM_EXEC),
        }),
        kind::FORK => RecordData::Fork(parse_lifetime(cursor)?),
        kind::EXIT => RecordData::Exit(parse_lifetime(cursor)?),
        kind::LOST => RecordData::Lost { id: cursor.u64("id")?, lost: cursor.u64("lost")? },
        kind::LOST_SAMPLES => RecordData::LostSamples { lost: cursor.u64("lost")? },
        kind::THROTTLE => RecordData::Throttle(parse_throttle(cursor)?),
        kind::UNTHROTTLE => RecordData::Unthrottle(parse_throttle(cursor)?),
        _ => RecordData::Other(Other { kind, body }),
    })
}

fn parse_mmap<'a>(
    mut cursor: Cursor<'a>,
    kind: u32,
    misc: Misc,
    format: &RecordFormat,
) -> Result<Mmap<'a>, RecordError> {
    let task = parse_task(&mut cursor)?;
    let start = Avma(cursor.u64("addr")?);
    let length = cursor.u64("len")?;
    let file_offset = cursor.u64("pgoff")?;
    let more = if kind == kind::MMAP2 {
        let identity = if misc.has(Misc::MMAP_BUILD_ID) && has_build_id(&cursor, format) {
            MmapIdentity::BuildId(parse_build_id(&mut cursor)?)
        } else {
            MmapIdentity::Inode {
                major: cursor.u32("maj")?,
                minor: cursor.u32("min")?,
                inode: cursor.u64("ino")?,
                generation: cursor.u64("ino_generation")?,
            }
        };
        Some(Mmap2Fields { identity, protection: cursor.u32("prot")?, flags: cursor.u32("flags")? })
    } else {
        None
    };
    let is_data = misc.has(Misc::MMAP_DATA);
    Ok(Mmap { task, start, length, file_offset, filename: until_nul(cursor.rest()), is_data, more })
}

/// Whether an MMAP2 record that says it has a build id really has one.
///
/// The kernel sets that bit for all events that are told of the mapping once one of them has asked for build ids, but
/// writes build ids only for those that asked. A file's event that did not ask may still have them, put in later by
/// `perf inject`; those have twenty bytes, and no disk has that number as its major.
fn has_build_id(cursor: &Cursor<'_>, format: &RecordFormat) -> bool {
    format.mmap_build_id || cursor.rest().starts_with(&[BuildId::CAPACITY as u8, 0, 0, 0])
}

fn parse_build_id(cursor: &mut Cursor<'_>) -> Result<BuildId, RecordError> {
    let offset = cursor.offset();
    let stated = cursor.u8("build_id_size")?;
    cursor.take(3, "reserved")?;
    let room = cursor.take(BuildId::CAPACITY as u64, "build_id")?;
    room.get(..usize::from(stated))
        .and_then(|bytes| BuildId::new(bytes).ok())
        .ok_or(RecordError::BuildIdLength { offset, stated })
}

fn parse_lifetime(mut cursor: Cursor<'_>) -> Result<Lifetime, RecordError> {
    let (pid, ppid) = (cursor.i32("pid")?, cursor.i32("ppid")?);
    let (tid, ptid) = (cursor.i32("tid")?, cursor.i32("ptid")?);
    let parent = TaskId { pid: ppid, tid: ptid };
    Ok(Lifetime { task: TaskId { pid, tid }, parent, time: cursor.u64("time")? })
}

fn parse_throttle(mut cursor: Cursor<'_>) -> Result<Throttle, RecordError> {
    Ok(Throttle { time: cursor.u64("time")?, id: cursor.u64("id")?, stream_id: cursor.u64("stream_id")? })
}

fn parse_sample<'a>(mut cursor: Cursor<'a>, format: &RecordFormat) -> Result<(SampleId, Sample<'a>), RecordError> {
    let mut id = SampleId::default();
    let mut sample = Sample::default();
    let identifier = if format.has(sample_type::IDENTIFIER) { Some(cursor.u64("identifier")?) } else { None };
    if format.has(sample_type::IP) {
        sample.ip = Some(Avma(cursor.u64("ip")?));
    }
    if format.has(sample_type::TID) {
        id.task = Some(parse_task(&mut cursor)?);
    }
    if format.has(sample_type::TIME) {
        id.time = Some(cursor.u64("time")?);
    }
    if format.has(sample_type::ADDR) {
        sample.address = Some(Avma(cursor.u64("addr")?));
    }
    if format.has(sample_type::ID) {
        id.id = Some(cursor.u64("id")?);
    }
    id.id = identifier.or(id.id);
    if format.has(sample_type::STREAM_ID) {
        id.stream_id = Some(cursor.u64("stream_id")?);
    }
    if format.has(sample_type::CPU) {
        id.cpu = Some(parse_cpu(&mut cursor)?);
    }
    if format.has(sample_type::PERIOD) {
        sample.period = Some(cursor.u64("period")?);
    }
    if format.has(sample_type::READ) {
        skip_counter_values(&mut cursor, format.read_format)?;
    }
    if format.has(sample_type::CALLCHAIN) {
        let count = cursor.u64("callchain nr")?;
        sample.callchain = Callchain { words: Words::Bytes(cursor.words(count, "callchain ips")?) };
    }
    if format.has(sample_type::RAW) {
        let size = cursor.u32("raw size")?;
        sample.raw = Some(cursor.take(u64::from(size), "raw data")?);
    }
    if format.has(sample_type::BRANCH_STACK) {
        skip_branch_records(&mut cursor, format.branch_sample_type)?;
    }
    if format.has(sample_type::REGS_USER) {
        sample.user_regs = parse_user_regs(&mut cursor, format.sample_regs_user)?;
    }
    if format.has(sample_type::STACK_USER) {
        sample.user_stack = parse_user_stack(&mut cursor)?;
    }
    Ok((id, sample))
}

fn parse_user_regs<'a>(cursor: &mut Cursor<'a>, mask: u64) -> Result<Option<UserRegs<'a>>, RecordError> {
    let abi = match cursor.u64("user regs abi")? {
        // A kernel thread: no registers follow.
        0 => return Ok(None),
        1 => RegsAbi::Bits32,
        2 => RegsAbi::Bits64,
        other => RegsAbi::Unknown(other),
    };
    let values = Words::Bytes(cursor.words(u64::from(mask.count_ones()), "user regs")?);
    Ok(Some(UserRegs { abi, mask, values }))
}

fn parse_user_stack<'a>(cursor: &mut Cursor<'a>) -> Result<Option<UserStack<'a>>, RecordError> {
    let size = cursor.u64("user stack size")?;
    if size == 0 {
        // Then the kernel leaves out dyn_size too.
        return Ok(None);
    }
    let bytes = cursor.take(size, "user stack data")?;
    Ok(Some(UserStack { bytes, filled: cursor.u64("user stack dyn_size")? }))
}

fn skip_counter_values(cursor: &mut Cursor<'_>, format: u64) -> Result<(), RecordError> {
    let is_group = format & read_format::GROUP != 0;
    let count = if is_group { cursor.u64("read nr")? } else { 1 };
    let times = format & (read_format::TOTAL_TIME_ENABLED | read_format::TOTAL_TIME_RUNNING);
    cursor.items(u64::from(times.count_ones()), 8, "read times")?;
    let beside_value = u64::from((format & (read_format::ID | read_format::LOST)).count_ones());
    cursor.items(count, beside_value.saturating_add(1).saturating_mul(8), "read values")?;
    Ok(())
}

fn skip_branch_records(cursor: &mut Cursor<'_>, branch_type: u64) -> Result<(), RecordError> {
    let count = cursor.u64("branch nr")?;
    if branch_type & branch_sample_type::HW_INDEX != 0 {
        cursor.u64("branch hw_idx")?;
    }
    cursor.items(count, 24, "branch records")?;
    if branch_type & branch_sample_type::COUNTERS != 0 {
        cursor.items(count, 8, "branch counters")?;
    }
    Ok(())
}
