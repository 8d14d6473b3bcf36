//! Methods: loads, unloads, and lists of those already there.

use core::fmt;

use strata_address::{Avma, AvmaRange};

use super::{skip_instance, text};
use crate::cursor::Cursor;
use crate::problem::Damage;
use crate::text::Utf16;

/// One compiled body of a method (`MethodLoad`, `MethodUnload`, `MethodDCEnd` and their verbose forms).
///
/// A method has several bodies over time, all of which can live at once; (`method_id`, `start`) tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodEvent<'a> {
    /// The runtime's id of the method: reused after its loader is unloaded.
    pub method_id: u64,
    /// The runtime's id of the module; 0 for the JIT's helpers.
    pub module_id: u64,
    /// Where the body's hot part begins.
    pub start: Avma,
    /// Size of the hot part, bytes.
    pub size: u32,
    /// Metadata token of the method (`0x06......`), 0 for dynamic methods.
    pub token: u32,
    /// What kind of code it is.
    pub flags: MethodFlags,
    /// Its names; `None` in the short form of the event.
    pub names: Option<MethodNames<'a>>,
    /// Which version of the method's code this is; 0 is its first body.
    pub code_version: u64,
}

/// What a method is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodNames<'a> {
    /// Full name of the type with its namespace; `dynamicClass` for dynamic methods.
    pub namespace: Utf16<'a>,
    /// Name of the method.
    pub name: Utf16<'a>,
    /// Signature in the notation of IL: `instance void  (int32,class System.String)`.
    pub signature: Utf16<'a>,
}

impl<'a> MethodEvent<'a> {
    /// The addresses of the hot part, or `None` when it has none.
    pub fn range(&self) -> Option<AvmaRange> {
        AvmaRange::sized(self.start, u64::from(self.size))
    }

    pub(super) fn read(cursor: &mut Cursor<'a>, version: u32) -> Result<Self, Damage> {
        let mut method = Self::read_fixed(cursor)?;
        method.read_tail(cursor, version)?;
        Ok(method)
    }

    pub(super) fn read_verbose(cursor: &mut Cursor<'a>, version: u32) -> Result<Self, Damage> {
        let mut method = Self::read_fixed(cursor)?;
        let strings = *cursor;
        match Self::read_names(cursor).and_then(|names| method.read_tail(cursor, version).map(|()| names)) {
            Ok(names) => method.names = Some(names),
            Err(_) if method.flags.is_jit_helper() => {
                // Runtimes up to .NET 5 leave a null string out altogether; a JIT helper has only a name.
                *cursor = strings;
                method.names = Some(MethodNames { name: text(cursor)?, ..MethodNames::default() });
                method.read_tail(cursor, version)?;
            }
            Err(damage) => return Err(damage),
        }
        Ok(method)
    }

    fn read_fixed(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        Ok(Self {
            method_id: cursor.u64()?,
            module_id: cursor.u64()?,
            start: Avma(cursor.u64()?),
            size: cursor.u32()?,
            token: cursor.u32()?,
            flags: MethodFlags(cursor.u32()?),
            names: None,
            code_version: 0,
        })
    }

    fn read_names(cursor: &mut Cursor<'a>) -> Result<MethodNames<'a>, Damage> {
        Ok(MethodNames { namespace: text(cursor)?, name: text(cursor)?, signature: text(cursor)? })
    }

    fn read_tail(&mut self, cursor: &mut Cursor<'a>, version: u32) -> Result<(), Damage> {
        if version >= 1 {
            skip_instance(cursor)?;
        }
        if version >= 2 {
            // The runtime calls this ReJITID, and puts the version of the native code there.
            self.code_version = cursor.u64()?;
        }
        Ok(())
    }
}

/// The JIT begins to compile a method (`MethodJittingStarted`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JittingStarted<'a> {
    /// The runtime's id of the method.
    pub method_id: u64,
    /// The runtime's id of the module.
    pub module_id: u64,
    /// Metadata token of the method.
    pub token: u32,
    /// Size of its IL, bytes.
    pub il_size: u32,
    /// Its names.
    pub names: MethodNames<'a>,
}

impl<'a> JittingStarted<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        Ok(Self {
            method_id: cursor.u64()?,
            module_id: cursor.u64()?,
            token: cursor.u32()?,
            il_size: cursor.u32()?,
            names: MethodEvent::read_names(cursor)?,
        })
    }
}

/// What kind of code a body is, as the runtime's bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MethodFlags(pub u32);

impl MethodFlags {
    /// A `DynamicMethod` or a stub made of IL.
    pub fn is_dynamic(self) -> bool {
        self.0 & 0x1 != 0
    }

    /// An instance of generic code.
    pub fn is_generic(self) -> bool {
        self.0 & 0x2 != 0
    }

    /// Code that several generic instances share.
    pub fn has_shared_generic_code(self) -> bool {
        self.0 & 0x4 != 0
    }

    /// Compiled by the JIT; otherwise it was compiled ahead of time.
    pub fn is_jitted(self) -> bool {
        self.0 & 0x8 != 0
    }

    /// A helper routine of the JIT.
    pub fn is_jit_helper(self) -> bool {
        self.0 & 0x10 != 0
    }

    /// The cold part of a body (runtimes up to 3.1 only).
    pub fn is_cold(self) -> bool {
        self.0 >> 28 == 1
    }

    /// How the runtime made the code.
    pub fn tier(self) -> Tier {
        // Rundowns of 3.1 to 10.0 give precompiled code the bits of optimised code.
        if !self.is_jitted() {
            return Tier::ReadyToRun;
        }
        match (self.0 >> 7) & 7 {
            0 => Tier::Unknown,
            1 => Tier::MinOptJitted,
            2 => Tier::Optimized,
            3 => Tier::QuickJitted,
            4 => Tier::OptimizedTier1,
            5 => Tier::OptimizedTier1Osr,
            6 => Tier::QuickJittedInstrumented,
            _ => Tier::OptimizedTier1Instrumented,
        }
    }
}

/// How the runtime made a body. `Display` spells it as the runtime does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Tier {
    /// The runtime does not say (.NET Core 2).
    Unknown,
    /// Without optimisation, for debugging.
    MinOptJitted,
    /// Optimised, outside of tiering.
    Optimized,
    /// Tier 0.
    QuickJitted,
    /// Tier 1.
    OptimizedTier1,
    /// Tier 1, entered from the middle of a running tier 0 body.
    OptimizedTier1Osr,
    /// Tier 0 with counters.
    QuickJittedInstrumented,
    /// Tier 1 with counters, in place of precompiled code.
    OptimizedTier1Instrumented,
    /// Compiled ahead of time. The runtime has no tier for it, and only says that it was not jitted.
    ReadyToRun,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "Unknown",
            Self::MinOptJitted => "MinOptJitted",
            Self::Optimized => "Optimized",
            Self::QuickJitted => "QuickJitted",
            Self::OptimizedTier1 => "OptimizedTier1",
            Self::OptimizedTier1Osr => "OptimizedTier1OSR",
            Self::QuickJittedInstrumented => "QuickJittedInstrumented",
            Self::OptimizedTier1Instrumented => "OptimizedTier1Instrumented",
            Self::ReadyToRun => "ReadyToRun",
        })
    }
}
