//! The precompiled methods of an image by address.

mod build;
mod entries;
mod problems;

use strata_address::Rva;

use crate::r2r::{Function, Handler, MethodToken, Thunk};

pub use problems::{Problem, ProblemKind};

pub(crate) use build::build;
pub(crate) use problems::Problems;

/// Where each method's code is, and what lies between: built in one go, then only looked up.
///
/// It owns what it knows and holds no names: a [`MethodSource`] is turned into one when it is wanted. Addresses are RVAs.
#[derive(Clone, Debug, Default)]
pub struct MethodTable {
    /// Every RuntimeFunction, by its index; sorted by address.
    functions: Vec<Function>,
    /// Sorted by address.
    methods: Vec<Method>,
    /// Sorted by index of the first function.
    cold: Vec<ColdFunctions>,
    /// Sorted by index of the function.
    aliases: Vec<Alias>,
    thunks: Vec<Thunk>,
    /// The first RVA that is no padding behind the last function.
    end: u32,
    problems: Vec<Problem>,
}

/// One precompiled method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// What says which method it is.
    pub source: MethodSource,
    /// Index of its first RuntimeFunction, by which other tables know it.
    pub entry: u32,
    /// How many RuntimeFunctions it has without its cold part: the body, then the funclets.
    pub functions: u32,
    /// RVA of the first byte.
    pub start: u32,
    /// Bytes from there to the end of the last funclet, with padding between; what the runtime calls the method's size.
    pub size: u32,
    /// Bytes of the body alone.
    pub body_size: u32,
    /// The part that is rarely run and was put elsewhere.
    pub cold: Option<ColdPart>,
}

/// What says which method some code is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MethodSource {
    /// A method of an assembly, by its row.
    Definition {
        /// Number of the assembly in a composite image, from 0; 0 in any other image.
        component: u32,
        /// Row of `MethodDef` in the assembly's metadata, from 1.
        rid: u32,
    },
    /// An instantiation, by its signature.
    Instance {
        /// The token in the signature; it is one of the image's own metadata unless the signature says otherwise.
        token: u32,
        /// Offset of the signature in the section of instance entry points; see
        /// [`Image::instance`](crate::Image::instance).
        signature: u32,
    },
}

impl MethodSource {
    /// The method's token as the runtime writes it: table and row.
    pub const fn token(&self) -> u32 {
        match *self {
            Self::Definition { rid, .. } => MethodToken::Definition(rid).value(),
            Self::Instance { token, .. } => token,
        }
    }
}

/// Code that was put apart from the rest of its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColdPart {
    /// RVA of the first byte.
    pub start: u32,
    /// Bytes.
    pub size: u32,
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'t> {
    /// A method.
    Method {
        /// Which.
        method: &'t Method,
        /// What part of it.
        part: Part,
        /// Bytes from the method's start as the runtime counts them: a cold part continues where the rest ends.
        offset: u32,
    },
    /// Code between a call and the runtime.
    Thunk {
        /// Which.
        thunk: &'t Thunk,
        /// Bytes from its start.
        offset: u32,
    },
}

/// A part of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The method itself.
    Body,
    /// An exception handler; what kind, if the image says so.
    Funclet(Option<Handler>),
    /// The part that is rarely run and was put elsewhere.
    Cold,
    /// Padding or constants behind the code: no address of an instruction.
    Gap,
}

/// Another method whose code is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alias {
    entry: u32,
    source: MethodSource,
}

/// The RuntimeFunctions of a cold part.
#[derive(Clone, Copy, Debug)]
struct ColdFunctions {
    first: u32,
    end: u32,
    /// Index into the methods.
    method: usize,
}

impl MethodTable {
    /// Every method in the order of addresses.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Code that belongs to no method, in the order of addresses.
    pub fn thunks(&self) -> &[Thunk] {
        &self.thunks
    }

    /// What was wrong with the image's tables; empty for images as compilers write them.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many RuntimeFunctions the image has, those of no method included.
    pub fn function_count(&self) -> usize {
        self.functions.len()
    }

    /// The other methods that have the same code as `method`, in order.
    pub fn aliases(&self, method: &Method) -> impl Iterator<Item = MethodSource> + '_ {
        let entry = method.entry;
        let first = self.aliases.partition_point(|alias| alias.entry < entry);
        let found = self.aliases.get(first..).unwrap_or_default();
        found.iter().take_while(move |alias| alias.entry == entry).map(|alias| alias.source)
    }

    /// What is at `rva`, or `None` when that is no code of this image.
    pub fn lookup(&self, rva: Rva) -> Option<Place<'_>> {
        let rva = u32::try_from(rva.0).ok()?;
        self.method_at(rva).or_else(|| self.thunk_at(rva))
    }

    fn method_at(&self, rva: u32) -> Option<Place<'_>> {
        let index = self.functions.partition_point(|function| function.start <= rva).checked_sub(1)?;
        let function = self.functions.get(index)?;
        let is_gap = rva >= function.end;
        if is_gap && rva >= self.end {
            return None;
        }
        let index = u32::try_from(index).ok()?;
        if let Some((method, cold)) = self.cold_part_of(index) {
            let offset = method.size.checked_add(rva.checked_sub(cold.start)?)?;
            return Some(Place::Method { method, part: if is_gap { Part::Gap } else { Part::Cold }, offset });
        }
        let method = self.method_of(index)?;
        let part = match function {
            _ if is_gap => Part::Gap,
            _ if index == method.entry => Part::Body,
            _ => Part::Funclet(function.handler),
        };
        Some(Place::Method { method, part, offset: rva.checked_sub(method.start)? })
    }

    /// The method that owns the RuntimeFunction with `index`, cold parts apart.
    fn method_of(&self, index: u32) -> Option<&Method> {
        let last = self.methods.partition_point(|method| method.entry <= index).checked_sub(1)?;
        let method = self.methods.get(last)?;
        (index < method.entry.saturating_add(method.functions)).then_some(method)
    }

    fn cold_part_of(&self, index: u32) -> Option<(&Method, ColdPart)> {
        let last = self.cold.partition_point(|cold| cold.first <= index).checked_sub(1)?;
        let cold = self.cold.get(last).filter(|cold| index < cold.end)?;
        let method = self.methods.get(cold.method)?;
        Some((method, method.cold?))
    }

    fn thunk_at(&self, rva: u32) -> Option<Place<'_>> {
        let last = self.thunks.partition_point(|thunk| thunk.start <= rva).checked_sub(1)?;
        let thunk = self.thunks.get(last)?;
        let offset = rva.checked_sub(thunk.start).filter(|offset| *offset < thunk.size)?;
        Some(Place::Thunk { thunk, offset })
    }
}
