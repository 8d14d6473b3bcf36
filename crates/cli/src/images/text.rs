//! The list as text: a comment for the image, then a line for each method.

use super::listing::Listing;
use std::io::{self, Write};
use strata_digest::visible;

/// Writes the methods of one image. Addresses are those of the process where the image is loaded in one, else relative to
/// the image's base.
pub(super) fn write_methods(out: &mut dyn Write, listing: &Listing<'_>) -> io::Result<()> {
    writeln!(out, "# {}", visible(&describe(listing)))?;
    let address = if listing.base.is_some() { "ADDRESS" } else { "RVA" };
    let width = if listing.base.is_some() { 12 } else { 8 };
    writeln!(out, "{address:>width$} {:>6} {:>width$} {:>6} {:>8} NAME", "SIZE", "COLD", "+SIZE", "TOKEN")?;
    let base = listing.base.map_or(0, |base| base.0);
    let hex = |rva: u32| format!("{:x}", base.wrapping_add(rva.into()));
    listing.for_each_row(|row| {
        let cold = row.method.cold;
        let [cold_start, cold_size] = [cold.map(|cold| hex(cold.start)), cold.map(|cold| format!("{:x}", cold.size))]
            .map(|text| text.unwrap_or_else(|| "-".to_owned()));
        let start = hex(row.method.start);
        write!(out, "{start:>width$} {:>6x} {cold_start:>width$} {cold_size:>6} ", row.method.size)?;
        write!(out, "{:08x} {}", row.token, visible(&row.name))?;
        match row.aliases {
            0 => writeln!(out),
            more => writeln!(out, " (+{more} with the same code)"),
        }
    })
}

fn describe(listing: &Listing<'_>) -> String {
    let count = listing.methods.methods().len();
    let mut text = format!("{}: {}, {count} precompiled methods", listing.path, listing.assembly());
    if let Some(format) = listing.format() {
        text.push_str(&format!(", ReadyToRun {format}"));
    }
    text.push_str(&format!(", MVID {}", listing.image.identity()));
    if let Some(base) = listing.base {
        text.push_str(&format!(", loaded at {:#x}", base.0));
    }
    let damaged: u64 = listing.methods.problems().iter().map(|problem| u64::from(problem.count)).sum();
    if damaged > 0 {
        text.push_str(&format!(", {damaged} damaged table entries left out"));
    }
    text
}

/// One line of the list of images.
pub(super) struct Summary {
    pub(super) base: Option<u64>,
    pub(super) size: u32,
    pub(super) methods: usize,
    pub(super) format: Option<String>,
    pub(super) path: String,
}

impl Summary {
    pub(super) fn of(listing: &Listing<'_>) -> Self {
        Self {
            base: listing.base.map(|base| base.0),
            size: listing.image.pe().image_size(),
            methods: listing.methods.methods().len(),
            format: listing.format(),
            path: listing.path.clone(),
        }
    }
}

/// Writes the list of images. Those without precompiled code have no version of its format.
pub(super) fn write_summaries(out: &mut dyn Write, images: &[Summary]) -> io::Result<()> {
    let loaded = images.iter().any(|image| image.base.is_some());
    let base = |base: Option<u64>| match (loaded, base) {
        (false, _) => String::new(),
        (true, None) => format!("{:>12} ", "-"),
        (true, Some(base)) => format!("{base:>12x} "),
    };
    let title = if loaded { format!("{:>12} ", "BASE") } else { String::new() };
    writeln!(out, "{title}{:>8} {:>7} {:>5} PATH", "SIZE", "METHODS", "R2R")?;
    for image in images {
        write!(out, "{}{:>8x} {:>7} ", base(image.base), image.size, image.methods)?;
        let format = image.format.as_deref().unwrap_or("-");
        writeln!(out, "{format:>5} {}", visible(&image.path))?;
    }
    Ok(())
}
