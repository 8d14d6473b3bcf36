//! Which assemblies the module numbers in an image's signatures mean.

use super::NameError;
use crate::Image;
use crate::metadata::{Metadata, Table};

/// The index of the image's own assembly.
const OWN: u32 = 0;

/// The assembly with the primitive types, as images of .NET Core 3.0 and later name it.
const CORE_LIBRARY: &str = "System.Private.CoreLib";

/// How many assemblies of a composite image are looked at for a name; a whole framework has 170.
const MOST_COMPONENTS: u32 = 1024;

/// Metadata of assemblies other than the image's own: composite images, and code made across assemblies, need it for names.
pub trait Assemblies<'d> {
    /// The metadata of the assembly with this simple name, such as `System.Runtime`.
    fn find(&self, simple_name: &str) -> Option<Metadata<'d>>;
}

/// No other assemblies: enough for the images that runtimes come with.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAssemblies;

impl<'d> Assemblies<'d> for NoAssemblies {
    fn find(&self, _: &str) -> Option<Metadata<'d>> {
        None
    }
}

/// The modules of one image: its own metadata, its manifest, and other assemblies.
#[derive(Clone, Copy)]
pub(super) struct Modules<'a, 'd> {
    own: Option<Metadata<'d>>,
    manifest: Option<Metadata<'d>>,
    format: (u16, u16),
    /// The image, when it is composite: it may hold its assemblies itself.
    composite: Option<Image<'d>>,
    others: &'a dyn Assemblies<'d>,
}

impl<'a, 'd> Modules<'a, 'd> {
    pub(super) fn new(
        own: Option<Metadata<'d>>,
        manifest: Option<Metadata<'d>>,
        format: (u16, u16),
        others: &'a dyn Assemblies<'d>,
    ) -> Self {
        Self { own, manifest, format, composite: None, others }
    }

    /// The modules of an image whose headers were read.
    pub(super) fn of_image(image: &Image<'d>, others: &'a dyn Assemblies<'d>) -> Self {
        let header = image.ready_to_run();
        let composite = header.filter(|header| header.is_composite()).map(|_| *image);
        let own = if composite.is_some() { None } else { image.metadata().copied() };
        // A damaged manifest is none: methods of the image itself need no manifest.
        let manifest = image.manifest().ok().flatten();
        Self { own, manifest, format: header.map_or((0, 0), |header| header.version()), composite, others }
    }

    /// The image's own assembly; none in a composite image.
    pub(super) fn own(&self) -> Option<&Metadata<'d>> {
        self.own.as_ref()
    }

    /// The assembly of an image's component, from 0. An image that is not composite has one: itself.
    pub(super) fn component(&self, number: u32) -> Result<Metadata<'d>, NameError> {
        if let Some(own) = self.own {
            return if number == 0 { Ok(own) } else { Err(NameError::NoModule { index: number }) };
        }
        self.in_manifest(number.saturating_add(1), number)
    }

    /// The assembly with the primitive types.
    pub(super) fn core_library(&self) -> Result<Metadata<'d>, NameError> {
        // A composite image may hold it itself.
        let components = self.composite.map_or(0, |image| image.component_count()).min(MOST_COMPONENTS);
        let mut rows = 1..=components;
        let row = rows.find(|row| referenced(self.manifest, *row, *row) == Ok(CORE_LIBRARY));
        row.map_or_else(|| self.named(CORE_LIBRARY), |row| self.in_manifest(row, row))
    }

    /// The assemblies that a module number of a signature can mean, the likelier first.
    ///
    /// Numbers up to that of the image's own assembly references mean those. Format 6.3 put the manifest itself in the next
    /// place. Before that its assembly references came at once, but the format's note and its reader do not agree on
    /// whether there was an empty place between; the reader's way comes first.
    pub(super) fn of_index(&self, index: u32) -> [Result<Metadata<'d>, NameError>; 2] {
        let missing = Err(NameError::NoModule { index });
        if index == OWN {
            return [self.own.ok_or(NameError::NoModule { index }), missing];
        }
        let references = self.own.map_or(0, |own| own.count(Table::ASSEMBLY_REF));
        let Some(row) = index.checked_sub(references).filter(|row| *row > 0) else {
            return [referenced(self.own, index, index).and_then(|name| self.named(name)), missing];
        };
        let before = row.saturating_sub(1);
        if self.format >= (6, 3) {
            let found = match before {
                0 => self.manifest.ok_or(NameError::NoModule { index }),
                before => self.in_manifest(before, index),
            };
            return [found, missing];
        }
        [self.in_manifest(row, index), self.in_manifest(before, index)]
    }

    /// The assembly in a row of the manifest's references; in a composite image it must be the one that was compiled.
    fn in_manifest(&self, row: u32, index: u32) -> Result<Metadata<'d>, NameError> {
        let name = referenced(self.manifest, row, index)?;
        let component = row.checked_sub(1).and_then(|number| self.composite?.component(number).ok());
        let embedded = component.and_then(|component| component.metadata);
        let found = embedded.map_or_else(|| self.named(name), Ok)?;
        let expected = component.and_then(|component| component.mvid);
        if expected.is_some_and(|expected| found.mvid() != Some(expected)) {
            return Err(NameError::NoAssembly { name: name.to_owned() });
        }
        Ok(found)
    }

    /// The image's own assembly or one beside it.
    fn named(&self, name: &str) -> Result<Metadata<'d>, NameError> {
        let own = self.own.filter(|own| own.assembly_name() == Some(name));
        own.or_else(|| self.others.find(name)).ok_or_else(|| NameError::NoAssembly { name: name.to_owned() })
    }
}

/// The simple name in a row of AssemblyRef, which a module number stands for.
fn referenced(from: Option<Metadata<'_>>, row: u32, index: u32) -> Result<&str, NameError> {
    let from = from.filter(|from| (1..=from.count(Table::ASSEMBLY_REF)).contains(&row));
    Ok(from.ok_or(NameError::NoModule { index })?.assembly_reference(row)?)
}

impl std::fmt::Debug for Modules<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let own = self.own.and_then(|own| own.assembly_name());
        f.debug_struct("Modules").field("own", &own).field("format", &self.format).finish_non_exhaustive()
    }
}
