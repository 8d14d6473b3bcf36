//! From an image and a method's source to its name.

use super::NameError;
use super::method::MethodName;
use super::modules::{Assemblies, Modules};
use crate::bytes::Cursor;
use crate::metadata::Metadata;
use crate::{Image, InstanceSignature, MethodSource};

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
    /// What gives names to this image's methods. `others` has the metadata of other assemblies, which composite images need
    /// unless they hold it themselves; [`NoAssemblies`](crate::NoAssemblies) is enough for the images of a runtime.
    pub fn names<'a>(&self, others: &'a dyn Assemblies<'d>) -> Names<'a, 'd> {
        Names { image: Some(*self), modules: Modules::of_image(self, others) }
    }
}
