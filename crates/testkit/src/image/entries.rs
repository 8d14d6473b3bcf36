//! The tables that name functions: methods by row, instances by signature, and debug information by function.

use super::code::{Fixups, Method, Name, Placed};
use super::debug_info::{Debug, Form, blob};
use super::encode::native;
use super::native_format::{Element, array, hashtable};

/// The methods of an image, with where they came to lie.
pub(super) struct Entries<'m> {
    methods: Vec<(&'m Method, &'m Placed)>,
}

impl<'m> Entries<'m> {
    pub(super) fn of(methods: &'m [Method], placed: &'m [Placed]) -> Self {
        Self { methods: methods.iter().zip(placed).collect() }
    }

    /// The bytes of an entry in front of its fixups.
    fn head(&self, method: usize) -> Vec<u8> {
        let (method, placed) = self.methods[method];
        match &method.fixups {
            Fixups::None => native(placed.entry << 1),
            Fixups::Own(_) => native(placed.entry << 2 | 1),
            Fixups::Of(_) => native(placed.entry << 2 | 3),
            Fixups::Raw(bytes) => bytes.clone(),
        }
    }

    /// An entry behind `signature`, in a table where `place` tells which element has a method's entry and how long the
    /// signature in front of it is.
    fn element(&self, signature: Vec<u8>, method: usize, place: impl Fn(usize) -> Option<(usize, usize)>) -> Element {
        let head = [signature, self.head(method)].concat();
        match &self.methods[method].0.fixups {
            Fixups::Own(blob) => Element::Bytes([&head[..], blob].concat()),
            Fixups::None | Fixups::Raw(_) => Element::Bytes(head),
            Fixups::Of(other) => {
                let (target, signature) = place(*other).expect("a method in the same table");
                Element::Back { head, target, skip: signature + self.head(*other).len() }
            }
        }
    }

    /// Rows of a component, with the method that has each.
    fn rows(&self, component: usize) -> Vec<(u32, usize)> {
        let names = self
            .methods
            .iter()
            .enumerate()
            .flat_map(|(index, (method, _))| method.names.iter().map(move |name| (index, name)));
        names
            .filter_map(|(index, name)| match name {
                Name::Definition(of, row) if *of == component => Some((*row, index)),
                _ => None,
            })
            .collect()
    }

    pub(super) fn has_definitions(&self, component: usize) -> bool {
        !self.rows(component).is_empty()
    }

    /// The table of methods by row.
    pub(super) fn definitions(&self, component: usize) -> Vec<u8> {
        let rows = self.rows(component);
        let count = rows.iter().map(|(row, _)| *row as usize).max().unwrap_or(0);
        let mut elements = vec![None; count];
        let place =
            |method: usize| rows.iter().find(|(_, index)| *index == method).map(|(row, _)| (*row as usize - 1, 0));
        for (row, method) in &rows {
            elements[*row as usize - 1] = Some(self.element(Vec::new(), *method, place));
        }
        array(&elements, width_for(count))
    }

    /// The table of instances, if there are any.
    pub(super) fn instances(&self) -> Option<Vec<u8>> {
        let names = self
            .methods
            .iter()
            .enumerate()
            .flat_map(|(index, (method, _))| method.names.iter().map(move |name| (index, name)));
        let instances: Vec<(usize, Vec<u8>)> = names
            .filter_map(|(index, name)| match name {
                Name::Instance(instance) => Some((index, instance.bytes())),
                Name::Definition(..) => None,
            })
            .collect();
        let place = |method: usize| {
            let found = instances.iter().position(|(index, _)| *index == method);
            found.map(|element| (element, instances[element].1.len()))
        };
        let elements: Vec<(u32, Element)> = (0_u32..)
            .zip(&instances)
            .map(|(number, (method, signature))| {
                let hash = number.wrapping_mul(0x9e37_79b1) >> 12;
                (hash, self.element(signature.clone(), *method, place))
            })
            .collect();
        let buckets = (elements.len() / 2).max(1).ilog2() as u8;
        (!elements.is_empty()).then(|| hashtable(&elements, buckets, width_for(elements.len() * 4)))
    }

    /// The table of debug information, if there is any.
    pub(super) fn debug_info(&self, form: Form) -> Option<Vec<u8>> {
        let mut elements = Vec::new();
        for (method, placed) in &self.methods {
            let element = match &method.debug {
                Debug::None => continue,
                Debug::Map(bounds) => Element::Bytes([native(0), blob(bounds, form)].concat()),
                Debug::Raw(bytes) => Element::Bytes(bytes.clone()),
                Debug::Of(other) => {
                    Element::Back { head: Vec::new(), target: self.methods[*other].1.entry as usize, skip: 1 }
                }
            };
            elements.resize(placed.entry as usize + 1, None);
            elements[placed.entry as usize] = Some(element);
        }
        (!elements.is_empty()).then(|| array(&elements, width_for(elements.len())))
    }
}

/// Width of the offsets in a table of so many elements.
fn width_for(elements: usize) -> u8 {
    match elements {
        0..=16 => 0,
        17..=1000 => 1,
        _ => 2,
    }
}
