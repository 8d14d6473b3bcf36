//! The note beside each sample's chain in a recording: how its frames were found and how it ends.
//!
//! It travels in the raw data of a `perf.data` sample, where other readers ignore it. Layout, all bytes:
//! version (1), end (0 = root, 8 = untold, else 1 + the [`Cut`]), then pairs (how found, how many frames) over the *user* frames
//! of the chain, leaf first; a count over 255 takes several pairs. Padding zeros may follow.

use crate::{Cut, Found, StackEnd};

const VERSION: u8 = 1;

/// A way's code is its place here. Recordings keep the codes, so a place that is free stays free.
const FOUND: [Option<Found>; 10] = [
    Some(Found::Ip),
    Some(Found::Cfi),
    Some(Found::FramePointer),
    Some(Found::Instructions),
    Some(Found::KernelChain),
    Some(Found::LiveMemory),
    None,
    Some(Found::KnownRoot),
    Some(Found::RuntimeStack),
    Some(Found::TraceStack),
];

const CUTS: [Cut; 7] = [
    Cut::MemoryNotRead,
    Cut::MemoryChanged,
    Cut::NotCode,
    Cut::NoUnwindData,
    Cut::BadFramePointer,
    Cut::TooDeep,
    Cut::Unknown,
];

/// A way's place in [`FOUND`].
const fn found_code(found: Found) -> u8 {
    match found {
        Found::Ip => 0,
        Found::Cfi => 1,
        Found::FramePointer => 2,
        Found::Instructions => 3,
        Found::KernelChain => 4,
        Found::LiveMemory => 5,
        // 6 is free.
        Found::KnownRoot => 7,
        Found::RuntimeStack => 8,
        Found::TraceStack => 9,
    }
}

/// The code of a stack that does not say how it ends.
const UNTOLD: u8 = 8;

/// 0 for a whole stack, else 1 + the reason's place in [`CUTS`], or [`UNTOLD`].
const fn end_code(end: StackEnd) -> u8 {
    match end {
        StackEnd::Root => 0,
        StackEnd::Cut(Cut::MemoryNotRead) => 1,
        StackEnd::Cut(Cut::MemoryChanged) => 2,
        StackEnd::Cut(Cut::NotCode) => 3,
        StackEnd::Cut(Cut::NoUnwindData) => 4,
        StackEnd::Cut(Cut::BadFramePointer) => 5,
        StackEnd::Cut(Cut::TooDeep) => 6,
        StackEnd::Cut(Cut::Unknown) => 7,
        StackEnd::Untold => UNTOLD,
    }
}

/// Appends the note of a stack whose user frames, leaf first, were found like this.
pub fn encode(end: StackEnd, found: impl Iterator<Item = Found>, into: &mut Vec<u8>) {
    into.push(VERSION);
    into.push(end_code(end));
    let mut run: Option<(Found, u8)> = None;
    for found in found {
        match &mut run {
            Some((same, count)) if *same == found && *count < u8::MAX => *count += 1,
            _ => {
                if let Some((found, count)) = run {
                    into.extend([found_code(found), count]);
                }
                run = Some((found, 1));
            }
        }
    }
    if let Some((found, count)) = run {
        into.extend([found_code(found), count]);
    }
}

/// What a note says.
#[derive(Clone, Copy, Debug)]
pub struct StackNote<'a> {
    /// How the stack ends.
    pub end: StackEnd,
    runs: &'a [u8],
}

impl StackNote<'_> {
    /// How each user frame was found, leaf first. Frames beyond the last are not described.
    pub fn found(&self) -> impl Iterator<Item = Found> + '_ {
        self.runs
            .chunks_exact(2)
            .map_while(|pair| {
                let [code, count] = pair else { return None };
                let found = FOUND.get(usize::from(*code)).copied()??;
                (*count > 0).then(|| std::iter::repeat_n(found, usize::from(*count)))
            })
            .flatten()
    }
}

/// Reads a note; `None` when these bytes are none (a sample of another recorder).
pub fn decode(bytes: &[u8]) -> Option<StackNote<'_>> {
    let [VERSION, end, runs @ ..] = bytes else { return None };
    let end = match *end {
        0 => StackEnd::Root,
        UNTOLD => StackEnd::Untold,
        cut => StackEnd::Cut(CUTS.get(usize::from(cut).checked_sub(1)?).copied()?),
    };
    Some(StackNote { end, runs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_and_every_way_survives() {
        for end in [StackEnd::Root, StackEnd::Untold].into_iter().chain(CUTS.map(StackEnd::Cut)) {
            let found: Vec<Found> =
                FOUND.into_iter().flatten().flat_map(|found| std::iter::repeat_n(found, 300)).collect();
            let mut bytes = Vec::new();
            encode(end, found.iter().copied(), &mut bytes);
            bytes.extend([0; 6]);
            let note = decode(&bytes).unwrap();
            assert_eq!(note.end, end);
            assert_eq!(note.found().collect::<Vec<_>>(), found);
        }
    }

    /// The numbers are those of recordings that exist: they stay, and each is read back as what was written.
    #[test]
    fn numbers_are_places_in_the_tables_that_are_read() {
        for (place, found) in FOUND.into_iter().enumerate().filter_map(|(place, found)| Some((place, found?))) {
            assert_eq!(usize::from(found_code(found)), place, "{found:?}");
        }
        assert_eq!(end_code(StackEnd::Root), 0);
        for (place, cut) in CUTS.into_iter().enumerate() {
            assert_eq!(usize::from(end_code(StackEnd::Cut(cut))), place + 1, "{cut:?}");
        }
    }

    #[test]
    fn foreign_bytes_are_no_note() {
        for bytes in [&[][..], &[1], &[2, 0], &[1, 99], &[0; 16]] {
            assert!(decode(bytes).is_none(), "{bytes:?}");
        }
        assert_eq!(decode(&[1, 0, 99, 4, 0, 4]).unwrap().found().count(), 0);
        assert_eq!(decode(&[1, 0, 6, 4, 0, 4]).unwrap().found().count(), 0, "a free place is no way");
        assert_eq!(decode(&[1, 0, 7, 1]).unwrap().found().collect::<Vec<_>>(), [Found::KnownRoot]);
    }
}
