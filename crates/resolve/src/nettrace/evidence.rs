//! What a stream says of its modules and of where their precompiled methods begin. No event says where a module is.

use rustc_hash::{FxHashMap, FxHashSet};
use strata_address::Avma;
use strata_clrimage::EventName;
use strata_nettrace::runtime::{EntryPointEvent, MethodEvent, ModuleEvent};

/// Gathers it.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    modules: FxHashMap<u64, TracedModule>,
    /// By module: tokens of methods that are no instances, and where their code begins.
    bodies: FxHashMap<u64, FxHashSet<(u32, Avma)>>,
    /// Names of methods of whichever module, and where their code begins.
    entry_points: FxHashSet<(Avma, EventName)>,
}

/// A module of the traced program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TracedModule {
    pub(super) path: String,
    /// Signature and age of its debug information.
    pub(super) pdb: Option<([u8; 16], u32)>,
}

impl Evidence {
    pub(super) fn module(&mut self, event: &ModuleEvent<'_>) {
        let path = event.il_path.to_string();
        if path.is_empty() || event.flags.is_dynamic() {
            return;
        }
        let pdb = event.managed_pdb.filter(|pdb| pdb.signature.0 != [0; 16]);
        let pdb = pdb.map(|pdb| (pdb.signature.0, pdb.age));
        self.modules.insert(event.module_id, TracedModule { path, pdb });
    }

    pub(super) fn method(&mut self, event: &MethodEvent<'_>) {
        let flags = event.flags;
        let other = flags.is_jitted() || flags.is_dynamic() || flags.is_jit_helper() || flags.is_generic();
        if !other && event.token != 0 && event.size > 0 {
            self.bodies.entry(event.module_id).or_default().insert((event.token, event.start));
        }
    }

    pub(super) fn entry_point(&mut self, event: &EntryPointEvent<'_>) {
        if event.start != Avma(0) {
            let name = EventName {
                namespace: event.names.namespace.to_string(),
                name: event.names.name.to_string(),
                signature: event.names.signature.to_string(),
            };
            self.entry_points.insert((event.start, name));
        }
    }

    /// The modules, in the order of their ids.
    pub(super) fn modules(&self) -> Vec<(u64, &TracedModule)> {
        let mut modules: Vec<_> = self.modules.iter().map(|(id, module)| (*id, module)).collect();
        modules.sort_unstable_by_key(|(id, _)| *id);
        modules
    }

    /// Where methods of a module begin, by their tokens.
    pub(super) fn bodies(&self, module: u64) -> impl Iterator<Item = (u32, Avma)> + '_ {
        self.bodies.get(&module).into_iter().flatten().copied()
    }

    /// Where methods begin, by their names.
    pub(super) fn entry_points(&self) -> impl ExactSizeIterator<Item = (&EventName, Avma)> {
        self.entry_points.iter().map(|(start, name)| (name, *start))
    }
}
