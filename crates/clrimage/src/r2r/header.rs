//! The ReadyToRun header and its list of sections.

use crate::bytes::Cursor;
use crate::pe::usize_of;
use crate::{Directory, Error, ErrorKind, Pe};

/// `RTR` and a zero.
const SIGNATURE: u32 = 0x0052_5452;

/// Bytes of an entry of the section list.
const ENTRY: u32 = 12;

/// The format has some thirty kinds of section, each listed once; the list is gone through for each look-up.
const MOST_SECTIONS: u32 = 256;

/// What a table of a ReadyToRun image holds, of those that are used here; the number is the one in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum SectionKind {
    /// Cells through which code calls what lies elsewhere.
    ImportSections = 101,
    /// Range and unwind data of every piece of code.
    RuntimeFunctions = 102,
    /// Entry points of the methods of an assembly, by row.
    MethodDefEntryPoints = 103,
    /// Clauses of exception handlers.
    ExceptionInfo = 104,
    /// Native to IL offsets.
    DebugInfo = 105,
    /// Code that binds a call when it is first made.
    DelayLoadMethodCallThunks = 106,
    /// Entry points of instantiations of generic methods.
    InstanceMethodEntryPoints = 109,
    /// Metadata with the assemblies that the image refers to beyond its own.
    ManifestMetadata = 112,
    /// The assemblies of a composite image.
    ComponentAssemblies = 115,
    /// File name of the composite image that has this assembly's code.
    OwnerCompositeExecutable = 116,
    /// MVIDs of the assemblies in the manifest.
    ManifestAssemblyMvids = 118,
    /// Which rarely run code belongs to which method.
    HotColdMap = 120,
}

/// Flags and tables of an image or of one assembly of a composite image.
#[derive(Clone, Copy, Debug)]
pub struct CoreHeader<'d> {
    flags: u32,
    sections: &'d [u8],
}

impl<'d> CoreHeader<'d> {
    /// Reads flags, a count and the list; the list must be there in full.
    pub(super) fn parse(pe: &Pe<'d>, rva: u32) -> Result<Self, Error> {
        let what = "ReadyToRun header";
        let mut cursor = pe.cursor(Directory { rva, size: 8 }, what)?;
        let flags = cursor.u32()?;
        let count_place = cursor;
        let count = cursor.u32()?;
        if count > MOST_SECTIONS {
            let impossible = ErrorKind::Impossible { what: "number of ReadyToRun sections", value: count.into() };
            return Err(count_place.error(impossible));
        }
        let size = count.saturating_mul(ENTRY);
        let list = pe.cursor(Directory { rva: rva.saturating_add(8), size }, what)?;
        Ok(Self { flags, sections: list.rest() })
    }

    /// The flags, as `READYTORUN_FLAG_*` of the format.
    pub const fn flags(&self) -> u32 {
        self.flags
    }

    /// Whether the code of this assembly is in a composite image.
    pub fn is_component(&self) -> bool {
        self.flags & 0x20 != 0 && self.section(SectionKind::OwnerCompositeExecutable).is_some()
    }

    /// Where a table is, or `None` when it is absent or empty.
    pub fn section(&self, kind: SectionKind) -> Option<Directory> {
        self.sections()
            .find(|(number, _)| *number == kind as u32)
            .map(|(_, place)| place)
            .filter(|place| !place.is_empty())
    }

    /// Number and place of every table.
    pub fn sections(&self) -> impl Iterator<Item = (u32, Directory)> + use<'d> {
        self.sections.chunks_exact(usize_of(ENTRY)).filter_map(|entry| {
            let mut cursor = Cursor::new(entry, "ReadyToRun section");
            Some((cursor.u32().ok()?, Directory::parse(&mut cursor).ok()?))
        })
    }
}

/// The ReadyToRun header of an image: it has code that was compiled ahead of time, or says where that code is.
#[derive(Clone, Copy, Debug)]
pub struct ReadyToRun<'d> {
    major: u16,
    minor: u16,
    is_composite: bool,
    core: CoreHeader<'d>,
}

impl<'d> ReadyToRun<'d> {
    /// Finds and reads the header; `None` when the image holds IL only, or code of the older "NGen" kind.
    pub(crate) fn find(pe: &Pe<'d>) -> Result<Option<Self>, Error> {
        let own = pe.cli_header()?.filter(|header| header.is_il_library() && !header.managed_native_header.is_empty());
        if let Some(header) = own {
            return match Self::parse(pe, header.managed_native_header.rva) {
                Err(Error { kind: ErrorKind::Not { .. }, .. }) => Ok(None),
                found => found.map(Some),
            };
        }
        let Some(rva) = pe.export("RTR_HEADER") else { return Ok(None) };
        Self::parse(pe, rva).map(|header| Some(Self { is_composite: true, ..header }))
    }

    fn parse(pe: &Pe<'d>, rva: u32) -> Result<Self, Error> {
        let mut cursor = pe.cursor(Directory { rva, size: 16 }, "ReadyToRun header")?;
        let start = cursor;
        if cursor.u32()? != SIGNATURE {
            return Err(start.error(ErrorKind::Not { what: "a ReadyToRun header" }));
        }
        let (major, minor) = (cursor.u16()?, cursor.u16()?);
        let core = CoreHeader::parse(pe, rva.saturating_add(8))?;
        Ok(Self { major, minor, is_composite: false, core })
    }

    /// The version of the format: major and minor.
    pub const fn version(&self) -> (u16, u16) {
        (self.major, self.minor)
    }

    /// Flags and tables of the whole image.
    pub const fn core(&self) -> &CoreHeader<'d> {
        &self.core
    }

    /// Whether the image holds the code of several assemblies.
    pub fn is_composite(&self) -> bool {
        self.is_composite || self.core.section(SectionKind::ComponentAssemblies).is_some()
    }
}
