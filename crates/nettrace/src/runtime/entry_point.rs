//! Entry points of precompiled methods.

use strata_address::Avma;

use super::{skip_instance, text};
use crate::cursor::Cursor;
use crate::problem::Damage;
use crate::runtime::MethodNames;

/// The runtime looked for precompiled code of a method that was about to run for the first time (`R2RGetEntryPoint`).
///
/// It says neither how large the code is nor which module it is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryPointEvent<'a> {
    /// The runtime's id of the method.
    pub method_id: u64,
    /// Its names.
    pub names: MethodNames<'a>,
    /// Where its code begins; 0 when there was none. The runtime can still decide against using it.
    pub start: Avma,
}

impl<'a> EntryPointEvent<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        let method_id = cursor.u64()?;
        let names = MethodNames { namespace: text(cursor)?, name: text(cursor)?, signature: text(cursor)? };
        let start = Avma(cursor.u64()?);
        skip_instance(cursor)?;
        Ok(Self { method_id, names, start })
    }
}
