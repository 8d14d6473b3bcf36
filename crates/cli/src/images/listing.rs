//! What is listed of one image.

use super::source::Source;
use std::fmt::Write as _;
use std::io;
use strata_address::Avma;
use strata_clrimage::metadata::Metadata;
use strata_clrimage::{Assemblies, Image, Layout, Method, MethodSource, MethodTable, NameError, Names};
use strata_resolve::files::FileBytes;
use strata_resolve::method_display_name;

/// One image, read.
pub(super) struct Listing<'d> {
    /// Path of the file; for an image in a single-file program, `PROGRAM!/PATH`.
    pub(super) path: String,
    /// Where it is loaded, in a process.
    pub(super) base: Option<Avma>,
    pub(super) image: Image<'d>,
    pub(super) methods: MethodTable,
    components: Vec<(&'d str, FileBytes)>,
}

/// The assemblies of a composite image, by simple name.
struct Components<'l>(&'l [(&'l str, FileBytes)]);

impl<'l> Assemblies<'l> for Components<'l> {
    fn find(&self, simple_name: &str) -> Option<Metadata<'l>> {
        let (_, bytes) = self.0.iter().find(|(name, _)| *name == simple_name)?;
        Image::parse(bytes, Layout::File).ok()?.metadata().copied()
    }
}

/// A method as it is listed.
pub(super) struct Row<'t> {
    pub(super) method: &'t Method,
    pub(super) token: u32,
    pub(super) name: String,
    /// How many other methods have the same code.
    pub(super) aliases: usize,
}

impl<'d> Listing<'d> {
    /// Reads the tables of an image.
    pub(super) fn read(source: &Source<'d>) -> Result<Self, strata_clrimage::Error> {
        let image = Image::parse(source.bytes, Layout::File)?;
        let methods = image.methods()?;
        let components = (0..image.component_count()).filter_map(|index| {
            let component = image.component(index).ok()?;
            // Names come from the image: none leads out of its folder.
            let is_file_name = !component.name.contains(['/', '\\']) && component.metadata.is_none();
            let bytes = (source.beside)(&format!("{}.dll", component.name)).filter(|_| is_file_name)?;
            Some((component.name, bytes))
        });
        let components = components.collect();
        Ok(Self { path: source.path.to_owned(), base: source.base, image, methods, components })
    }

    /// Whether the file is one of .NET at all.
    pub(super) fn is_dotnet(&self) -> bool {
        self.image.metadata().is_some() || self.image.ready_to_run().is_some()
    }

    /// The simple name of the assembly; of a composite image the file's.
    pub(super) fn assembly(&self) -> String {
        let metadata = self.image.metadata();
        let name = metadata.and_then(|metadata| metadata.assembly_name());
        let file = || self.path.rsplit('/').next().unwrap_or(&self.path);
        name.unwrap_or_else(|| file()).to_owned()
    }

    /// The version of the ReadyToRun format, such as `9.1`.
    pub(super) fn format(&self) -> Option<String> {
        self.image.ready_to_run().map(|header| format!("{}.{}", header.version().0, header.version().1))
    }

    /// Hands over what gives names to the methods.
    pub(super) fn with_names<T>(&self, take: impl FnOnce(&Names<'_, '_>) -> T) -> T {
        take(&self.image.names(&Components(&self.components)))
    }

    /// Hands over the methods in the order of their addresses, with their names as profiles show them.
    pub(super) fn for_each_row(&self, mut take: impl FnMut(Row<'_>) -> io::Result<()>) -> io::Result<()> {
        self.with_names(|names| self.rows(names).try_for_each(&mut take))
    }

    /// The methods in the order of their addresses, with their names as profiles show them.
    pub(super) fn rows<'t>(&'t self, names: &'t Names<'_, '_>) -> impl Iterator<Item = Row<'t>> + 't {
        self.methods.methods().iter().map(|method| Row {
            method,
            token: method.source.token(),
            name: name(names, &method.source).unwrap_or_else(|error| unnamed(&error)),
            aliases: self.methods.aliases(method).count(),
        })
    }
}

/// The name as in profiles, and the type arguments of the method itself, by which alone some instances differ.
fn name(names: &Names<'_, '_>, source: &MethodSource) -> Result<String, NameError> {
    let name = names.name(source)?;
    let texts = name.event_style()?;
    let arguments = name.type_arguments()?;
    let mut own = texts.name;
    if !arguments.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(own, "<{}>", arguments.join(","));
    }
    let mut display = method_display_name(&texts.namespace, &own, &texts.signature);
    for mark in name.marks() {
        let _ = write!(display, " [{}]", mark.label());
    }
    Ok(display)
}

fn unnamed(error: &NameError) -> String {
    format!("(unnamed: {error})")
}
