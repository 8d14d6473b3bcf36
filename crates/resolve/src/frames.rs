//! From an address at a moment to a frame of the profile.

use crate::managed::{Home, ManagedCode, Method};
use crate::mappings::{MappedAs, Mappings};
use crate::paths;
use crate::symbols::{Named, Symbols};
use rustc_hash::FxHashMap;
use strata_address::Avma;
use strata_profile::{
    CodeKind, Found, Frame, FrameId, Function, Gap, Module, NameSource, ProfileBuilder, SourceLine, Tier, Timestamp,
    Unnamed,
};

#[cfg(test)]
mod tests;

/// Everything that can name an address: of mappings at the moment of the last one, of managed code at any.
pub(crate) struct Namer<'f> {
    pub(crate) mappings: Mappings,
    managed: FxHashMap<u32, ManagedCode>,
    symbols: Symbols<'f>,
    /// By process, and good as long as its mappings do not change.
    known: FxHashMap<u32, FxHashMap<(Avma, Found), Known>>,
    kernel: FxHashMap<(Avma, Found), FrameId>,
}

/// What an address is.
#[derive(Clone, Copy)]
struct Known {
    frame: FrameId,
    /// It may be another from then on.
    until: Timestamp,
}

impl<'f> Namer<'f> {
    pub(crate) fn new(managed: FxHashMap<u32, ManagedCode>, symbols: Symbols<'f>) -> Self {
        Self {
            mappings: Mappings::default(),
            managed,
            symbols,
            known: FxHashMap::default(),
            kernel: FxHashMap::default(),
        }
    }

    /// The mappings of a process changed.
    pub(crate) fn changed(&mut self, pid: u32) {
        if let Some(known) = self.known.get_mut(&pid) {
            known.clear();
        }
    }

    /// The process ended or runs another program from `at` on: nothing that was mapped or compiled is there any more.
    pub(crate) fn gone(&mut self, pid: u32, at: Timestamp) {
        self.mappings.gone(pid);
        if let Some(managed) = self.managed.get_mut(&pid) {
            managed.end(at);
        }
        self.changed(pid);
    }

    /// The frame of a kernel address.
    pub(crate) fn kernel(&mut self, builder: &mut ProfileBuilder, address: Avma, is_leaf: bool) -> FrameId {
        let found = if is_leaf { Found::Ip } else { Found::KernelChain };
        if let Some(frame) = self.kernel.get(&(address, found)) {
            return *frame;
        }
        let named = self.symbols.kernel(look_up(address, is_leaf));
        let frame = add(builder, named, address, found);
        self.kernel.insert((address, found), frame);
        frame
    }

    /// Whether kernel addresses have names at all.
    pub(crate) fn kernel_problem(&self) -> Option<&str> {
        self.symbols.kernel_problem()
    }

    /// What is to be told of images that could not be read, or only in part.
    pub(crate) fn take_notices(&mut self) -> Vec<Gap> {
        self.symbols.take_notices()
    }

    /// The frame of a process address at a time that is not before the last one.
    pub(crate) fn user(
        &mut self,
        builder: &mut ProfileBuilder,
        (pid, at): (u32, Timestamp),
        address: Avma,
        found: Found,
    ) -> FrameId {
        match self.known.get(&pid).and_then(|known| known.get(&(address, found))) {
            Some(known) if at < known.until => return known.frame,
            _ => {}
        }
        let (named, until) = self.name(pid, at, look_up(address, found == Found::Ip));
        let frame = add(builder, named, address, found);
        self.known.entry(pid).or_default().insert((address, found), Known { frame, until });
        frame
    }

    /// In the order of how sure the sources are: what the runtime said of code it wrote, unless something that it cannot have
    /// meant is mapped there by now; the image; what the runtime said of an image that cannot be read; the lack of all with
    /// its reason. The name is good for later times before the one beside it, as long as mappings stay as they are.
    fn name(&mut self, pid: u32, at: Timestamp, address: Avma) -> (Named, Timestamp) {
        const ALWAYS: Timestamp = Timestamp(u64::MAX);
        let managed = self.managed.get(&pid);
        let (method, until) = managed.map_or((None, ALWAYS), |managed| managed.look_up(address, at));
        let named = match (self.mappings.get(pid, address), method) {
            (Some(mapped), method) if mapped.mapping.mapped_as() != MappedAs::Memory => {
                let named = self.symbols.image(&self.mappings, mapped, address);
                match method {
                    Some(method) if !is_newer(&named, &FileName::of(&mapped.mapping.path), method.home) => {
                        of_method(&mut self.symbols, &self.mappings, pid, method, address)
                    }
                    _ => named,
                }
            }
            (_, Some(method)) => of_method(&mut self.symbols, &self.mappings, pid, method, address),
            (Some(_), None) => in_memory(managed, address),
            (None, None) => unmapped(address),
        };
        (named, until)
    }
}

/// Code that nothing tells of, in memory that programs write code into.
fn in_memory(managed: Option<&ManagedCode>, address: Avma) -> Named {
    let (name, kind) = match managed {
        // When the runtime has listed its methods, what is left are its stubs; else it may well be a method.
        Some(managed) if managed.lists_all => (format!("[.NET code at {address}]"), CodeKind::Stub),
        Some(_) => (format!("[.NET code at {address}]"), CodeKind::Jit(Tier::Unknown)),
        None => (format!("[code in memory at {address}]"), CodeKind::Unknown),
    };
    Named { name, module: None, kind, source: NameSource::None(Unnamed::NoMethod), line: None }
}

fn unmapped(address: Avma) -> Named {
    Named {
        name: format!("[unmapped {address}]"),
        module: None,
        kind: CodeKind::Unknown,
        source: NameSource::None(Unnamed::NoMapping),
        line: None,
    }
}

/// Whether what an image calls an address counts for more than the body that the runtime told of.
///
/// The runtime tells of no image that goes, and the kernel of no memory that goes, so the newest mapping decides. An image's
/// own table of its precompiled methods tells their exact extent; the runtime's list of them is for images that cannot be
/// read.
fn is_newer(of_image: &Named, file: &FileName<'_>, home: Home) -> bool {
    match home {
        Home::Memory => true,
        Home::Image => of_image.source.is_name() || file.is_library(),
        // The runtime knows the names of its helpers better than its library, which is without most symbols.
        Home::Runtime if of_image.kind == CodeKind::Runtime => false,
        Home::Runtime => of_image.source == NameSource::ElfSymbol || file.is_library(),
    }
}

/// What the name of a mapped file says of its content.
struct FileName<'p>(&'p str);

impl<'p> FileName<'p> {
    fn of(path: &'p str) -> Self {
        Self(paths::file_name(paths::without_mark(path)))
    }

    /// A native library, such as `libc.so.6`.
    fn is_library(&self) -> bool {
        self.0.ends_with(".so") || self.0.contains(".so.") || self.0 == "[vdso]"
    }
}

fn of_method(symbols: &mut Symbols<'_>, mappings: &Mappings, pid: u32, method: &Method, address: Avma) -> Named {
    let module = method.module.as_ref().map(|module| {
        let name = paths::stem(&module.path).to_owned();
        Module { name, path: module.path.to_string(), build_id: None }
    });
    let line = symbols.line_of(mappings, pid, method, address);
    Named { name: method.name.clone(), module, kind: method.kind, source: method.source, line }
}

/// A return address belongs to the call before it.
pub(crate) fn look_up(address: Avma, is_leaf: bool) -> Avma {
    if is_leaf { address } else { address.checked_sub(1).unwrap_or(address) }
}

/// The frame of what was found out about an address.
pub(crate) fn add(builder: &mut ProfileBuilder, named: Named, address: Avma, found: Found) -> FrameId {
    let module = named.module.map(|module| builder.module(module));
    let function = builder.function(Function { name: named.name, module, kind: named.kind });
    let line = named.line.map(|line| SourceLine { file: builder.source_file((*line.file).clone()), line: line.number });
    builder.frame(Frame { function, address, found, named: named.source, line })
}
