//! Names of native and kernel code.

use crate::demangle::demangle;
use crate::elf::{ElfSymbols, SymbolSource};
use crate::files::{FileError, FilePath, Files};
use crate::kernel::{KernelKnobs, KernelSymbols};
use crate::mappings::{Inode, MappedAs, Mapping};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::rc::Rc;
use strata_address::{Avma, AvmaRange};
use strata_profile::{CodeKind, Module, NameSource, Unnamed};

/// What was found out about an address.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) module: Option<Module>,
    pub(crate) kind: CodeKind,
    pub(crate) source: NameSource,
}

/// Symbols of images and of the kernel, each read when first asked for.
pub(crate) struct Symbols<'f> {
    files: &'f dyn Files,
    images: FxHashMap<ImageKey, Rc<Result<ElfSymbols, Unnamed>>>,
    kernel: Result<KernelSymbols, String>,
}

/// Processes may see different files under one path: without a build id the file's number tells them apart.
type ImageKey = (Rc<str>, Option<Box<[u8]>>, Option<Inode>);

impl<'f> Symbols<'f> {
    /// Symbols through these files. `same_boot`: whether this machine still runs the kernel that was recorded.
    pub(crate) fn new(files: &'f dyn Files, kernel: KernelIdentity) -> Self {
        let kernel = match kernel {
            KernelIdentity::SameBoot => kernel_symbols(files),
            KernelIdentity::Other => Err(
                "it was recorded on another machine or before it was restarted, so this kernel's symbols do not fit"
                    .to_owned(),
            ),
        };
        Self { files, images: FxHashMap::default(), kernel }
    }

    /// Why kernel code has no names, if it has none.
    pub(crate) fn kernel_problem(&self) -> Option<&str> {
        self.kernel.as_ref().err().map(String::as_str)
    }

    /// The kernel function at an address.
    pub(crate) fn kernel(&self, address: Avma) -> Named {
        let kind = CodeKind::Kernel;
        let module = |name: &str| Some(Module { name: format!("[{name}]"), path: String::new(), build_id: None });
        let unnamed = |name, why| Named { name, module: module("kernel"), kind, source: NameSource::None(why) };
        let symbols = match &self.kernel {
            Ok(symbols) => symbols,
            Err(_) => return unnamed("[kernel]".to_owned(), Unnamed::KernelHidden),
        };
        match symbols.lookup(address) {
            Some(symbol) => Named {
                name: symbol.name.to_owned(),
                module: module(symbol.module.unwrap_or("kernel")),
                kind,
                source: NameSource::KernelSymbol,
            },
            None => unnamed(format!("[kernel code at {address}]"), Unnamed::NoSymbol),
        }
    }

    /// The function at an address inside a mapping of an image.
    pub(crate) fn image(&mut self, pid: u32, range: AvmaRange, mapping: &Mapping, address: Avma) -> Named {
        let path = mapping.path.strip_suffix(" (deleted)").unwrap_or(&mapping.path);
        let file_name = Path::new(path).file_name().map_or(path, |name| name.to_str().unwrap_or(path));
        let module = Some(Module {
            name: file_name.to_owned(),
            path: path.to_owned(),
            build_id: mapping.build_id.as_deref().map(hex),
        });
        let kind = kind_of_image(file_name);
        let offset = address.offset_from(range.start()).unwrap_or(0).saturating_add(mapping.file_offset);
        let symbols = self.symbols(pid, range, mapping);
        let unnamed = |why| Named {
            name: format!("{file_name}+{offset:#x}"),
            module: module.clone(),
            kind,
            source: NameSource::None(why),
        };
        let symbols = match &*symbols {
            Ok(symbols) => symbols,
            Err(why) => return unnamed(*why),
        };
        let Some(symbol) = symbols.layout().rva_of_file_offset(offset).and_then(|rva| symbols.lookup(rva)) else {
            return unnamed(Unnamed::NoSymbol);
        };
        let (name, source) = match symbol.source {
            SymbolSource::UnwindTable => (format!("{file_name}!{}", symbol.name), NameSource::UnwindTable),
            _ => (demangle(symbol.name).into_owned(), NameSource::ElfSymbol),
        };
        Named { name, module, kind, source }
    }

    fn symbols(&mut self, pid: u32, range: AvmaRange, mapping: &Mapping) -> Rc<Result<ElfSymbols, Unnamed>> {
        let key = (Rc::from(&*mapping.path), mapping.build_id.clone(), mapping.inode);
        if let Some(known) = self.images.get(&key) {
            return Rc::clone(known);
        }
        let read = Rc::new(self.read(pid, range, mapping));
        self.images.insert(key, Rc::clone(&read));
        read
    }

    fn read(&self, pid: u32, range: AvmaRange, mapping: &Mapping) -> Result<ElfSymbols, Unnamed> {
        let path = match mapping.mapped_as() {
            MappedAs::File => FilePath::mapped(pid, &*mapping.path, range),
            MappedAs::Vdso => {
                let image = self.files.vdso().filter(|_| self.kernel.is_ok()).ok_or(Unnamed::NoFile)?;
                return ElfSymbols::parse(&image).map_err(|_| Unnamed::NoSymbol);
            }
            MappedAs::Memory | MappedAs::Copied => return Err(Unnamed::NoFile),
        };
        let bytes = self.files.read(&path).map_err(|error| match error {
            FileError::Deleted { .. } => Unnamed::OtherFile,
            _ => Unnamed::NoFile,
        })?;
        // The device is not held against the file: overlaid file systems have different numbers for it in records and in
        // stat(2), while the inode is the same.
        if let (Some(mapped), Some(read)) = (mapping.inode, bytes.identity())
            && mapped.number != read.inode
        {
            return Err(Unnamed::OtherFile);
        }
        let symbols = ElfSymbols::parse_with_debug_files(&bytes, &path, self.files).map_err(|_| Unnamed::NoSymbol)?;
        let found = symbols.build_id().map(|id| id.as_bytes());
        match &mapping.build_id {
            Some(mapped) if found != Some(mapped) => Err(Unnamed::OtherFile),
            _ => Ok(symbols),
        }
    }
}

/// Whether kernel addresses of a recording mean something on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelIdentity {
    SameBoot,
    Other,
}

fn kernel_symbols(files: &dyn Files) -> Result<KernelSymbols, String> {
    let read = |path: &str| files.read(&FilePath::on_host(path));
    let knob = |path: &str| {
        let bytes = read(path).ok()?;
        std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
    };
    let text = read("/proc/kallsyms").map_err(|error| error.to_string())?;
    let knobs = KernelKnobs {
        kptr_restrict: knob("/proc/sys/kernel/kptr_restrict"),
        perf_event_paranoid: knob("/proc/sys/kernel/perf_event_paranoid"),
    };
    KernelSymbols::parse_kallsyms(&text, knobs).map_err(|hidden| hidden.to_string())
}

/// The runtime's own libraries are told apart from other native code; precompiled managed code is in `.dll` files.
fn kind_of_image(file_name: &str) -> CodeKind {
    const RUNTIME: [&str; 6] =
        ["libcoreclr.so", "libclrjit.so", "libclrgc.so", "libclrgcexp.so", "libmscordaccore.so", "libclretwrc.so"];
    if RUNTIME.contains(&file_name) {
        CodeKind::Runtime
    } else if file_name.ends_with(".dll") {
        CodeKind::ReadyToRun
    } else {
        CodeKind::Native
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{FileBytes, FileIdentity, FileOrigin};
    use std::cell::Cell;
    use std::path::PathBuf;

    /// The C library under any path, as a file with this number.
    struct OneFile {
        inode: u64,
        reads: Cell<u32>,
    }

    impl Files for OneFile {
        fn read(&self, path: &FilePath) -> Result<FileBytes, FileError> {
            if path.path() != Path::new("/libc.so.6") {
                return Err(FileError::NotFound { path: PathBuf::from(path.path()) });
            }
            self.reads.set(self.reads.get() + 1);
            let bytes = std::fs::read("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
            let identity = FileIdentity { device: 1, inode: self.inode };
            Ok(FileBytes::new(bytes, FileOrigin::Given).of_file(identity))
        }
    }

    #[test]
    fn a_file_without_a_build_id_is_told_by_its_number() {
        let files = OneFile { inode: 7, reads: Cell::new(0) };
        let mut symbols = Symbols::new(&files, KernelIdentity::Other);
        let mut source = |number: Option<u64>| {
            let mapping = Mapping {
                path: "/libc.so.6".into(),
                file_offset: 0,
                build_id: None,
                inode: number.map(|number| Inode { device: (8, 1), number }),
            };
            let range = AvmaRange::sized(Avma(0), 1 << 30).unwrap();
            // Any function of the library: what matters is whether its symbols are asked at all.
            symbols.image(1, range, &mapping, Avma(0x30000)).source
        };
        assert_eq!(source(Some(8)), NameSource::None(Unnamed::OtherFile));
        assert_ne!(source(Some(7)), NameSource::None(Unnamed::OtherFile));
        assert_ne!(source(None), NameSource::None(Unnamed::OtherFile), "where no number was recorded");
        assert_eq!(source(Some(8)), NameSource::None(Unnamed::OtherFile), "it is not shared by path");
        assert_eq!(files.reads.get(), 3);
    }
}
