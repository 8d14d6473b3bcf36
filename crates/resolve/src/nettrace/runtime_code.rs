//! Code as the runtime that wrote the stream told of it, and images at hand.

use super::images::FoundImages;
use super::names::{CodeInTime, Role};
use crate::managed::{ManagedCode, Method};
use crate::paths;
use crate::symbols::Named;
use strata_address::Avma;
use strata_profile::{CodeKind, Found, Gap, Module, NameSource, Timestamp, Unnamed};

/// Both of them, in the order in which they are asked.
pub(super) struct RuntimeCode<'f> {
    pub(super) managed: ManagedCode,
    pub(super) images: FoundImages<'f>,
}

impl RuntimeCode<'_> {
    /// What is to be told of images.
    pub(super) fn take_notices(&mut self) -> Vec<Gap> {
        self.images.take_notices()
    }
}

impl CodeInTime for RuntimeCode<'_> {
    /// What the runtime said of the address, else what the image says that is there, else that it is unknown.
    fn name(&mut self, address: Avma, at: Timestamp) -> (Named, Timestamp) {
        let (method, until) = self.managed.look_up(address, at);
        let named = method.map(of_method).or_else(|| self.images.name(address)).unwrap_or_else(|| Named {
            name: format!("[.NET code at {address}]"),
            module: None,
            kind: CodeKind::Managed,
            source: NameSource::None(Unnamed::NoMethod),
            line: None,
        });
        (named, until)
    }

    fn found(&self, _: Role) -> Found {
        Found::RuntimeStack
    }
}

fn of_method(method: &Method) -> Named {
    let module = method.module.as_ref().map(|module| Module {
        name: paths::stem_anywhere(&module.path).to_owned(),
        path: module.path.to_string(),
        build_id: None,
    });
    Named { name: method.name.clone(), module, kind: method.kind, source: method.source, line: None }
}
