//! Names of precompiled methods, from their image.

use crate::images::{About, ImageBytes, Outside, Refused, Surroundings};
use crate::managed::method_name;
use crate::mappings::Mapped;
use crate::paths;
use crate::source_lines::{SourceLines, WantedPdb};
use crate::symbols::{Line, Named};
use rustc_hash::FxHashMap;
use std::cell::{OnceCell, RefCell};
use strata_address::{Avma, Rva};
use strata_clrimage::debug_directory::DebugDirectory;
use strata_clrimage::metadata::Metadata;
use strata_clrimage::{
    Assemblies, DebugInfo, Error, Image, ImageIdentity, Layout, Method, MethodTable, NameError, Part, Place,
};
use strata_profile::{CodeKind, Module, NameSource, Unnamed};

/// How many times a name may ask for further assemblies.
const MOST_ROUNDS: usize = 16;

/// An image of managed code.
pub(crate) struct ManagedImage {
    bytes: ImageBytes,
    surroundings: Surroundings,
    identity: ImageIdentity,
    module: Module,
    kind: CodeKind,
    methods: MethodTable,
    lines: OnceCell<Option<SourceLines>>,
    /// Images of other assemblies that names needed, by simple name.
    others: RefCell<FxHashMap<String, Option<ImageBytes>>>,
    /// What was found out about addresses: reading all of it again for each sample would take much longer.
    known: RefCell<FxHashMap<Rva, Result<Named, Unnamed>>>,
}

impl ManagedImage {
    /// Reads an image. `path` is how it is shown.
    pub(crate) fn read(bytes: ImageBytes, surroundings: Surroundings, path: &str) -> Result<Self, Refused> {
        let damaged = |error: Error| Refused::damaged(error.to_string());
        let path = paths::without_mark(path);
        let image = Image::parse(&bytes, Layout::File).map_err(damaged)?;
        let methods = image.methods().map_err(damaged)?;
        let name = image.metadata().and_then(|metadata| metadata.assembly_name());
        let name = name.unwrap_or_else(|| paths::stem(path));
        let is_managed = image.metadata().is_some() || image.ready_to_run().is_some();
        Ok(Self {
            identity: image.identity(),
            module: Module { name: name.to_owned(), path: path.to_owned(), build_id: None },
            kind: if is_managed { CodeKind::ReadyToRun } else { CodeKind::Native },
            methods,
            bytes,
            surroundings,
            lines: OnceCell::new(),
            others: RefCell::default(),
            known: RefCell::default(),
        })
    }

    /// What recordings have of it.
    pub(crate) const fn identity(&self) -> &ImageIdentity {
        &self.identity
    }

    pub(crate) const fn module(&self) -> &Module {
        &self.module
    }

    /// What kind of code there is where no method is.
    pub(crate) const fn kind(&self) -> CodeKind {
        self.kind
    }

    /// What of the image could not be read, if anything.
    pub(crate) fn damage(&self) -> Option<String> {
        let problems = self.methods.problems();
        let first = problems.iter().min_by_key(|problem| problem.offset)?;
        let count = problems.iter().fold(0_u32, |sum, problem| sum.saturating_add(problem.count));
        let damaged =
            if count == 1 { "one entry of its tables is damaged" } else { "entries of its tables are damaged" };
        Some(format!("{damaged}, the first at byte {} ({count} in all)", first.offset))
    }

    /// The image as it lies in its file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where RVA 0 is when this mapping is that of the image's code, in a file in which the image begins at `start`.
    pub(crate) fn base_in_file(&self, mapped: Mapped<'_>, start: u64) -> Option<Avma> {
        const PAGE: u64 = 4096;
        let image = Image::parse(&self.bytes, Layout::File).ok()?;
        let code = image.pe().code_section()?;
        let offset = start.checked_add(code.file_offset.into())?;
        // A mapping begins with the page that the section begins in.
        let before = offset.checked_sub(mapped.mapping.file_offset).filter(|before| *before < PAGE)?;
        let base = mapped.mapping.start.0.checked_add(before)?.checked_sub(code.virtual_address.into())?;
        Some(Avma(base))
    }

    /// The RVA of a file offset.
    pub(crate) fn rva_of_file_offset(&self, offset: u64) -> Option<Rva> {
        Image::parse(&self.bytes, Layout::File).ok()?.pe().rva_of_file_offset(offset)
    }

    /// What is at an RVA, or why it has no name.
    pub(crate) fn named(&self, outside: &Outside<'_>, rva: Rva) -> Result<Named, Unnamed> {
        if let Some(known) = self.known.borrow().get(&rva) {
            return known.clone();
        }
        let named = self.find(outside, rva);
        self.known.borrow_mut().insert(rva, named.clone());
        named
    }

    fn find(&self, outside: &Outside<'_>, rva: Rva) -> Result<Named, Unnamed> {
        match self.methods.lookup(rva).ok_or(Unnamed::NoSymbol)? {
            // Behind the last instruction of a method there is none to be sampled or returned to.
            Place::Method { part: Part::Gap, .. } => Err(Unnamed::NoSymbol),
            Place::Method { method, offset, .. } => self.method(outside, method, offset).map_err(|error| {
                outside.notices.tell(About::Names, &self.module.path, &error);
                match error {
                    NameError::NoAssembly { .. } => Unnamed::NoAssembly,
                    _ => Unnamed::Damaged,
                }
            }),
            Place::Thunk { thunk, .. } => Ok(Named {
                name: thunk.to_string(),
                module: Some(self.module.clone()),
                kind: CodeKind::Stub,
                source: NameSource::R2rImage,
                line: None,
            }),
        }
    }

    fn method(&self, outside: &Outside<'_>, method: &Method, offset: u32) -> Result<Named, NameError> {
        let mut rounds = 0..MOST_ROUNDS;
        loop {
            let (error, asked) = {
                let loaded = self.others.borrow();
                let others = Loaded { images: &loaded, asked: RefCell::default() };
                match self.attempt(outside, method, offset, &others) {
                    Ok(named) => return Ok(named),
                    Err(error) => (error, others.asked.into_inner()),
                }
            };
            if asked.is_empty() || rounds.next().is_none() {
                return Err(error);
            }
            for name in asked {
                let image = self.surroundings.assembly(outside.files, &name);
                self.others.borrow_mut().insert(name, image);
            }
        }
    }

    fn attempt<'d>(
        &'d self,
        outside: &Outside<'_>,
        method: &Method,
        offset: u32,
        others: &Loaded<'d>,
    ) -> Result<Named, NameError> {
        let image = Image::parse(&self.bytes, Layout::File)?;
        let name = image.names(others).name(&method.source)?;
        let text = name.event_style()?;
        let of_module = name.module();
        // Code of another assembly's methods may be here: the runtime counts it to that assembly.
        let module = match of_module.assembly_name() {
            Some(assembly) if name.token().is_some() => Module { name: assembly.to_owned(), ..self.module.clone() },
            _ => self.module.clone(),
        };
        // Only of the image's own assembly is the debug information at hand.
        let own = image.metadata().and_then(|own| own.mvid());
        let is_own = own.is_some() && own == of_module.mvid();
        let row = name.token().filter(|_| is_own).map(|token| token & 0x00ff_ffff);
        Ok(Named {
            name: method_name::display(&text.namespace, &text.name, &text.signature),
            module: Some(module),
            kind: CodeKind::ReadyToRun,
            source: NameSource::R2rImage,
            line: row.and_then(|row| self.line(outside, &image, method, row, offset)),
        })
    }

    fn line(&self, outside: &Outside<'_>, image: &Image<'_>, method: &Method, row: u32, offset: u32) -> Option<Line> {
        let damaged = |error: &Error| outside.notices.tell(About::Lines, &self.module.path, error);
        let find = || self.find_lines(outside, image).inspect_err(damaged).ok()?;
        let lines = self.lines.get_or_init(find).as_ref()?;
        let map = DebugInfo::read(image).and_then(|maps| maps.map_or(Ok(None), |maps| maps.map(method.entry)));
        lines.line(&outside.notices, row, &map.inspect_err(damaged).ok()??, offset)
    }

    fn find_lines(&self, outside: &Outside<'_>, image: &Image<'_>) -> Result<Option<SourceLines>, Error> {
        let Some(directory) = DebugDirectory::read(image.pe())? else { return Ok(None) };
        let Some(code_view) = directory.code_view()? else { return Ok(None) };
        let wanted =
            WantedPdb { signature: code_view.guid.0, timestamp: Some(code_view.timestamp), path: code_view.path };
        Ok(self.surroundings.lines(outside, wanted, || Some(&self.bytes[..])))
    }
}

/// The other assemblies that are at hand; notes which others were asked for.
struct Loaded<'d> {
    images: &'d FxHashMap<String, Option<ImageBytes>>,
    asked: RefCell<Vec<String>>,
}

impl<'d> Assemblies<'d> for Loaded<'d> {
    fn find(&self, simple_name: &str) -> Option<Metadata<'d>> {
        match self.images.get(simple_name) {
            Some(image) => Image::parse(image.as_ref()?, Layout::File).ok()?.metadata().copied(),
            None => {
                self.asked.borrow_mut().push(simple_name.to_owned());
                None
            }
        }
    }
}
