//! What an address is called: the one place that asks images and the kernel.

use crate::files::{FilePath, Files};
use crate::images::{Images, Opened};
use crate::kernel::{KernelKnobs, KernelSymbols};
use crate::managed::Method;
use crate::mappings::{Mapped, MappedAs, Mappings};
use crate::native::{self, ElfFile};
use crate::paths;
use crate::precompiled::ManagedImage;
use std::num::NonZeroU32;
use std::rc::Rc;
use strata_address::{Avma, Rva};
use strata_profile::{CodeKind, Gap, Module, NameSource, SourceFile, Unnamed};

/// What was found out about an address.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) module: Option<Module>,
    pub(crate) kind: CodeKind,
    pub(crate) source: NameSource,
    pub(crate) line: Option<Line>,
}

/// A line of source, and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) file: Rc<SourceFile>,
    pub(crate) number: NonZeroU32,
}

/// Symbols of images and of the kernel, each read when first asked for.
pub(crate) struct Symbols<'f> {
    images: Images<'f>,
    kernel: Result<KernelSymbols, String>,
}

impl<'f> Symbols<'f> {
    /// Symbols through these files. `kernel`: whether this machine still runs the kernel that was recorded.
    pub(crate) fn new(files: &'f dyn Files, kernel: KernelIdentity) -> Self {
        let images = Images::new(files, kernel);
        let kernel = match kernel {
            KernelIdentity::SameBoot => kernel_symbols(files),
            KernelIdentity::Other => Err(
                "it was recorded on another machine or before it was restarted, so this kernel's symbols do not fit"
                    .to_owned(),
            ),
        };
        Self { images, kernel }
    }

    /// Why kernel code has no names, if it has none.
    pub(crate) fn kernel_problem(&self) -> Option<&str> {
        self.kernel.as_ref().err().map(String::as_str)
    }

    /// What is to be told of images that could not be read, or only in part.
    pub(crate) fn take_notices(&mut self) -> Vec<Gap> {
        self.images.take_notices()
    }

    /// The kernel function at an address.
    pub(crate) fn kernel(&self, address: Avma) -> Named {
        let kind = CodeKind::Kernel;
        let module = |name: &str| Some(Module { name: format!("[{name}]"), path: String::new(), build_id: None });
        let unnamed =
            |name, why| Named { name, module: module("kernel"), kind, source: NameSource::None(why), line: None };
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
                line: None,
            },
            None => unnamed(format!("[kernel code at {address}]"), Unnamed::NoSymbol),
        }
    }

    /// The function at an address inside a mapping of an image.
    pub(crate) fn image(&mut self, mappings: &Mappings, mapped: Mapped<'_>, address: Avma) -> Named {
        let place = MappedPlace::of(mapped, address);
        match &*self.images.open(mappings, mapped) {
            Opened::Refused(refused) => place.unnamed(refused.why),
            Opened::Managed(image) => self.precompiled(image, place.in_image(mapped, image), &place),
            Opened::Elf(elf) => self.native(elf, &place),
        }
    }

    fn native(&mut self, elf: &ElfFile, place: &MappedPlace<'_>) -> Named {
        let symbols = match &elf.symbols {
            Ok(symbols) => symbols,
            Err(why) => return place.unnamed(*why),
        };
        if let Some(rva) = symbols.layout().rva_of_file_offset(place.offset) {
            return native::named(symbols, rva, place);
        }
        // Behind the program's own code, single-file programs have their assemblies.
        let Some((start, opened)) = self.images.bundled(elf, place.offset) else {
            return place.unnamed(Unnamed::NoSymbol);
        };
        match &*opened {
            Opened::Managed(image) => {
                let rva = image.rva_of_file_offset(place.offset.saturating_sub(start));
                self.precompiled(image, rva, place)
            }
            Opened::Refused(refused) => place.unnamed(refused.why),
            Opened::Elf(_) => place.unnamed(Unnamed::NoSymbol),
        }
    }

    fn precompiled(&mut self, image: &ManagedImage, rva: Option<Rva>, place: &MappedPlace<'_>) -> Named {
        let named = rva.ok_or(Unnamed::NoSymbol).and_then(|rva| image.named(self.images.outside(), rva));
        named.unwrap_or_else(|why| {
            let unnamed = place.unnamed(why);
            Named { module: Some(image.module().clone()), kind: image.kind(), ..unnamed }
        })
    }

    /// The line of a jitted method at an address inside its body.
    pub(crate) fn line_of(&mut self, mappings: &Mappings, pid: u32, method: &Method, address: Avma) -> Option<Line> {
        let (row, map, native_offset) = method.il.place(address)?;
        let module = method.module.as_ref()?;
        let lines = self.images.lines_of_module(mappings, pid, module)?;
        lines.line(&self.images.outside().notices, row, map, native_offset)
    }
}

/// An address as a place in a mapped file.
pub(crate) struct MappedPlace<'m> {
    pub(crate) file_name: &'m str,
    pub(crate) module: Module,
    /// Into the file; of an image that was copied into memory, the RVA.
    pub(crate) offset: u64,
}

impl<'m> MappedPlace<'m> {
    fn of(mapped: Mapped<'m>, address: Avma) -> Self {
        let mapping = mapped.mapping;
        let path = paths::without_mark(&mapping.path);
        let file_name = paths::file_name(path);
        let build_id = mapping.build_id.as_deref().map(hex);
        Self {
            file_name,
            module: Module { name: file_name.to_owned(), path: path.to_owned(), build_id },
            offset: mapping.file_offset_of(address),
        }
    }

    fn in_image(&self, mapped: Mapped<'_>, image: &ManagedImage) -> Option<Rva> {
        match mapped.mapping.mapped_as() {
            MappedAs::ProgramImage => Some(Rva(self.offset)),
            _ => image.rva_of_file_offset(self.offset),
        }
    }

    pub(crate) fn kind(&self) -> CodeKind {
        kind_of_image(self.file_name)
    }

    pub(crate) fn unnamed(&self, why: Unnamed) -> Named {
        Named {
            name: format!("{}+{:#x}", self.file_name, self.offset),
            module: Some(self.module.clone()),
            kind: self.kind(),
            source: NameSource::None(why),
            line: None,
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
pub(crate) fn kind_of_image(file_name: &str) -> CodeKind {
    const RUNTIME: [&str; 6] =
        ["libcoreclr.so", "libclrjit.so", "libclrgc.so", "libclrgcexp.so", "libmscordaccore.so", "libclretwrc.so"];
    if RUNTIME.contains(&file_name) {
        CodeKind::Runtime
    } else if has_managed_extension(file_name) {
        CodeKind::ReadyToRun
    } else {
        CodeKind::Native
    }
}

/// Whether a file is called as images of managed code are.
pub(crate) fn has_managed_extension(file_name: &str) -> bool {
    let extension = file_name.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| ["dll", "exe"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
