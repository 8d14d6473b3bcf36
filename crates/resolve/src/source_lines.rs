//! Lines of source, from Portable PDBs.

use crate::images::{About, ImageBytes, Notices, Outside};
use crate::symbols::Line;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::num::NonZeroU32;
use std::rc::Rc;
use strata_clrimage::pdb::{Pdb, PdbId, SourceLink};
use strata_clrimage::{NativeMapping, source_line};
use strata_profile::SourceFile;

/// Which PDB belongs to an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedPdb<'n> {
    pub(crate) signature: [u8; 16],
    /// The other part of its identity, which only images tell.
    pub(crate) timestamp: Option<u32>,
    /// Where it was when the image was built.
    pub(crate) path: &'n str,
}

impl<'n> WantedPdb<'n> {
    /// Its file name; the path is one of any system.
    pub(crate) fn file_name(&self) -> &'n str {
        self.path.rsplit(['/', '\\']).next().unwrap_or(self.path)
    }

    fn is(&self, id: PdbId) -> bool {
        let (signature, timestamp) = id.0.split_at(self.signature.len());
        signature == self.signature && self.timestamp.is_none_or(|wanted| timestamp == wanted.to_le_bytes())
    }
}

/// The lines of all methods of one image.
pub(crate) struct SourceLines {
    /// How the path of the PDB is shown.
    path: String,
    pdb: ImageBytes,
    link: Option<SourceLink>,
    files: RefCell<FxHashMap<u32, Option<Rc<SourceFile>>>>,
}

impl SourceLines {
    /// The lines of a PDB, if it is the wanted one.
    pub(crate) fn new(outside: &Outside<'_>, path: String, pdb: ImageBytes, wanted: WantedPdb<'_>) -> Option<Self> {
        // The others of this name are those of Windows.
        if !pdb.starts_with(b"BSJB") {
            return None;
        }
        let parsed = Pdb::parse(&pdb).inspect_err(|error| outside.notices.tell(About::Lines, &path, error)).ok()?;
        if !wanted.is(parsed.id()) {
            return None;
        }
        let link = parsed.source_link().ok().flatten();
        Some(Self { path, pdb, link, files: RefCell::default() })
    }

    /// The line of the code that lies this far behind the start of a body with this map, of the method of this row.
    pub(crate) fn line(
        &self,
        notices: &Notices,
        method: u32,
        map: &[NativeMapping],
        native_offset: u32,
    ) -> Option<Line> {
        let pdb = Pdb::parse(&self.pdb).ok()?;
        let damaged = |error: &_| notices.tell(About::Lines, &self.path, error);
        let found = source_line(&pdb, method, map, native_offset).inspect_err(damaged).ok()??;
        let file = self.file(&pdb, found.document)?;
        Some(Line { file, number: NonZeroU32::new(found.line)? })
    }

    fn file(&self, pdb: &Pdb<'_>, document: u32) -> Option<Rc<SourceFile>> {
        let read = || {
            let path = pdb.document(document).ok()?;
            let link = self.link.as_ref().and_then(|link| link.url(&path));
            Some(Rc::new(SourceFile { path, link }))
        };
        self.files.borrow_mut().entry(document).or_insert_with(read).clone()
    }
}
