//! Which image is mapped: finding its file, holding it against what was recorded of it, reading it once.

mod bundled;
mod bytes;
mod surroundings;

pub(crate) use bundled::Bundled;
pub(crate) use bytes::{ImageBytes, Refused};
pub(crate) use surroundings::Surroundings;

use crate::elf::ElfSymbols;
use crate::files::{FileBytes, FilePath, Files};
use crate::managed::ModuleFile;
use crate::mappings::{Inode, Mapped, MappedAs, Mapping, Mappings};
use crate::native::ElfFile;
use crate::precompiled::ManagedImage;
use crate::source_lines::{SourceLines, WantedPdb};
use crate::symbols::has_managed_extension;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use strata_address::Avma;
use strata_perfdata::record::ProgramImage;
use strata_profile::{Gap, Unnamed};

/// What a mapped file turned out to be, told by its bytes.
pub(crate) enum Opened {
    Elf(ElfFile),
    Managed(ManagedImage),
    Refused(Unnamed),
}

/// All images that were asked for.
pub(crate) struct Images<'f> {
    files: &'f dyn Files,
    /// Whether the kernel is the one that was recorded, and so its image for processes.
    same_kernel: bool,
    known: FxHashMap<ImageKey, Rc<Opened>>,
    lines: FxHashMap<(u32, Box<str>), Option<Rc<SourceLines>>>,
    notices: Vec<Gap>,
}

/// Processes may see different files under one path: without a build id the file's number tells them apart.
type ImageKey = (Arc<str>, Option<Box<[u8]>>, Option<Inode>);

impl<'f> Images<'f> {
    pub(crate) fn new(files: &'f dyn Files, same_kernel: bool) -> Self {
        Self { files, same_kernel, known: FxHashMap::default(), lines: FxHashMap::default(), notices: Vec::new() }
    }

    pub(crate) fn files(&self) -> &'f dyn Files {
        self.files
    }

    pub(crate) fn take_notices(&mut self) -> Vec<Gap> {
        std::mem::take(&mut self.notices)
    }

    /// The image of a mapping.
    pub(crate) fn open(&mut self, mappings: &Mappings, mapped: Mapped<'_>) -> Rc<Opened> {
        let mapping = mapped.mapping;
        let key = (Arc::clone(&mapping.path), mapping.build_id.clone(), mapping.inode);
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let opened = match mapping.mapped_as() {
            MappedAs::File => Rc::new(self.open_file(mapped)),
            MappedAs::Vdso => Rc::new(self.open_vdso()),
            MappedAs::ProgramImage => self.open_copied(mappings, mapped),
            MappedAs::Memory => Rc::new(Opened::Refused(Unnamed::NoFile)),
        };
        self.known.insert(key, Rc::clone(&opened));
        opened
    }

    fn open_vdso(&self) -> Opened {
        let image = self.files.vdso().filter(|_| self.same_kernel);
        let symbols = image.map(|image| (ElfSymbols::parse(&image).map_err(|_| Unnamed::NoSymbol), image));
        match symbols {
            Some((symbols, bytes)) => {
                let path = FilePath::on_host("[vdso]");
                Opened::Elf(ElfFile { symbols, bytes, path, bundled: OnceCell::from(None) })
            }
            None => Opened::Refused(Unnamed::NoFile),
        }
    }

    fn open_file(&mut self, mapped: Mapped<'_>) -> Opened {
        let mapping = mapped.mapping;
        let path = FilePath::mapped(mapped.pid, &*mapping.path, mapped.range);
        let bytes = match self.files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return self.refuse(mapping, Refused::because_of(&error)),
        };
        // The device is not held against the file: overlaid file systems have different numbers for it in records and in
        // stat(2), while the inode is the same.
        if let (Some(mapped), Some(read)) = (mapping.inode, bytes.identity())
            && mapped.number != read.inode
        {
            return self.refuse(mapping, Refused::replaced());
        }
        if bytes.starts_with(b"\x7fELF") {
            return Opened::Elf(self.elf(mapping, path, bytes));
        }
        let (bytes, surroundings) = (ImageBytes::whole(bytes), Surroundings::Folder(path));
        match ManagedImage::read(bytes, surroundings, &mapping.path, mapping.build_id.as_deref()) {
            Ok(image) => self.managed(image, &mapping.path),
            Err(refused) => self.refuse(mapping, refused),
        }
    }

    fn elf(&self, mapping: &Mapping, path: FilePath, bytes: FileBytes) -> ElfFile {
        let symbols = ElfSymbols::parse_with_debug_files(&bytes, &path, self.files)
            .map_err(|_| Unnamed::NoSymbol)
            .and_then(|symbols| {
                let found = symbols.build_id().map(|id| id.as_bytes());
                let is_other = mapping.build_id.as_ref().is_some_and(|mapped| found != Some(mapped));
                if is_other { Err(Unnamed::OtherFile) } else { Ok(symbols) }
            });
        ElfFile { symbols, bytes, path, bundled: OnceCell::new() }
    }

    /// An image that the runtime inflated out of a single-file program.
    fn open_copied(&mut self, mappings: &Mappings, mapped: Mapped<'_>) -> Rc<Opened> {
        let mapping = mapped.mapping;
        let Some(copied) = ProgramImage::of_path(mapping.path.as_bytes()) else {
            return Rc::new(Opened::Refused(Unnamed::NoFile));
        };
        let [executable, assembly] = [copied.executable, copied.assembly].map(String::from_utf8_lossy);
        // The program itself is mapped as well, which leads to its file even when that was deleted.
        let program = match mappings.of_path(mapped.pid, &executable) {
            Some(program) => self.open(mappings, program),
            None => {
                let path: Arc<str> = executable.as_ref().into();
                let mapping = Mapping { path, start: Avma(0), file_offset: 0, build_id: None, inode: None };
                self.open(mappings, Mapped { mapping: &mapping, ..mapped })
            }
        };
        let Opened::Elf(elf) = &*program else { return program };
        let build_id = mapping.build_id.as_deref();
        match &elf.symbols {
            Err(Unnamed::OtherFile) => Rc::new(self.refuse(mapping, Refused::replaced())),
            _ => match elf.bundle(self).and_then(|bundled| bundled.assembly(&assembly, build_id)) {
                Some(index) => self.entry(elf, index, build_id),
                None => Rc::new(self.refuse(mapping, Refused::not_in_bundle())),
            },
        }
    }

    /// The image at an offset of a single-file program, and where it begins.
    pub(crate) fn bundled(&mut self, elf: &ElfFile, offset: u64) -> Option<(u64, Rc<Opened>)> {
        let (index, start) = elf.bundle(self)?.entry_at(offset)?;
        Some((start, self.entry(elf, index, None)))
    }

    /// The images of a single-file program that a mapping of its file shows a part of, and where they begin.
    pub(crate) fn bundled_within(&mut self, elf: &ElfFile, mapped: Mapped<'_>) -> Vec<(u64, Rc<Opened>)> {
        let start = mapped.mapping.file_offset;
        let end = start.saturating_add(mapped.range.len());
        let Some(bundled) = elf.bundle(self) else { return Vec::new() };
        let within: Vec<_> = bundled.assemblies_within(start..end).collect();
        within.into_iter().map(|(index, start)| (start, self.entry(elf, index, None))).collect()
    }

    fn entry(&mut self, elf: &ElfFile, index: usize, build_id: Option<&[u8]>) -> Rc<Opened> {
        let Some(bundled) = elf.bundle(self) else { return Rc::new(Opened::Refused(Unnamed::NoFile)) };
        bundled.image(index, |path, bytes| {
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(refused) => return self.refuse_path(path, refused),
            };
            match ManagedImage::read(bytes, elf.surroundings(), path, build_id) {
                Ok(image) => self.managed(image, path),
                Err(refused) => self.refuse_path(path, refused),
            }
        })
    }

    fn managed(&mut self, image: ManagedImage, path: &str) -> Opened {
        if let Some(reason) = image.damage() {
            self.notices.push(Gap::Image { path: path.to_owned(), reason });
        }
        Opened::Managed(image)
    }

    fn refuse(&mut self, mapping: &Mapping, refused: Refused) -> Opened {
        self.refuse_path(&mapping.path, refused)
    }

    fn refuse_path(&mut self, path: &str, refused: Refused) -> Opened {
        let path = without_mark(path);
        // What else is mapped as code need not be an image at all.
        if !has_managed_extension(path) && refused.why != Unnamed::TooLarge {
            return Opened::Refused(if refused.why == Unnamed::Damaged { Unnamed::NoSymbol } else { refused.why });
        }
        self.notices.push(Gap::Image { path: path.to_owned(), reason: refused.reason });
        Opened::Refused(refused.why)
    }

    /// The source lines of a module that a runtime told of.
    pub(crate) fn lines_of_module(
        &mut self,
        mappings: &Mappings,
        pid: u32,
        module: &ModuleFile,
    ) -> Option<Rc<SourceLines>> {
        let key = (pid, module.path.clone());
        if let Some(known) = self.lines.get(&key) {
            return known.clone();
        }
        let found = self.find_lines(mappings, pid, module).map(Rc::new);
        self.lines.insert(key, found.clone());
        found
    }

    fn find_lines(&mut self, mappings: &Mappings, pid: u32, module: &ModuleFile) -> Option<SourceLines> {
        let (signature, path) = module.pdb.as_ref()?;
        let wanted = WantedPdb { signature: *signature, timestamp: None, path };
        let image = FilePath::in_process(pid, &*module.path);
        let file = || self.files.read(&image).ok();
        if let Some(lines) = Surroundings::Folder(image.clone()).lines(self.files, wanted, file) {
            return Some(lines);
        }
        // The module of a single-file program is said to be where it would lie if it were unpacked.
        let module_path = Path::new(&*module.path);
        let program = mappings.all(pid).find(|program| {
            let path = Path::new(without_mark(&program.mapping.path));
            let is_library = path.extension().is_some_and(|extension| extension == "so" || extension == "dll");
            path.parent() == module_path.parent() && !is_library
        })?;
        let opened = self.open(mappings, program);
        let Opened::Elf(elf) = &*opened else { return None };
        elf.bundle(self)?;
        let name = module_path.file_name()?.to_str()?;
        elf.surroundings().lines(self.files, wanted, || bundled::file(&elf.bytes, name))
    }
}

impl ElfFile {
    /// What is appended to the program, if it is a single-file program.
    fn bundle(&self, images: &mut Images<'_>) -> Option<&Bundled> {
        let read = || match Bundled::find(&self.bytes, &self.path) {
            Ok(bundled) => bundled,
            Err(reason) => {
                let path = self.path.path().to_string_lossy().into_owned();
                images.notices.push(Gap::Image { path, reason });
                None
            }
        };
        self.bundled.get_or_init(read).as_ref()
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::Program { executable: self.bytes.clone(), path: self.path.clone() }
    }
}

/// A path without the kernel's mark of a deleted file.
fn without_mark(path: &str) -> &str {
    path.strip_suffix(" (deleted)").unwrap_or(path)
}
