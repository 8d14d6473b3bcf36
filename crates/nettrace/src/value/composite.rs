//! Values made of values.

use core::fmt;

use super::list::List;
use super::reader::Reader;
use super::{Quoted, Value};
use crate::fields::FieldType;
use crate::problem::Damage;

/// An array of anything but bytes and code units, which has been found to fit into its payload.
#[derive(Clone, Copy)]
pub struct Array<'a> {
    element: &'a FieldType,
    count: usize,
    start: Reader<'a>,
}

impl<'a> Array<'a> {
    pub(super) fn new(element: &'a FieldType, count: usize, start: Reader<'a>) -> Self {
        Self { element, count, start }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The elements, all of one type.
    pub fn iter(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let (element, mut reader) = (self.element, self.start.in_array());
        (0..self.count).map_while(move |_| reader.value(element).ok())
    }
}

impl PartialEq for Array<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Display for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, element) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}", Quoted(element))?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Array<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Values with names, which have been found to fit into their payload.
#[derive(Clone, Copy)]
pub struct Object<'a>(List<'a>);

impl<'a> Object<'a> {
    pub(super) fn new(list: List<'a>) -> Self {
        Self(list)
    }

    /// Where it ends, if it fits.
    pub(super) fn end(&self) -> Result<Reader<'a>, Damage> {
        let mut list = self.0;
        while let Some(field) = list.next() {
            field?;
        }
        Ok(list.reader())
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.0.remaining()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names and values, in the order of the payload.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        let mut list = self.0;
        core::iter::from_fn(move || list.next()?.ok())
    }
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Display for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{name}: {}", Quoted(value))?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
