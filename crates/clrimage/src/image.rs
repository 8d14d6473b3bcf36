//! An image as a whole.

use crate::methods;
use crate::r2r::RuntimeFunctions;
use crate::{Error, InstanceSignature, Layout, MethodTable, Pe, ReadyToRun, SectionKind, UnwindTables};

/// A .NET image: its PE file, and what is in it for the runtime.
///
/// It holds slices of the bytes it was made from and is cheap to make, so it is made again when it is wanted again.
#[derive(Clone, Copy, Debug)]
pub struct Image<'d> {
    pe: Pe<'d>,
    ready_to_run: Option<ReadyToRun<'d>>,
}

impl<'d> Image<'d> {
    /// Reads the headers of the file and of its parts.
    ///
    /// # Errors
    /// When the bytes are no PE file, or one of the headers is damaged.
    pub fn parse(bytes: &'d [u8], layout: Layout) -> Result<Self, Error> {
        let pe = Pe::parse(bytes, layout)?;
        let ready_to_run = ReadyToRun::find(&pe)?;
        Ok(Self { pe, ready_to_run })
    }

    /// The PE file.
    pub const fn pe(&self) -> &Pe<'d> {
        &self.pe
    }

    /// The header of the code that was compiled ahead of time, or `None` when there is no such code.
    pub const fn ready_to_run(&self) -> Option<&ReadyToRun<'d>> {
        self.ready_to_run.as_ref()
    }

    /// Where every precompiled method is. An image without such code has an empty table.
    ///
    /// Takes about a millisecond for ten thousand methods.
    ///
    /// # Errors
    /// When the table of code ranges is not there, or is for a machine that is not known. What is damaged elsewhere is
    /// left out and told by [`MethodTable::problems`].
    pub fn methods(&self) -> Result<MethodTable, Error> {
        self.ready_to_run.map_or_else(|| Ok(MethodTable::default()), |header| methods::build(&self.pe, &header, &[]))
    }

    /// The signature of an instantiation, by [`MethodSource::Instance`](crate::MethodSource::Instance).
    ///
    /// # Errors
    /// When there is none at that place.
    pub fn instance(&self, signature: u32) -> Result<InstanceSignature<'d>, Error> {
        let what = "instance entry points";
        let place = self.section(SectionKind::InstanceMethodEntryPoints).unwrap_or_default();
        let section = self.pe.cursor(place, what)?;
        let offset = section.offset().saturating_add(crate::pe::usize_of(signature));
        InstanceSignature::parse(&mut section.at(offset))
    }

    /// Where the image's unwind data is, or `None` when it has no code.
    ///
    /// # Errors
    /// When the table of code ranges is not there, or is for a machine that is not known.
    pub fn unwind_tables(&self) -> Result<Option<UnwindTables>, Error> {
        let Some(place) = self.section(SectionKind::RuntimeFunctions) else { return Ok(None) };
        Ok(RuntimeFunctions::parse(&self.pe, place)?.unwind_tables(place))
    }

    fn section(&self, kind: SectionKind) -> Option<crate::Directory> {
        self.ready_to_run?.core().section(kind)
    }
}
