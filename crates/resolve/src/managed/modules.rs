//! Which module an id meant, and when.

use std::collections::BTreeMap;
use std::rc::Rc;
use strata_profile::Timestamp;

/// The file of a module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ModuleFile {
    pub(crate) path: Box<str>,
    /// Signature of its debug information, and where that was when the module was built.
    pub(crate) pdb: Option<([u8; 16], Box<str>)>,
}

/// What a runtime told of its modules. It gives the id of one that it unloaded to another.
#[derive(Debug, Default)]
pub(super) struct Modules {
    told: BTreeMap<(u64, Timestamp), Rc<ModuleFile>>,
}

impl Modules {
    /// The runtime told at this time of a module that it has.
    pub(super) fn told(&mut self, id: u64, at: Timestamp, module: ModuleFile) {
        self.told.insert((id, at), Rc::new(module));
    }

    /// The module of this id that code is from of which the runtime told at this time. Lists of code and of modules follow
    /// each other in either order.
    pub(super) fn at(&self, id: u64, at: Timestamp) -> Option<&Rc<ModuleFile>> {
        const END: Timestamp = Timestamp(u64::MAX);
        let before = self.told.range((id, Timestamp(0))..=(id, at)).next_back();
        let found = before.or_else(|| self.told.range((id, at)..=(id, END)).next());
        found.map(|(_, module)| module)
    }
}
