//! The map of native to IL offsets in each of its three forms.

use super::encode::{nibbles, packed};

/// A method's debug information.
#[derive(Clone, Debug, Default)]
pub enum Debug {
    /// None.
    #[default]
    None,
    /// Its own map.
    Map(Vec<Bound>),
    /// The map of an earlier method, by its place in the list.
    Of(usize),
    /// Bytes as they are.
    Raw(Vec<u8>),
}

/// One row of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Offset from the method's start.
    pub native: u32,
    /// IL offset; -1 none, -2 prolog, -3 epilog.
    pub il: i32,
    /// Flags, as the form has them.
    pub flags: u32,
}

/// A form of the map, by the major version it came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Nibbles, up to 15.
    Nibbles,
    /// Packed bits with two of flags, 16.
    Packed,
    /// Packed bits with three of flags, from 17 on.
    PackedWithAsync,
    /// The same behind a header of six sizes.
    Fat,
}

impl Form {
    /// The form that a format version has.
    pub fn of_version(major: u16) -> Self {
        match major {
            0..=15 => Self::Nibbles,
            16 => Self::Packed,
            _ => Self::PackedWithAsync,
        }
    }
}

/// The blob of a map, with some bytes of variables behind it.
pub fn blob(bounds: &[Bound], form: Form) -> Vec<u8> {
    let map = match form {
        Form::Nibbles => in_nibbles(bounds),
        Form::Packed => in_bits(bounds, 2),
        Form::PackedWithAsync | Form::Fat => in_bits(bounds, 3),
    };
    let variables = [1, 2, 3];
    let (length, rest) = (map.len() as u32, variables.len() as u32);
    let header = if form == Form::Fat { nibbles(&[0, length, rest, 0, 0, 0, 0]) } else { nibbles(&[length, rest]) };
    [&header, &map, &variables[..]].concat()
}

fn deltas(bounds: &[Bound]) -> impl Iterator<Item = (u32, u32, u32)> {
    let before = std::iter::once(0).chain(bounds.iter().map(|bound| bound.native));
    bounds.iter().zip(before).map(|(bound, before)| (bound.native - before, (bound.il + 3) as u32, bound.flags))
}

fn in_nibbles(bounds: &[Bound]) -> Vec<u8> {
    let rows = deltas(bounds).flat_map(|(native, il, flags)| [native, il, flags]);
    nibbles(&[bounds.len() as u32].into_iter().chain(rows).collect::<Vec<u32>>())
}

fn in_bits(bounds: &[Bound], flag_bits: u32) -> Vec<u8> {
    let width = |largest: Option<u32>| (32 - largest.unwrap_or(0).leading_zeros()).max(1);
    let native_bits = width(deltas(bounds).map(|row| row.0).max());
    let il_bits = width(deltas(bounds).map(|row| row.1).max());
    let numbers: Vec<(u64, u32)> = deltas(bounds)
        .flat_map(|(native, il, flags)| [(flags, flag_bits), (native, native_bits), (il, il_bits)])
        .map(|(number, bits)| (number.into(), bits))
        .collect();
    [nibbles(&[bounds.len() as u32, native_bits - 1, il_bits - 1]), packed(&numbers)].concat()
}
