//! The list as JSON: written method by method, since a framework has a hundred thousand.

use super::listing::{Listing, Row};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// Name and version of the JSON below; the version grows when a field changes its meaning or goes.
const SCHEMA: &str = "strata-images/1";

/// Writes a document with a list of images.
pub(super) struct Document<'w> {
    out: &'w mut dyn Write,
    is_first: bool,
}

impl<'w> Document<'w> {
    pub(super) fn begin(out: &'w mut dyn Write) -> io::Result<Self> {
        write!(out, "{{\"schema\":\"{SCHEMA}\",\"images\":[")?;
        Ok(Self { out, is_first: true })
    }

    pub(super) fn image(&mut self, listing: &Listing<'_>) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        serde_json::to_writer(&mut self.out, &OfImage(listing)).map_err(io::Error::from)
    }

    pub(super) fn end(self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")
    }
}

struct OfImage<'a, 'd>(&'a Listing<'d>);

impl Serialize for OfImage<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(listing) = self;
        let problems: Vec<_> = listing.methods.problems().iter().map(OfProblem::from).collect();
        let mut image = serializer.serialize_struct("image", 9)?;
        image.serialize_field("path", &listing.path)?;
        image.serialize_field("assembly", &listing.assembly())?;
        image.serialize_field("mvid", &listing.image.identity().to_string())?;
        image.serialize_field("ready_to_run", &listing.format())?;
        image.serialize_field("base", &listing.base.map(|base| base.0))?;
        image.serialize_field("size_bytes", &listing.image.pe().image_size())?;
        image.serialize_field("methods", &Methods(listing))?;
        image.serialize_field("thunks", &Thunks(listing))?;
        image.serialize_field("damaged", &problems)?;
        image.end()
    }
}

#[derive(Serialize)]
struct OfProblem {
    what: String,
    count: u32,
    first_offset: u64,
}

impl From<&strata_clrimage::Problem> for OfProblem {
    fn from(problem: &strata_clrimage::Problem) -> Self {
        Self { what: problem.kind.to_string(), count: problem.count, first_offset: problem.offset }
    }
}

struct Methods<'a, 'd>(&'a Listing<'d>);

impl Serialize for Methods<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.with_names(|names| serializer.collect_seq(self.0.rows(names).map(OfMethod::from)))
    }
}

#[derive(Serialize)]
struct OfMethod {
    rva: u32,
    size_bytes: u32,
    body_bytes: u32,
    cold_rva: Option<u32>,
    cold_bytes: Option<u32>,
    token: u32,
    name: String,
    others_with_same_code: usize,
}

impl From<Row<'_>> for OfMethod {
    fn from(row: Row<'_>) -> Self {
        Self {
            rva: row.method.start,
            size_bytes: row.method.size,
            body_bytes: row.method.body_size,
            cold_rva: row.method.cold.map(|cold| cold.start),
            cold_bytes: row.method.cold.map(|cold| cold.size),
            token: row.token,
            name: row.name,
            others_with_same_code: row.aliases,
        }
    }
}

struct Thunks<'a, 'd>(&'a Listing<'d>);

#[derive(Serialize)]
struct OfThunk {
    rva: u32,
    size_bytes: u32,
    name: String,
}

impl Serialize for Thunks<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |thunk: &strata_clrimage::Thunk| OfThunk {
            rva: thunk.start,
            size_bytes: thunk.size,
            name: thunk.to_string(),
        };
        serializer.collect_seq(self.0.methods.thunks().iter().map(row))
    }
}
