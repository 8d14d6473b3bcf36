//! An image as a whole.

use crate::metadata::{Guid, Metadata};
use crate::methods;
use crate::pe::usize_of;
use crate::r2r::Components;
use crate::{
    Directory, Error, ErrorKind, ImageIdentity, InstanceSignature, Layout, MethodTable, Pe, ReadyToRun, SectionKind,
};

/// A .NET image: its PE file, and what is in it for the runtime.
///
/// It holds slices of the bytes it was made from and is cheap to make, so it is made again when it is wanted again.
#[derive(Clone, Copy, Debug)]
pub struct Image<'d> {
    pe: Pe<'d>,
    metadata: Option<Metadata<'d>>,
    ready_to_run: Option<ReadyToRun<'d>>,
}

/// An assembly of a composite image.
#[derive(Clone, Copy, Debug)]
pub struct Component<'d> {
    /// Its simple name, from the manifest.
    pub name: &'d str,
    /// The MVID of the assembly that was compiled, if the image tells.
    pub mvid: Option<Guid>,
    /// Its metadata, if the composite image has the assembly itself; else it is in a file of its own.
    pub metadata: Option<Metadata<'d>>,
}

impl<'d> Image<'d> {
    /// Reads the headers of the file and of its parts.
    ///
    /// # Errors
    /// When the bytes are no PE file, or one of the headers is damaged.
    pub fn parse(bytes: &'d [u8], layout: Layout) -> Result<Self, Error> {
        let pe = Pe::parse(bytes, layout)?;
        let place = pe.cli_header()?.map(|header| header.metadata).filter(|place| !place.is_empty());
        let metadata = place.map(|place| metadata(&pe, place)).transpose()?;
        let ready_to_run = ReadyToRun::find(&pe)?;
        Ok(Self { pe, metadata, ready_to_run })
    }

    /// The PE file.
    pub const fn pe(&self) -> &Pe<'d> {
        &self.pe
    }

    /// The metadata of the assembly; composite images and files that are not .NET's have none.
    pub const fn metadata(&self) -> Option<&Metadata<'d>> {
        self.metadata.as_ref()
    }

    /// The header of the code that was compiled ahead of time, or `None` when there is no such code.
    pub const fn ready_to_run(&self) -> Option<&ReadyToRun<'d>> {
        self.ready_to_run.as_ref()
    }

    /// Which image it is.
    pub fn identity(&self) -> ImageIdentity {
        ImageIdentity::new(self.metadata.and_then(|metadata| metadata.mvid()), self.pe.headers())
    }

    /// Where every precompiled method is. An image without such code has an empty table.
    ///
    /// Takes about a millisecond for ten thousand methods.
    ///
    /// # Errors
    /// When the table of code ranges or the list of assemblies is not there, or is for a machine that is not known. What is
    /// damaged elsewhere is left out and told by [`MethodTable::problems`].
    pub fn methods(&self) -> Result<MethodTable, Error> {
        let Some(header) = &self.ready_to_run else { return Ok(MethodTable::default()) };
        methods::build(&self.pe, header, header.assemblies(&self.pe)?)
    }

    /// The signature of an instantiation, by [`MethodSource::Instance`](crate::MethodSource::Instance).
    ///
    /// # Errors
    /// When there is none at that place.
    pub fn instance(&self, signature: u32) -> Result<InstanceSignature<'d>, Error> {
        let place = self.section(SectionKind::InstanceMethodEntryPoints).unwrap_or_default();
        let section = self.pe.cursor(place, "instance entry points")?;
        let offset = section.offset().saturating_add(usize_of(signature));
        InstanceSignature::parse(&mut section.at(offset))
    }

    /// The metadata that names the assemblies of a composite image, and those an image's code refers to beyond its own
    /// metadata.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn manifest(&self) -> Result<Option<Metadata<'d>>, Error> {
        self.section(SectionKind::ManifestMetadata).map(|place| metadata(&self.pe, place)).transpose()
    }

    /// How many assemblies a composite image is of; 0 for other images.
    pub fn component_count(&self) -> u32 {
        let components = self.ready_to_run.map(|header| Components::parse(&self.pe, &header));
        let count = components.and_then(Result::ok).map_or(0, |components| components.len());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// An assembly of a composite image, by its number in [`MethodSource::Definition`](crate::MethodSource::Definition).
    ///
    /// # Errors
    /// When there is none with that number, or what the image says of it is damaged.
    pub fn component(&self, index: u32) -> Result<Component<'d>, Error> {
        let absent = |what| Error { kind: ErrorKind::Not { what }, offset: 0 };
        let header = self.ready_to_run.ok_or_else(|| absent("a composite image"))?;
        let row = Components::parse(&self.pe, &header)?.row(index)?;
        let manifest = self.manifest()?.ok_or_else(|| absent("an image with a manifest"))?;
        let embedded = (!row.cli_header.is_empty()).then_some(row.cli_header);
        let embedded = embedded.map(|place| metadata(&self.pe, self.pe.cli_header_at(place)?.metadata)).transpose()?;
        Ok(Component {
            name: manifest.assembly_reference(index.saturating_add(1))?,
            mvid: self.mvid_of_component(index),
            metadata: embedded,
        })
    }

    fn mvid_of_component(&self, index: u32) -> Option<Guid> {
        let all = self.pe.cursor(self.section(SectionKind::ManifestAssemblyMvids)?, "MVIDs").ok()?.rest();
        let bytes = all.chunks_exact(16).nth(usize_of(index))?.first_chunk()?;
        Some(Guid(*bytes)).filter(|mvid| !mvid.is_zero())
    }

    /// File name of the composite image that has the code of this assembly; it is in the same folder.
    pub fn owner_composite(&self) -> Option<&'d str> {
        let header = self.ready_to_run.filter(|header| header.core().is_component())?;
        let place = header.core().section(SectionKind::OwnerCompositeExecutable)?;
        let name = self.pe.cursor(place, "name of the composite image").ok()?.rest();
        let name = name.split(|byte| *byte == 0).next()?;
        core::str::from_utf8(name).ok().filter(|name| !name.is_empty())
    }

    fn section(&self, kind: SectionKind) -> Option<Directory> {
        self.ready_to_run?.core().section(kind)
    }
}

/// The metadata at `place`; offsets of errors are into the image's bytes.
fn metadata<'d>(pe: &Pe<'d>, place: Directory) -> Result<Metadata<'d>, Error> {
    let cursor = pe.cursor(place, "metadata")?;
    Metadata::parse(cursor.rest()).map_err(|error| error.moved(cursor.offset()))
}
