//! Modules and assemblies.

use super::{skip_instance, text};
use crate::cursor::Cursor;
use crate::event::Guid;
use crate::problem::Damage;
use crate::text::Utf16;

/// A module (`ModuleLoad`, `ModuleUnload`, `ModuleDCEnd`). No event says at which address it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModuleEvent<'a> {
    /// The runtime's id of the module.
    pub module_id: u64,
    /// The runtime's id of its assembly.
    pub assembly_id: u64,
    /// What kind of module it is.
    pub flags: ModuleFlags,
    /// File with its IL.
    pub il_path: Utf16<'a>,
    /// File with its precompiled code where that is another one; usually empty.
    pub native_path: Utf16<'a>,
    /// Debug information for its IL, from version 2.
    pub managed_pdb: Option<PdbSignature<'a>>,
    /// Debug information for its precompiled code, from version 2.
    pub native_pdb: Option<PdbSignature<'a>>,
    /// Build id of the precompiled code, from version 3.
    pub native_build_id: Option<Utf16<'a>>,
}

/// Which file of debug information belongs to a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PdbSignature<'a> {
    /// Its signature; all zero when there is none.
    pub signature: Guid,
    /// Its age.
    pub age: u32,
    /// Where it was when the module was built.
    pub build_path: Utf16<'a>,
}

impl<'a> ModuleEvent<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>, version: u32) -> Result<Self, Damage> {
        let (module_id, assembly_id) = (cursor.u64()?, cursor.u64()?);
        let flags = ModuleFlags(cursor.u32()?);
        let _reserved = cursor.u32()?;
        let mut module = Self {
            module_id,
            assembly_id,
            flags,
            il_path: text(cursor)?,
            native_path: text(cursor)?,
            managed_pdb: None,
            native_pdb: None,
            native_build_id: None,
        };
        if version >= 1 {
            skip_instance(cursor)?;
        }
        if version >= 2 {
            module.managed_pdb = Some(PdbSignature::read(cursor)?);
            module.native_pdb = Some(PdbSignature::read(cursor)?);
        }
        if version >= 3 {
            module.native_build_id = Some(text(cursor)?);
        }
        Ok(module)
    }
}

impl<'a> PdbSignature<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        Ok(Self { signature: Guid(*cursor.array()?), age: cursor.u32()?, build_path: text(cursor)? })
    }
}

/// What kind of module it is, as the runtime's bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleFlags(pub u32);

impl ModuleFlags {
    /// Made at run time: there is no file.
    pub fn is_dynamic(self) -> bool {
        self.0 & 0x4 != 0
    }

    /// Holds the assembly's manifest.
    pub fn is_manifest(self) -> bool {
        self.0 & 0x8 != 0
    }

    /// Has precompiled code that the runtime uses.
    pub fn is_ready_to_run(self) -> bool {
        self.0 & 0x20 != 0
    }
}

/// A module in its application domain (`DomainModuleLoad`, `DomainModuleDCEnd`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DomainModuleEvent<'a> {
    /// The runtime's id of the module.
    pub module_id: u64,
    /// The runtime's id of its assembly.
    pub assembly_id: u64,
    /// The runtime's id of the application domain.
    pub domain_id: u64,
    /// What kind of module it is.
    pub flags: ModuleFlags,
    /// File with its IL.
    pub il_path: Utf16<'a>,
    /// File with its precompiled code where that is another one.
    pub native_path: Utf16<'a>,
}

impl<'a> DomainModuleEvent<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        let (module_id, assembly_id, domain_id) = (cursor.u64()?, cursor.u64()?, cursor.u64()?);
        let flags = ModuleFlags(cursor.u32()?);
        let _reserved = cursor.u32()?;
        Ok(Self { module_id, assembly_id, domain_id, flags, il_path: text(cursor)?, native_path: text(cursor)? })
    }
}

/// An assembly (`AssemblyLoad`, `AssemblyUnload`, `AssemblyDCEnd`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AssemblyEvent<'a> {
    /// The runtime's id of the assembly.
    pub assembly_id: u64,
    /// The runtime's id of the application domain.
    pub domain_id: u64,
    /// The runtime's id of the binding, 0 when unused.
    pub binding_id: u64,
    /// What kind of assembly it is.
    pub flags: AssemblyFlags,
    /// Full name: simple name, version, culture, public key token.
    pub full_name: Utf16<'a>,
}

impl<'a> AssemblyEvent<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        Ok(Self {
            assembly_id: cursor.u64()?,
            domain_id: cursor.u64()?,
            binding_id: cursor.u64()?,
            flags: AssemblyFlags(cursor.u32()?),
            full_name: text(cursor)?,
        })
    }
}

/// What kind of assembly it is, as the runtime's bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AssemblyFlags(pub u32);

impl AssemblyFlags {
    /// Made at run time: there is no file.
    pub fn is_dynamic(self) -> bool {
        self.0 & 0x2 != 0
    }

    /// Can be unloaded.
    pub fn is_collectible(self) -> bool {
        self.0 & 0x8 != 0
    }

    /// Has precompiled code that the runtime uses.
    pub fn is_ready_to_run(self) -> bool {
        self.0 & 0x10 != 0
    }
}
