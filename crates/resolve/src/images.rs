//! Which image is mapped: finding its file, holding it against what was recorded of it, reading it once.

mod bundled;
mod bytes;
mod notices;
mod surroundings;

pub(crate) use bundled::{Bundled, Program};
pub(crate) use bytes::{ImageBytes, Refused};
pub(crate) use notices::{About, Notices};
pub(crate) use surroundings::Surroundings;

use crate::elf::ElfSymbols;
use crate::files::{FileBytes, FilePath, Files};
use crate::managed::ModuleFile;
use crate::mappings::{Inode, Mapped, MappedAs, Mapping, Mappings};
use crate::native::ElfFile;
use crate::paths::{self, without_mark};
use crate::precompiled::ManagedImage;
use crate::source_lines::{SourceLines, WantedPdb};
use crate::symbols::{KernelIdentity, has_managed_extension};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use strata_address::Avma;
use strata_clrimage::bundle::Entry;
use strata_perfdata::record::ProgramImage;
use strata_profile::{Gap, Unnamed};

/// What a mapped file turned out to be, told by its bytes.
pub(crate) enum Opened {
    Elf(Box<ElfFile>),
    Managed(Box<ManagedImage>),
    Refused(Refused),
}

impl Opened {
    /// Whether it was found for all who have the same file mapped.
    const fn is_for_all(&self) -> bool {
        match self {
            Self::Elf(elf) => elf.symbols.is_ok(),
            Self::Managed(_) => true,
            Self::Refused(_) => false,
        }
    }
}

/// Where files come from, and where it goes what is to be told of them.
pub(crate) struct Outside<'f> {
    pub(crate) files: &'f dyn Files,
    pub(crate) notices: Notices,
}

/// All images that were asked for.
pub(crate) struct Images<'f> {
    outside: Outside<'f>,
    /// Whether the kernel is the one that was recorded, and so its image for processes.
    kernel: KernelIdentity,
    known: FxHashMap<ImageKey, Rc<Opened>>,
    lines: FxHashMap<(u32, Rc<ModuleFile>), Option<Rc<SourceLines>>>,
}

/// Processes may see different files under one path.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ImageKey {
    path: Arc<str>,
    build_id: Option<Box<[u8]>>,
    inode: Option<Inode>,
    /// The process for which it was found; none if it is the same for all.
    process: Option<u32>,
}

impl<'f> Images<'f> {
    pub(crate) fn new(files: &'f dyn Files, kernel: KernelIdentity) -> Self {
        let outside = Outside { files, notices: Notices::default() };
        Self { outside, kernel, known: FxHashMap::default(), lines: FxHashMap::default() }
    }

    pub(crate) const fn outside(&self) -> &Outside<'f> {
        &self.outside
    }

    pub(crate) fn take_notices(&mut self) -> Vec<Gap> {
        self.outside.notices.take()
    }

    /// The image of a mapping, held against what was recorded of it.
    pub(crate) fn open(&mut self, mappings: &Mappings, mapped: Mapped<'_>) -> Rc<Opened> {
        let mapping = mapped.mapping;
        let (path, build_id) = (Arc::clone(&mapping.path), mapping.build_id.clone());
        let of_all = ImageKey { path, build_id, inode: mapping.inode, process: None };
        let own = ImageKey { process: Some(mapped.pid), ..of_all.clone() };
        if let Some(known) = self.known.get(&own).or_else(|| self.known.get(&of_all)) {
            return Rc::clone(known);
        }
        let mapped_as = mapping.mapped_as();
        let opened = match mapped_as {
            MappedAs::File => Rc::new(self.open_file(mapped)),
            MappedAs::Vdso => Rc::new(self.open_vdso()),
            MappedAs::ProgramImage => self.open_program_image(mappings, mapped),
            MappedAs::Memory => Rc::new(Opened::Refused(Refused::not_a_file())),
        };
        let opened = self.hold_against(mapping.build_id.as_deref(), &mapping.path, opened);
        // What one process cannot reach, another may, and without a build id or a number a path means another file to each.
        let is_known = mapping.build_id.is_some() || mapping.inode.is_some() || mapped_as == MappedAs::Vdso;
        let key = if is_known && opened.is_for_all() { of_all } else { own };
        self.known.insert(key, Rc::clone(&opened));
        opened
    }

    /// Refuses an image of managed code that is not the recorded one. Its bytes may have been read for another mapping.
    fn hold_against(&self, identity: Option<&[u8]>, path: &str, opened: Rc<Opened>) -> Rc<Opened> {
        let Opened::Managed(image) = &*opened else { return opened };
        if identity.is_some_and(|recorded| recorded != image.identity().as_bytes()) {
            return Rc::new(self.refuse(path, Refused::replaced()));
        }
        if let Some(reason) = image.damage() {
            self.outside.notices.tell(About::Tables, &image.module().path, reason);
        }
        opened
    }

    fn open_vdso(&self) -> Opened {
        let image = self.outside.files.vdso().filter(|_| self.kernel == KernelIdentity::SameBoot);
        let symbols = image.map(|image| (ElfSymbols::parse(&image).map_err(|_| Unnamed::NoSymbol), image));
        match symbols {
            Some((symbols, bytes)) => {
                let path = FilePath::on_host("[vdso]");
                Opened::Elf(Box::new(ElfFile { symbols, bytes, path, bundled: OnceCell::from(None) }))
            }
            None => Opened::Refused(Refused::not_a_file()),
        }
    }

    fn open_file(&self, mapped: Mapped<'_>) -> Opened {
        let mapping = mapped.mapping;
        let path = FilePath::mapped(mapped.pid, &*mapping.path, mapped.range);
        let bytes = match self.outside.files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return self.refuse(&mapping.path, Refused::because_of(&error)),
        };
        // The device is not held against the file: overlaid file systems have different numbers for it in records and in
        // stat(2), while the inode is the same.
        if let (Some(mapped), Some(read)) = (mapping.inode, bytes.identity())
            && mapped.number != read.inode
        {
            return self.refuse(&mapping.path, Refused::replaced());
        }
        if bytes.starts_with(b"\x7fELF") {
            return Opened::Elf(Box::new(self.elf(mapping, path, bytes)));
        }
        self.managed(&mapping.path, Ok(ImageBytes::whole(bytes)), Surroundings::Folder(path))
    }

    fn elf(&self, mapping: &Mapping, path: FilePath, bytes: FileBytes) -> ElfFile {
        let symbols = ElfSymbols::parse_with_debug_files(&bytes, &path, self.outside.files)
            .map_err(|_| Unnamed::NoSymbol)
            .and_then(|symbols| {
                let found = symbols.build_id().map(|id| id.as_bytes());
                let is_other = mapping.build_id.as_ref().is_some_and(|mapped| found != Some(mapped));
                if is_other { Err(Unnamed::OtherFile) } else { Ok(symbols) }
            });
        ElfFile { symbols, bytes, path, bundled: OnceCell::new() }
    }

    /// An image that the recorder found in a single-file program.
    fn open_program_image(&mut self, mappings: &Mappings, mapped: Mapped<'_>) -> Rc<Opened> {
        let mapping = mapped.mapping;
        let Some(image) = ProgramImage::of_path(mapping.path.as_bytes()) else {
            return Rc::new(Opened::Refused(Refused::not_a_file()));
        };
        let [executable, assembly] = [image.executable, image.assembly].map(String::from_utf8_lossy);
        // The program itself is mapped as well, which leads to its file even when that was deleted.
        let program = match mappings.of_path(mapped.pid, &executable) {
            Some(program) => self.open(mappings, program),
            None => {
                let path: Arc<str> = executable.as_ref().into();
                let mapping = Mapping { path, start: Avma(0), file_offset: 0, build_id: None, inode: None };
                self.open(mappings, Mapped { mapping: &mapping, ..mapped })
            }
        };
        let refused = match &*program {
            Opened::Elf(elf) if matches!(elf.symbols, Err(Unnamed::OtherFile)) => Refused::replaced(),
            Opened::Elf(elf) => {
                let bundled = elf.bundle(&self.outside.notices);
                let entry = bundled.map(|bundled| (bundled, bundled.assembly(&assembly, mapping.build_id.as_deref())));
                match entry {
                    Some((bundled, Some(entry))) => return self.entry(bundled, entry),
                    _ => Refused::not_in_bundle(),
                }
            }
            Opened::Managed(_) => Refused::not_in_bundle(),
            Opened::Refused(refused) => refused.clone(),
        };
        Rc::new(self.refuse(&mapping.path, refused))
    }

    /// The image at an offset of a single-file program, and where it begins.
    pub(crate) fn bundled(&self, elf: &ElfFile, offset: u64) -> Option<(u64, Rc<Opened>)> {
        let bundled = elf.bundle(&self.outside.notices)?;
        let entry = bundled.entry_at(offset)?;
        Some((entry.offset, self.unidentified(bundled, entry)))
    }

    /// The images of a single-file program that a mapping of its file shows a part of, and where they begin.
    pub(crate) fn bundled_within(&self, elf: &ElfFile, mapped: Mapped<'_>) -> Vec<(u64, Rc<Opened>)> {
        let start = mapped.mapping.file_offset_of(mapped.range.start());
        let end = start.saturating_add(mapped.range.len());
        let Some(bundled) = elf.bundle(&self.outside.notices) else { return Vec::new() };
        bundled.images_within(start..end).map(|entry| (entry.offset, self.unidentified(bundled, entry))).collect()
    }

    /// The image of an entry of which only the program's identity was recorded.
    fn unidentified(&self, bundled: &Bundled, entry: &Entry) -> Rc<Opened> {
        self.hold_against(None, &entry.path, self.entry(bundled, entry))
    }

    fn entry(&self, bundled: &Bundled, entry: &Entry) -> Rc<Opened> {
        let surroundings = || Surroundings::Program(Rc::clone(bundled.program()));
        bundled.image(entry, |path, bytes| self.managed(path, bytes, surroundings()))
    }

    fn managed(&self, path: &str, bytes: Result<ImageBytes, Refused>, surroundings: Surroundings) -> Opened {
        match bytes.and_then(|bytes| ManagedImage::read(bytes, surroundings, path)) {
            Ok(image) => Opened::Managed(Box::new(image)),
            Err(refused) => self.refuse(path, refused),
        }
    }

    fn refuse(&self, path: &str, refused: Refused) -> Opened {
        let path = without_mark(path);
        // What else is mapped as code need not be an image at all.
        if !has_managed_extension(path) && refused.why != Unnamed::TooLarge {
            let why = if refused.why == Unnamed::Damaged { Unnamed::NoSymbol } else { refused.why };
            return Opened::Refused(Refused { why, ..refused });
        }
        self.outside.notices.tell(About::Image, path, &refused.reason);
        Opened::Refused(refused)
    }

    /// The source lines of a module that a runtime told of.
    pub(crate) fn lines_of_module(
        &mut self,
        mappings: &Mappings,
        pid: u32,
        module: &Rc<ModuleFile>,
    ) -> Option<Rc<SourceLines>> {
        let key = (pid, Rc::clone(module));
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
        let file = || self.outside.files.read(&image).ok();
        if let Some(lines) = Surroundings::Folder(image.clone()).lines(&self.outside, wanted, file) {
            return Some(lines);
        }
        // The module of a single-file program is said to be where it would lie if it were unpacked.
        let folder = Path::new(&*module.path).parent();
        let mut programs = mappings.all(pid).filter(|program| {
            let path = Path::new(without_mark(&program.mapping.path));
            let is_library = path.extension().is_some_and(|extension| extension == "so" || extension == "dll");
            path.parent() == folder && !is_library && program.mapping.mapped_as() == MappedAs::File
        });
        programs.find_map(|program| {
            let opened = self.open(mappings, program);
            let Opened::Elf(elf) = &*opened else { return None };
            let program = elf.bundle(&self.outside.notices)?.program();
            let image = || program.file(paths::file_name(&module.path)).map(|(_, bytes)| bytes);
            Surroundings::Program(Rc::clone(program)).lines(&self.outside, wanted, image)
        })
    }
}

impl ElfFile {
    /// What is appended to the program, if it is a single-file program.
    fn bundle(&self, notices: &Notices) -> Option<&Bundled> {
        let tell = |reason: String| notices.tell(About::Bundle, &self.path.path().to_string_lossy(), reason);
        let read = || {
            let bundled = Bundled::find(&self.bytes, &self.path).inspect_err(|error| tell(error.to_string())).ok()?;
            if let Some(ignored @ 1..) = bundled.as_ref().map(Bundled::ignored) {
                tell(format!("{ignored} of the files that it lists cannot be inside of it"));
            }
            bundled
        };
        self.bundled.get_or_init(read).as_ref()
    }
}
