//! The bytes of feature sections, both ways. Their layouts: perf's `perf.data-file-format`.

use crate::attr::{ATTR_SIZE, ATTR_SIZE_MIN, EventAttr, EventDescription};
use crate::build_id::BuildId;
use crate::cursor::{Cursor, until_nul};
use crate::features::{BuildIdEntry, ClockData, CpuCounts, Features, TimeSpan};
use crate::record::{CpuMode, Misc, RecordError, RecordHeader};

/// Bits of the header's flags, and so the order of the sections.
pub(crate) mod bit {
    pub(crate) const BUILD_ID: u32 = 2;
    pub(crate) const HOSTNAME: u32 = 3;
    pub(crate) const OSRELEASE: u32 = 4;
    pub(crate) const VERSION: u32 = 5;
    pub(crate) const ARCH: u32 = 6;
    pub(crate) const NRCPUS: u32 = 7;
    pub(crate) const CMDLINE: u32 = 11;
    pub(crate) const EVENT_DESC: u32 = 12;
    pub(crate) const SAMPLE_TIME: u32 = 21;
    pub(crate) const CLOCKID: u32 = 23;
    pub(crate) const COMPRESSED: u32 = 27;
    pub(crate) const CLOCK_DATA: u32 = 29;
}

/// Strings are padded to this many bytes, as perf does.
const NAME_ALIGN: usize = 64;
/// Bytes of a build id entry before its path.
const BUILD_ID_ENTRY_SIZE: usize = 36;

/// The sections of `features` and of the events' names, in the order of their bits.
pub(crate) fn sections(features: &Features, events: &[EventDescription]) -> Vec<(u32, Vec<u8>)> {
    let mut sections = Vec::new();
    let mut add = |bit, bytes: Option<Vec<u8>>| sections.extend(bytes.map(|bytes| (bit, bytes)));
    let text = |text: &Option<String>| text.as_ref().map(|text| string(text.as_bytes()));
    add(bit::BUILD_ID, (!features.build_ids.is_empty()).then(|| build_ids(&features.build_ids)));
    add(bit::HOSTNAME, text(&features.hostname));
    add(bit::OSRELEASE, text(&features.os_release));
    add(bit::VERSION, text(&features.version));
    add(bit::ARCH, text(&features.arch));
    add(bit::NRCPUS, features.cpus.map(|cpus| u32s(&[cpus.available, cpus.online])));
    add(bit::CMDLINE, (!features.command_line.is_empty()).then(|| command_line(&features.command_line)));
    add(bit::EVENT_DESC, Some(event_descriptions(events)));
    add(bit::SAMPLE_TIME, features.sample_times.map(|span| u64s(&[span.first, span.last])));
    add(bit::CLOCKID, features.clock_resolution.map(|resolution| u64s(&[resolution])));
    add(bit::CLOCK_DATA, features.clock.map(|clock| clock_data(&clock)));
    sections
}

fn u32s(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn u64s(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The length of a string with its NUL and padding.
fn padded_length(text: &[u8]) -> usize {
    text.len().saturating_add(1).next_multiple_of(NAME_ALIGN)
}

fn string(text: &[u8]) -> Vec<u8> {
    let length = padded_length(text);
    let mut out = u32s(&[u32::try_from(length).unwrap_or(u32::MAX)]);
    out.extend_from_slice(text);
    out.resize(length.saturating_add(4), 0);
    out
}

fn command_line(arguments: &[String]) -> Vec<u8> {
    let mut out = u32s(&[u32::try_from(arguments.len()).unwrap_or(u32::MAX)]);
    for argument in arguments {
        out.extend(string(argument.as_bytes()));
    }
    out
}

fn event_descriptions(events: &[EventDescription]) -> Vec<u8> {
    let mut out = u32s(&[u32::try_from(events.len()).unwrap_or(u32::MAX), ATTR_SIZE as u32]);
    for event in events {
        out.extend(event.attr.to_bytes());
        out.extend(u32s(&[u32::try_from(event.ids.len()).unwrap_or(u32::MAX)]));
        out.extend(string(event.name.as_bytes()));
        out.extend(u64s(&event.ids));
    }
    out
}

fn build_ids(entries: &[BuildIdEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        let path_length = padded_length(&entry.filename);
        // A path too long for an entry's size field is no path that the kernel can give.
        let Ok(size) = u16::try_from(path_length.saturating_add(BUILD_ID_ENTRY_SIZE)) else { continue };
        let mode = if entry.is_kernel { Misc::KERNEL } else { Misc::USER };
        out.extend([0; 4]);
        out.extend(mode.with(Misc::BUILD_ID_SIZE, true).0.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend(entry.pid.to_le_bytes());
        out.extend(entry.build_id.padded());
        out.extend([u8::try_from(entry.build_id.as_bytes().len()).unwrap_or_default(), 0, 0, 0]);
        out.extend_from_slice(&entry.filename);
        let padding = path_length.saturating_sub(entry.filename.len());
        out.resize(out.len().saturating_add(padding), 0);
    }
    out
}

fn clock_data(clock: &ClockData) -> Vec<u8> {
    const VERSION: u32 = 1;
    let mut out = u32s(&[VERSION, clock.clock.cast_unsigned()]);
    out.extend(u64s(&[clock.wall_clock, clock.clock_time]));
    out
}

/// Reads the section of `bit`, whose first byte lies at `offset` of the file, into `features`; sections not known here
/// are passed over. What could be read before an error stays.
pub(crate) fn read_section(bit: u32, bytes: &[u8], offset: usize, features: &mut Features) -> Result<(), RecordError> {
    let mut cursor = Cursor::new(bytes, offset);
    match bit {
        bit::BUILD_ID => read_build_ids(cursor, &mut features.build_ids)?,
        bit::HOSTNAME => features.hostname = Some(read_string(&mut cursor)?),
        bit::OSRELEASE => features.os_release = Some(read_string(&mut cursor)?),
        bit::VERSION => features.version = Some(read_string(&mut cursor)?),
        bit::ARCH => features.arch = Some(read_string(&mut cursor)?),
        bit::NRCPUS => {
            features.cpus =
                Some(CpuCounts { available: cursor.u32("nr_cpus_available")?, online: cursor.u32("nr_cpus_online")? });
        }
        bit::CMDLINE => {
            for _ in 0..cursor.u32("nr of arguments")? {
                features.command_line.push(read_string(&mut cursor)?);
            }
        }
        bit::SAMPLE_TIME => {
            let (first, last) = (cursor.u64("first sample time")?, cursor.u64("last sample time")?);
            features.sample_times = Some(TimeSpan { first, last });
        }
        bit::CLOCKID => features.clock_resolution = Some(cursor.u64("clock resolution")?),
        bit::CLOCK_DATA => {
            cursor.u32("clock data version")?;
            features.clock = Some(ClockData {
                clock: cursor.i32("clockid")?,
                wall_clock: cursor.u64("wall clock time")?,
                clock_time: cursor.u64("clockid time")?,
            });
        }
        _ => {}
    }
    Ok(())
}

fn read_string(cursor: &mut Cursor<'_>) -> Result<String, RecordError> {
    let length = cursor.u32("string length")?;
    let bytes = cursor.take(u64::from(length), "string")?;
    Ok(String::from_utf8_lossy(until_nul(bytes)).into_owned())
}

fn read_build_ids(mut cursor: Cursor<'_>, entries: &mut Vec<BuildIdEntry>) -> Result<(), RecordError> {
    while !cursor.rest().is_empty() {
        let start = cursor.offset();
        let header = RecordHeader::parse(cursor.rest())?;
        let mut entry = Cursor::new(cursor.take(u64::from(header.size), "build id entry")?, start);
        entry.take(8, "header")?;
        let pid = entry.i32("pid")?;
        let room = entry.take(BuildId::CAPACITY as u64, "build id")?;
        let length_offset = entry.offset();
        let stated = entry.u8("build id size")?;
        entry.take(3, "reserved")?;
        // Before perf 5.12 the length was not written and every id had twenty bytes.
        let length = if header.misc.has(Misc::BUILD_ID_SIZE) { usize::from(stated) } else { BuildId::CAPACITY };
        let build_id = room.get(..length).and_then(|bytes| BuildId::new(bytes).ok());
        let build_id = build_id.ok_or(RecordError::BuildIdLength { offset: length_offset, stated })?;
        entries.push(BuildIdEntry {
            pid,
            build_id,
            is_kernel: matches!(header.misc.cpu_mode(), CpuMode::Kernel | CpuMode::GuestKernel),
            filename: until_nul(entry.rest()).to_vec(),
        });
    }
    Ok(())
}

/// Reads the names (and ids) of events from an EVENT_DESC section.
pub(crate) fn read_event_descriptions(bytes: &[u8], offset: usize) -> Result<Vec<EventDescription>, RecordError> {
    let mut cursor = Cursor::new(bytes, offset);
    let count = cursor.u32("nr of events")?;
    let attr_size = cursor.u32("attr size")?;
    let mut events = Vec::new();
    for _ in 0..count {
        // At least as much as a real one, so that a count cannot make many events of few bytes.
        let size = u64::from(attr_size).max(ATTR_SIZE_MIN as u64);
        let attr = EventAttr::from_bytes(cursor.take(size, "attr")?);
        let id_count = cursor.u32("nr of ids")?;
        let name = read_string(&mut cursor)?;
        let ids = read_ids(cursor.items(u64::from(id_count), 8, "ids")?);
        events.push(EventDescription { attr, name, ids });
    }
    Ok(events)
}

/// Ids that follow one another; what is past the last whole one does not count.
pub(crate) fn read_ids(bytes: &[u8]) -> Vec<u64> {
    let (ids, _) = bytes.as_chunks::<8>();
    ids.iter().map(|id| u64::from_le_bytes(*id)).collect()
}
