//! The notation of the tables, a stream of words:
//!
//! - `provider NAME`, then events.
//! - `ID Name`, several with `,` between them where they share their fields; `* Name` for one that is known by its name.
//! - `vN:`, then the fields that this version adds to the version before it.
//! - Fields: `Name:type`, `Name:type=Names`, `Name:type[CountField]`, `Name{ fields }[CountField]`, and `clr`, which stands in
//!   nearly every event. `[]` has its two-byte count in front of its elements. `str?` is text that old runtimes leave out when
//!   it is null.
//! - In the table of names: `enum NAME:` or `flags NAME:`, then `VALUE Name,` and for bit fields `MASK/VALUE Name,`.

use std::collections::HashMap;
use std::iter::Peekable;

use super::{Schema, Schemas};
use crate::fields::{Field, FieldType};
use crate::value::{Names, NamesStyle};

/// The word that could not be read, for the test that holds the tables; empty for the end of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BadWord(&'static str);

fn words(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

pub(super) type NamesByName = HashMap<&'static str, Names>;

pub(super) fn read_names(table: &'static str) -> Result<NamesByName, BadWord> {
    let mut all = NamesByName::new();
    let mut words = words(table).peekable();
    while let Some(style) = words.next() {
        let style = match style {
            "enum" => NamesStyle::Values,
            "flags" => NamesStyle::Bits,
            _ => return Err(BadWord(style)),
        };
        let heading = words.next().unwrap_or_default();
        let mut entries = Vec::new();
        while let Some(word) = words.next_if(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
            let (mask, value) = match (word.split_once('/'), style) {
                (Some((mask, value)), _) => (number(mask), number(value)),
                (None, NamesStyle::Values) => (Some(u64::MAX), number(word)),
                (None, NamesStyle::Bits) => (number(word), number(word)),
            };
            let name = words.next().unwrap_or_default().trim_end_matches(',');
            entries.push((mask.ok_or(BadWord(word))?, value.ok_or(BadWord(word))?, name));
        }
        let name = heading.strip_suffix(':').filter(|_| !entries.is_empty()).ok_or(BadWord(heading))?;
        if all.insert(name, Names { style, entries }).is_some() {
            return Err(BadWord(heading));
        }
    }
    Ok(all)
}

fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

pub(super) fn read_schemas(
    table: &'static str,
    names: &'static NamesByName,
    schemas: &mut Schemas,
) -> Result<(), BadWord> {
    let mut reader = SchemaReader { words: words(table).peekable(), names };
    let mut provider = "";
    while let Some(word) = reader.words.peek() {
        if *word == "provider" {
            reader.words.next();
            provider = reader.words.next().unwrap_or_default();
            continue;
        }
        let events = reader.headings()?;
        let versions = reader.versions()?;
        for (id, name) in events {
            let of_name = |(version, fields): &(u32, Fields)| (*version, fields.schema(name));
            let versions = versions.iter().map(of_name).collect();
            let events = schemas.entry(provider).or_default();
            let before = match id {
                Some(id) => events.by_id.insert(id, versions),
                None => events.by_name.insert(name, versions),
            };
            if before.is_some() {
                return Err(BadWord(name));
            }
        }
    }
    Ok(())
}

/// Fields, and which of them are texts that can be left out.
#[derive(Clone, Default)]
struct Fields {
    all: Vec<Field>,
    omissible: Vec<usize>,
}

impl Fields {
    fn schema(&self, name: &'static str) -> Schema {
        let kept = |(index, field): (usize, &Field)| (!self.omissible.contains(&index)).then(|| field.clone());
        let without = || self.all.iter().enumerate().filter_map(kept).collect();
        let without_null_texts = (!self.omissible.is_empty()).then(without);
        Schema { name, fields: self.all.clone(), without_null_texts }
    }
}

struct SchemaReader<W: Iterator<Item = &'static str>> {
    words: Peekable<W>,
    names: &'static NamesByName,
}

impl<W: Iterator<Item = &'static str>> SchemaReader<W> {
    /// Id, unless it is known by its name, and name of each event.
    fn headings(&mut self) -> Result<Vec<(Option<u32>, &'static str)>, BadWord> {
        let mut events = Vec::new();
        loop {
            let id = self.words.next().unwrap_or_default();
            let word = self.words.next().unwrap_or_default();
            let name = word.trim_end_matches(',');
            let id = match id {
                "*" => None,
                _ => Some(id.parse().map_err(|_| BadWord(id))?),
            };
            events.push((id, name));
            if name == word {
                return Ok(events);
            }
        }
    }

    fn versions(&mut self) -> Result<Vec<(u32, Fields)>, BadWord> {
        let mut versions: Vec<(u32, Fields)> = Vec::new();
        while let Some(word) = self.words.next_if(|word| is_version(word)) {
            let version = word.trim_start_matches('v').trim_end_matches(':').parse().map_err(|_| BadWord(word))?;
            let mut fields = match versions.last() {
                Some((before, _)) if *before >= version => return Err(BadWord(word)),
                Some((_, fields)) => fields.clone(),
                None => Fields::default(),
            };
            while let Some(word) = self.words.next_if(|word| !begins_event(word) && !is_version(word)) {
                self.field(word, &mut fields)?;
            }
            versions.push((version, fields));
        }
        if versions.is_empty() { Err(BadWord(self.words.peek().copied().unwrap_or_default())) } else { Ok(versions) }
    }

    /// Reads one field, which begins with `word`.
    fn field(&mut self, word: &'static str, fields: &mut Fields) -> Result<(), BadWord> {
        if word == "clr" {
            fields.all.push(Field { name: "ClrInstanceID".into(), field_type: FieldType::UInt16 });
            return Ok(());
        }
        let (name, field_type) = if let Some(name) = word.strip_suffix('{') {
            let mut inner = Fields::default();
            let end = loop {
                let word = self.words.next().ok_or(BadWord(word))?;
                match word.strip_prefix('}') {
                    Some(end) => break end,
                    None => self.field(word, &mut inner)?,
                }
            };
            (name, self.repeated(FieldType::Object(inner.all), end, fields).ok_or(BadWord(word))?)
        } else {
            let (name, spelled) = word.split_once(':').ok_or(BadWord(word))?;
            if spelled == "str?" {
                fields.omissible.push(fields.all.len());
            }
            (name, self.spelled(spelled, fields).ok_or(BadWord(word))?)
        };
        fields.all.push(Field { name: name.into(), field_type });
        Ok(())
    }

    fn spelled(&self, spelled: &'static str, fields: &Fields) -> Option<FieldType> {
        if let Some(at) = spelled.find('[') {
            let (element, repeat) = spelled.split_at_checked(at)?;
            return self.repeated(self.spelled(element, fields)?, repeat, fields);
        }
        if let Some((number, names)) = spelled.split_once('=') {
            return Some(FieldType::Named(Box::new(self.spelled(number, fields)?), self.names.get(names)?));
        }
        let hex = |number| FieldType::Hex(Box::new(number));
        Some(match spelled {
            "u8" => FieldType::Byte,
            "u16" => FieldType::UInt16,
            "u32" => FieldType::UInt32,
            "u64" => FieldType::UInt64,
            "i32" => FieldType::Int32,
            "i64" => FieldType::Int64,
            "f64" => FieldType::Double,
            "x32" => hex(FieldType::UInt32),
            "x64" => hex(FieldType::UInt64),
            "bool4" => FieldType::Boolean,
            "guid" => FieldType::Guid,
            "str" | "str?" => FieldType::Text,
            "astr" => FieldType::NarrowText,
            "ptr" => hex(FieldType::Pointer),
            "size" => FieldType::Pointer,
            "aligned" => FieldType::AlignedPointer,
            _ => return None,
        })
    }

    /// An array: `[]`, or `[Name]` of the field that has its count.
    fn repeated(&self, element: FieldType, repeat: &str, fields: &Fields) -> Option<FieldType> {
        let element = Box::new(element);
        match repeat.strip_prefix('[')?.strip_suffix(']')? {
            "" => Some(FieldType::Array(element)),
            count => {
                let index = fields.all.iter().position(|field| *field.name == *count)?;
                Some(FieldType::Counted(element, index))
            }
        }
    }
}

fn begins_event(word: &str) -> bool {
    word == "provider" || word == "*" || word.starts_with(|first: char| first.is_ascii_digit())
}

fn is_version(word: &str) -> bool {
    word.starts_with('v') && word.ends_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_tables_can_be_read_and_every_name_is_used() {
        let names: &'static NamesByName = Box::leak(Box::new(read_names(include_str!("names.txt")).unwrap()));
        let mut schemas = Schemas::new();
        for table in super::super::TABLES {
            assert_eq!(read_schemas(table, names, &mut schemas), Ok(()));
        }
        let events = |provider: &str| schemas[provider].by_id.len();
        assert_eq!(events(crate::runtime::SAMPLE_PROVIDER), 1);
        let all: String = super::super::TABLES.concat();
        for name in names.keys() {
            assert!(all.contains(&format!("={name}")), "{name} is not used");
        }
    }

    #[test]
    fn what_is_wrong_in_a_table_is_told() {
        let names: &'static NamesByName = Box::leak(Box::default());
        let cases = [
            ("provider P 1 A", ""),
            ("provider P 1 A v0: X", "X"),
            ("provider P 1 A v0: X:u9", "X:u9"),
            ("provider P 1 A v0: X:u8=Nothing", "X:u8=Nothing"),
            ("provider P 1 A v0: X:u8[Count]", "X:u8[Count]"),
            ("provider P 1 A v0: X{ Y:u8", "X{"),
            ("provider P 1 A v1: v1:", "v1:"),
            ("provider P 1 A, x B v0:", "x"),
            ("provider P 1 A v0: 1 B v0:", "B"),
        ];
        for (table, word) in cases {
            assert_eq!(read_schemas(table, names, &mut Schemas::new()), Err(BadWord(word)), "{table}");
        }
        for (table, word) in
            [("names X: 1 A", "names"), ("enum X 1 A", "X"), ("flags X: 1/y A", "1/y"), ("enum X:", "X:")]
        {
            assert_eq!(read_names(table).unwrap_err(), BadWord(word), "{table}");
        }
    }
}
