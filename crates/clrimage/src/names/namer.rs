//! From an image and a method's source to its name.

use super::NameError;
use super::embedded::Embedded;
use super::method::MethodName;
use super::modules::{Assemblies, Modules};
use crate::bytes::Cursor;
use crate::metadata::Metadata;
use crate::{Error, Image, InstanceSignature, MethodSource, SectionKind};

/// Gives names to the methods of one image.
///
/// Made once for many names: it has read the headers of the image's metadata and manifest, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a, 'd> {
    image: Option<Image<'d>>,
    modules: Modules<'a, 'd>,
}

impl<'a, 'd> Names<'a, 'd> {
    /// Names from metadata alone, without an image: `manifest` is what ReadyToRun section 112 would hold, and `format` the
    /// version of the ReadyToRun header, which decides how modules are numbered.
    pub fn from_metadata(
        own: Option<Metadata<'d>>,
        manifest: Option<Metadata<'d>>,
        format: (u16, u16),
        others: &'a dyn Assemblies<'d>,
    ) -> Self {
        Self { image: None, modules: Modules::new(own, manifest, format, others) }
    }

    /// The name of a method of the image.
    ///
    /// # Errors
    /// There is no such row or signature, it is damaged, or the metadata of another assembly is needed and not at hand.
    pub fn name(&self, source: &MethodSource) -> Result<MethodName<'a, 'd>, NameError> {
        match *source {
            MethodSource::Definition { component, rid } => MethodName::of_definition(&self.modules, component, rid),
            MethodSource::Instance { signature, .. } => {
                let image = self.image.ok_or(NameError::NoModule { index: 0 })?;
                MethodName::of_instance(&self.modules, &image.instance(signature)?)
            }
        }
    }

    /// The name of the instance that a signature stands for: ReadyToRun's method signature (flags, owner, token, type
    /// arguments), from its first byte on.
    ///
    /// # Errors
    /// As for [`Names::name`].
    pub fn of_signature(&self, signature: &'d [u8]) -> Result<MethodName<'a, 'd>, NameError> {
        let signature = InstanceSignature::parse(&mut Cursor::new(signature, "method signature"))?;
        MethodName::of_instance(&self.modules, &signature)
    }
}

impl<'d> Image<'d> {
    /// The metadata of the assembly that this image is; none in a composite image.
    ///
    /// # Errors
    /// The metadata's headers are damaged.
    pub fn metadata(&self) -> Result<Option<Metadata<'d>>, Error> {
        let Some(place) = self.pe().cli_header()?.map(|header| header.metadata).filter(|place| !place.is_empty())
        else {
            return Ok(None);
        };
        self.pe().bytes_at(place.rva, place.size).and_then(Metadata::parse).map(Some)
    }

    /// What gives names to this image's methods. `others` has the metadata of other assemblies, which composite images need
    /// unless they hold it themselves; [`NoAssemblies`](crate::NoAssemblies) is enough for the images of a runtime.
    ///
    /// # Errors
    /// The metadata's headers are damaged. A damaged manifest is none.
    pub fn names<'a>(&self, others: &'a dyn Assemblies<'d>) -> Result<Names<'a, 'd>, Error> {
        let section = |kind| self.ready_to_run()?.core().section(kind);
        let manifest = section(SectionKind::ManifestMetadata)
            .and_then(|place| self.pe().bytes_at(place.rva, place.size).ok())
            .and_then(|metadata| Metadata::parse(metadata).ok());
        let embedded = section(SectionKind::ComponentAssemblies).map(|list| Embedded { pe: *self.pe(), list });
        let is_composite = self.ready_to_run().is_some_and(|header| header.is_composite());
        let own = if is_composite { None } else { self.metadata()? };
        let format = self.ready_to_run().map_or((0, 0), |header| header.version());
        let modules = Modules::new(own, manifest, format, others).with_embedded(embedded);
        Ok(Names { image: Some(*self), modules })
    }
}
