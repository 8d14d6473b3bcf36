//! A whole perf.data file in memory -> its events, features and records.
//!
//! File mode, little-endian, uncompressed. Pipe mode and compressed files are recognised and refused by name.

use core::ops::Range;

use rustc_hash::FxHashMap;

use crate::attr::{ATTR_SIZE_MIN, EventAttr, EventDescription};
use crate::cursor::{Cursor, u64_or_zero};
use crate::feature_bytes::{bit, read_event_descriptions, read_ids, read_section};
use crate::features::Features;
use crate::notes::{FileError, Note, Problem, ProblemKind};
use crate::record::{HEADER_SIZE, Record, RecordData, RecordError, RecordFormat, RecordHeader, kind};

const PIPE_HEADER_SIZE: u64 = 16;
const FILE_HEADER_SIZE: u64 = 104;
const SECTION_SIZE: u64 = 16;
/// Where the 256 feature flags lie in the header.
const FLAGS_OFFSET: usize = 72;

/// A perf.data file.
#[derive(Clone, Debug)]
pub struct PerfData<'a> {
    bytes: &'a [u8],
    data: Range<usize>,
    events: Vec<EventDescription>,
    /// Which event an id is of; empty in a file with one event, where every record is of that.
    event_of_id: FxHashMap<u64, usize>,
    features: Features,
    notes: Vec<Note>,
}

/// A record and where it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordAt<'a> {
    /// Bytes from the file's begin.
    pub offset: u64,
    /// Which of [`PerfData::events`] it is of.
    pub event: usize,
    /// The record.
    pub record: Record<'a>,
}

/// Offset and size of a part of the file.
#[derive(Clone, Copy)]
struct Section {
    offset: u64,
    size: u64,
}

impl Section {
    fn at(bytes: &[u8], offset: usize) -> Self {
        Self { offset: u64_or_zero(bytes, offset), size: u64_or_zero(bytes, offset.saturating_add(8)) }
    }

    fn of(self, bytes: &[u8]) -> Option<&[u8]> {
        let start = usize::try_from(self.offset).ok()?;
        let size = usize::try_from(self.size).ok()?;
        bytes.get(start..start.checked_add(size)?)
    }

    fn required<'a>(self, bytes: &'a [u8], part: &'static str) -> Result<&'a [u8], FileError> {
        self.of(bytes).ok_or(FileError::Outside {
            part,
            offset: self.offset,
            size: self.size,
            file_size: bytes.len() as u64,
        })
    }
}

impl<'a> PerfData<'a> {
    /// Reads all of the file but its records.
    ///
    /// Takes memory for ids, names and features only: a small multiple of their own bytes, whatever counts they state.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FileError> {
        check_header(bytes)?;
        let mut notes = Vec::new();
        let data = Section::at(bytes, 40);
        let (data_range, complete) = data_range(bytes, data, &mut notes)?;
        let mut events = read_events(bytes)?;
        let mut features = Features::default();
        // A recording that was killed may have flags, but its sections were never written.
        if complete {
            read_features(bytes, data_range.end, &mut events, &mut features, &mut notes)?;
        }
        let event_of_id = index_ids(&events, &mut notes)?;
        Ok(Self { bytes, data: data_range, events, event_of_id, features, notes })
    }

    /// The events, at least one.
    pub fn events(&self) -> &[EventDescription] {
        &self.events
    }

    /// What the file tells beside its records.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// What is missing.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The records in the order of the file.
    ///
    /// A record that cannot be read is a [`Problem`]; after it reading goes on if its size can be believed.
    pub fn records(&self) -> Records<'_, 'a> {
        Records { file: self, at: self.data.start, stopped: false }
    }

    /// The records in the order of their times; those of one time in the order of the file.
    ///
    /// A record (or problem) without a time has that of the one before it in the file. Takes 16 bytes of memory per
    /// record.
    pub fn records_by_time(&self) -> impl Iterator<Item = Result<RecordAt<'a>, Problem>> + '_ {
        let mut last = 0;
        let mut order = Vec::new();
        let mut records = self.records();
        loop {
            let offset = records.at;
            let Some(item) = records.next() else { break };
            // u64::MAX is perf's other way to say "no time".
            if let Some(time) = item.ok().and_then(|at| at.record.time()).filter(|time| *time != u64::MAX) {
                last = time;
            }
            order.push((last, offset));
        }
        order.sort_by_key(|(time, _)| *time);
        order.into_iter().map(|(_, offset)| self.record_at(offset).0)
    }

    /// The record at an offset within the data, and where the next one begins if that can be believed.
    fn record_at(&self, offset: usize) -> (Result<RecordAt<'a>, Problem>, Option<usize>) {
        let problem = |kind| Problem { offset: offset as u64, kind };
        let rest = self.bytes.get(offset..self.data.end).unwrap_or_default();
        let (header, whole) = match RecordHeader::parse(rest).and_then(|header| {
            let whole = Cursor::new(rest, 0).take(u64::from(header.size), "record")?;
            Ok((header, whole))
        }) {
            Ok(found) => found,
            Err(error) => return (Err(problem(ProblemKind::Record(error))), None),
        };
        if matches!(header.kind, kind::COMPRESSED | kind::COMPRESSED2) {
            return (Err(problem(ProblemKind::Compressed)), None);
        }
        let next = next_offset(offset, &header, whole);
        let result = self.event_of(header.kind, whole).and_then(|event| {
            let format = self.events.get(event).map(|event| event.attr.format).unwrap_or_default();
            let record = Record::parse(whole, &format).map_err(ProblemKind::Record)?;
            Ok(RecordAt { offset: offset as u64, event, record })
        });
        (result.map_err(problem), next)
    }

    /// Which event a record is of.
    fn event_of(&self, record_kind: u32, whole: &[u8]) -> Result<usize, ProblemKind> {
        if self.event_of_id.is_empty() || record_kind >= kind::USER_TYPE_START {
            return Ok(0);
        }
        let format = self.events.first().map(|event| event.attr.format).unwrap_or_default();
        let is_sample = record_kind == kind::SAMPLE;
        let offset = if is_sample {
            format.id_offset_in_sample().map(|offset| offset.saturating_add(HEADER_SIZE))
        } else {
            format.id_distance_from_end().and_then(|distance| whole.len().checked_sub(distance))
        };
        let Some(id) = offset.map(|offset| u64_or_zero(whole, offset)) else { return Ok(0) };
        match self.event_of_id.get(&id) {
            Some(event) => Ok(*event),
            // Records that perf made up itself have id 0, and are laid out like the first event's.
            None if !is_sample || id == 0 => Ok(0),
            None => Err(ProblemKind::UnknownEvent { id }),
        }
    }
}

/// Where the record after this begins.
fn next_offset(offset: usize, header: &RecordHeader, whole: &[u8]) -> Option<usize> {
    let mut next = offset.checked_add(whole.len())?;
    if header.kind == kind::AUXTRACE {
        // Followed by as many bytes of trace as its first field says.
        let trace = usize::try_from(u64_or_zero(whole, HEADER_SIZE)).ok()?;
        next = next.checked_add(trace)?;
    }
    Some(next)
}

/// Iterator of [`PerfData::records`].
#[derive(Clone, Debug)]
pub struct Records<'p, 'a> {
    file: &'p PerfData<'a>,
    at: usize,
    stopped: bool,
}

impl<'a> Iterator for Records<'_, 'a> {
    type Item = Result<RecordAt<'a>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.stopped || self.at >= self.file.data.end {
            return None;
        }
        let (result, next) = self.file.record_at(self.at);
        match next {
            Some(next) => self.at = next,
            None => self.stopped = true,
        }
        Some(result)
    }
}

fn check_header(bytes: &[u8]) -> Result<(), FileError> {
    match bytes.first_chunk::<8>() {
        Some(b"PERFILE2") => {}
        Some(b"2ELIFREP") => return Err(FileError::BigEndian),
        Some(b"PERFFILE") => return Err(FileError::OldVersion),
        _ => return Err(FileError::NotPerfData),
    }
    let size = u64_or_zero(bytes, 8);
    if size == PIPE_HEADER_SIZE {
        return Err(FileError::PipeMode);
    }
    let needed = Section { offset: 0, size: FILE_HEADER_SIZE.max(size) };
    needed.required(bytes, "file header").map(|_| ())
}

/// Where the records lie, and whether they are all there.
fn data_range(bytes: &[u8], data: Section, notes: &mut Vec<Note>) -> Result<(Range<usize>, bool), FileError> {
    let begin = Section { offset: data.offset, size: 0 };
    begin.required(bytes, "records")?;
    let start = usize::try_from(data.offset).unwrap_or(bytes.len());
    let present = bytes.len().saturating_sub(start);
    match usize::try_from(data.size) {
        Ok(size) if size != 0 && size <= present => Ok((start..start.saturating_add(size), true)),
        Ok(0) if is_feature_table(bytes, start) => Ok((start..start, true)),
        Ok(0) => {
            notes.push(Note::Unfinished { present: present as u64 });
            Ok((start..bytes.len(), false))
        }
        _ => {
            notes.push(Note::Cut { stated: data.size, present: present as u64 });
            Ok((start..bytes.len(), false))
        }
    }
}

/// Whether feature sections begin at `start`, as they do where a finished file has no record: the first of them lies
/// right after their table. (A killed recording has the flags too, but records there.)
fn is_feature_table(bytes: &[u8], start: usize) -> bool {
    let flags = bytes.get(FLAGS_OFFSET..).and_then(|rest| rest.first_chunk::<32>()).copied().unwrap_or_default();
    let count: u64 = flags.iter().map(|byte| u64::from(byte.count_ones())).sum();
    let table_end = count.saturating_mul(SECTION_SIZE).saturating_add(start as u64);
    count != 0 && u64_or_zero(bytes, start) == table_end
}

fn read_events(bytes: &[u8]) -> Result<Vec<EventDescription>, FileError> {
    let entry_size = u64_or_zero(bytes, 16);
    let size = usize::try_from(entry_size).unwrap_or(usize::MAX);
    let attr_size = size.checked_sub(SECTION_SIZE as usize).filter(|size| *size >= ATTR_SIZE_MIN);
    let attr_size = attr_size.ok_or(FileError::AttrSize { size: entry_size })?;
    let attrs = Section::at(bytes, 24).required(bytes, "events")?;
    let mut ids_left = bytes.len() / 8;
    let mut events = Vec::new();
    for (event, entry) in attrs.chunks_exact(size).enumerate() {
        let attr = EventAttr::from_bytes(entry.get(..attr_size).unwrap_or_default());
        let section = Section::at(entry, attr_size);
        let ids = section.required(bytes, "event ids")?;
        ids_left =
            ids_left.checked_sub(ids.len() / 8).ok_or(FileError::OverlappingIds { event, offset: section.offset })?;
        events.push(EventDescription { attr, name: attr.usual_name(), ids: read_ids(ids) });
    }
    if events.is_empty() { Err(FileError::NoEvents) } else { Ok(events) }
}

fn read_features(
    bytes: &[u8],
    table: usize,
    events: &mut [EventDescription],
    features: &mut Features,
    notes: &mut Vec<Note>,
) -> Result<(), FileError> {
    let mut table_entry = table;
    for feature in 0_u32..256 {
        let (word, bit_in_word) = (feature / 64, feature % 64);
        let flags = u64_or_zero(bytes, FLAGS_OFFSET.saturating_add((word as usize).saturating_mul(8)));
        if flags.checked_shr(bit_in_word).unwrap_or_default() & 1 == 0 {
            continue;
        }
        if feature == bit::COMPRESSED {
            return Err(FileError::Compressed);
        }
        let entry = table_entry;
        table_entry = table_entry.saturating_add(SECTION_SIZE as usize);
        if let Err(error) = read_feature(bytes, feature, entry, events, features) {
            notes.push(Note::Feature { feature, error });
        }
    }
    Ok(())
}

fn read_feature(
    bytes: &[u8],
    feature: u32,
    entry: usize,
    events: &mut [EventDescription],
    features: &mut Features,
) -> Result<(), RecordError> {
    let mut cursor = Cursor::new(bytes.get(entry..).unwrap_or_default(), entry);
    let section = Section { offset: cursor.u64("feature offset")?, size: cursor.u64("feature size")? };
    let offset = usize::try_from(section.offset).unwrap_or(bytes.len()).min(bytes.len());
    let content = section.of(bytes).ok_or(RecordError::Cut {
        offset,
        field: "feature section",
        needed: section.size,
        present: bytes.len().saturating_sub(offset) as u64,
    })?;
    if feature == bit::EVENT_DESC {
        name_events(events, read_event_descriptions(content, offset)?);
        return Ok(());
    }
    read_section(feature, content, offset, features)
}

/// Gives events the names of their descriptions: those with the same ids, or else those at the same place.
fn name_events(events: &mut [EventDescription], descriptions: Vec<EventDescription>) {
    let same_count = events.len() == descriptions.len();
    for (index, description) in descriptions.into_iter().enumerate() {
        let by_id = description.ids.first().and_then(|id| events.iter().position(|event| event.ids.contains(id)));
        let place = by_id.or(same_count.then_some(index));
        if let Some(event) = place.and_then(|place| events.get_mut(place)) {
            event.name = description.name;
        }
    }
}

fn index_ids(events: &[EventDescription], notes: &mut Vec<Note>) -> Result<FxHashMap<u64, usize>, FileError> {
    let mut event_of_id = FxHashMap::default();
    let Some((first, others)) = events.split_first() else { return Ok(event_of_id) };
    if others.is_empty() {
        return Ok(event_of_id);
    }
    let places = |format: &RecordFormat| (format.id_offset_in_sample(), format.id_distance_from_end());
    for (index, event) in events.iter().enumerate() {
        let same_layout = event.attr.format == first.attr.format;
        if !same_layout && (places(&event.attr.format) != places(&first.attr.format) || event.ids.is_empty()) {
            return Err(FileError::EventsNotTold { event: index });
        }
        if event.ids.is_empty() {
            notes.push(Note::EventWithoutIds { event: index });
        }
        event_of_id.extend(event.ids.iter().map(|id| (*id, index)));
    }
    Ok(event_of_id)
}

impl RecordAt<'_> {
    /// Whether it is a sample.
    pub fn is_sample(&self) -> bool {
        matches!(self.record.data, RecordData::Sample(_))
    }
}
