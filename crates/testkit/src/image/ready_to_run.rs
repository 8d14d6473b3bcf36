//! Images with precompiled code: single, composite and component ones of any version, from plain lists.

use std::collections::BTreeMap;

use super::code::{self, Function, Method, Placed};
use super::debug_directory::{self, Entry};
use super::debug_info::Form;
use super::entries::Entries;
use super::imports::{self, Imports, Thunk};
use super::pe::{self, Pe};

/// Room kept for a header: 16 bytes and 24 sections.
const HEADER_ROOM: usize = 16 + 24 * 12;

/// An image.
#[derive(Clone, Debug)]
pub struct Image {
    /// Machine, such as [`pe::LINUX_AMD64`].
    pub machine: u16,
    /// Major and minor version of the format.
    pub version: (u16, u16),
    /// Flags of the core header.
    pub flags: u32,
    /// What kind of image it is, with its metadata.
    pub kind: Kind,
    /// The methods in the order of their code.
    pub methods: Vec<Method>,
    /// Import cells and thunks.
    pub imports: (Vec<Imports>, Vec<Thunk>),
    /// Form of the debug information; that of the version if not given.
    pub debug_form: Option<Form>,
    /// The debug directory.
    pub debug_directory: Vec<Entry>,
    /// What is written other than it should be.
    pub changes: Changes,
}

/// Kind of image.
#[derive(Clone, Debug)]
pub enum Kind {
    /// One assembly with its code.
    Single(Vec<u8>),
    /// The code of several assemblies.
    Composite(Vec<Component>),
    /// An assembly whose code is in the composite file of this name.
    Component(Vec<u8>, String),
    /// An assembly without code.
    IlOnly(Vec<u8>),
    /// A PE file that is no .NET image.
    Native,
}

/// An assembly of a composite image.
#[derive(Clone, Debug)]
pub struct Component {
    /// Simple name.
    pub name: String,
    /// Module version id that the composite image has of it.
    pub mvid: [u8; 16],
    /// Its metadata, if that is inside the composite image.
    pub embedded: Option<Vec<u8>>,
}

/// Sections of the ReadyToRun header that are not what the lists say, by type.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Further sections, or other content.
    pub content: BTreeMap<u32, Vec<u8>>,
    /// Another address and size.
    pub place: BTreeMap<u32, (u32, u32)>,
    /// Sections that are not listed.
    pub absent: Vec<u32>,
}

/// An image that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// Bytes of the file.
    pub file: Vec<u8>,
    /// Bytes as they lie in memory.
    pub memory: Vec<u8>,
    /// Where each method is.
    pub methods: Vec<Placed>,
    /// Where each thunk is.
    pub thunks: Vec<Function>,
    /// Address and size of each section of the ReadyToRun header.
    pub sections: BTreeMap<u32, (u32, u32)>,
    /// File offsets of the sections' content.
    pub offsets: BTreeMap<u32, usize>,
}

impl Image {
    /// An image of one assembly for Linux on amd64, version 9.1, with the usual thunks and no methods.
    pub fn single(metadata: Vec<u8>) -> Self {
        Self {
            machine: pe::LINUX_AMD64,
            version: (9, 1),
            flags: 0x4b,
            kind: Kind::Single(metadata),
            methods: Vec::new(),
            imports: imports::usual(),
            debug_form: None,
            debug_directory: Vec::new(),
            changes: Changes::default(),
        }
    }

    /// The same of another kind.
    pub fn of_kind(kind: Kind) -> Self {
        Self { kind, ..Self::single(Vec::new()) }
    }

    /// Whether the header is that of code, not of a component.
    fn has_code(&self) -> bool {
        matches!(self.kind, Kind::Single(_) | Kind::Composite(_))
    }

    /// The bytes, and where everything is.
    pub fn build(&self) -> Built {
        let mut out = Pe::new(self.machine);
        out.section(".text", pe::CODE);
        let cli = out.put(&[0; 72]);
        let header = out.put(&[0; HEADER_ROOM]);
        let metadata = match &self.kind {
            Kind::Single(metadata) | Kind::Component(metadata, _) | Kind::IlOnly(metadata) => put(&mut out, metadata),
            Kind::Composite(_) | Kind::Native => (0, 0),
        };
        let mut sections = Sections::default();
        sections.put(&mut out, 100, b"Crossgen2 testkit\0");
        debug_directory::put(&mut out, &self.debug_directory);
        let (mut methods, mut thunks) = (Vec::new(), Vec::new());
        if self.has_code() {
            (methods, thunks) = self.put_code(&mut out, &mut sections);
        } else {
            out.section(".data", pe::DATA);
        }
        if let Kind::Component(_, owner) = &self.kind {
            sections.put(&mut out, 116, format!("{owner}\0").as_bytes());
        }
        if let Kind::Composite(components) = &self.kind {
            self.put_components(&mut out, components, &methods, &mut sections);
            out.export("RTR_HEADER", header);
        }
        for (kind, content) in &self.changes.content {
            sections.put(&mut out, *kind, content);
        }
        out.section(".reloc", pe::RELOCATIONS);
        out.put(&[0, 0, 1, 0, 12, 0, 0, 0, 0, 0, 0, 0]);
        self.change(&mut sections.0);
        let native = [b"RTR\0", &words(&[self.version.0, self.version.1])[..], &core_header(self.flags, &sections.0)];
        let native = native.concat();
        if !matches!(self.kind, Kind::Native | Kind::IlOnly(_)) {
            out.patch(header, &native);
        }
        match self.kind {
            Kind::Composite(_) | Kind::Native => {}
            Kind::IlOnly(_) => put_cli(&mut out, cli, &pe::cli_header(1, metadata, (0, 0))),
            _ => put_cli(&mut out, cli, &pe::cli_header(0xc, metadata, (header, native.len() as u32))),
        }
        let offsets = sections.0.iter().map(|(kind, place)| (*kind, out.file_offset(place.0) as usize)).collect();
        Built { file: out.file(), memory: out.memory(), methods, thunks, sections: sections.0, offsets }
    }

    fn change(&self, sections: &mut BTreeMap<u32, (u32, u32)>) {
        sections.extend(&self.changes.place);
        sections.retain(|kind, _| !self.changes.absent.contains(kind));
    }

    /// Puts code, thunks and unwind data, then the data that tells of them.
    fn put_code(&self, out: &mut Pe, sections: &mut Sections) -> (Vec<Placed>, Vec<Function>) {
        let (groups, thunks) = &self.imports;
        let methods = code::put_code(out, &self.methods);
        let placed = imports::put_thunks(out, thunks);
        if let (Some(first), Some(last)) = (placed.first(), placed.last()) {
            sections.0.insert(106, (first.start, last.end() - first.start));
        }
        out.align(4, 0);
        let functions = code::put_unwind_data(out, &methods, placed.first().map_or(0, |thunk| thunk.start));
        let signatures = imports::put_signatures(out, groups);
        self.put_exceptions(out, &methods, sections);
        out.section(".data", pe::DATA);
        if !groups.is_empty() {
            let table = imports::put_cells(out, groups, &signatures, thunks, &placed);
            sections.put(out, 101, &table);
        }
        let table = sections.put(out, 102, &functions);
        out.put(&[0xff; 4]);
        out.directories.insert(3, (table, functions.len() as u32));
        let entries = Entries::of(&self.methods, &methods);
        let form = self.debug_form.unwrap_or(Form::of_version(self.version.0));
        if !matches!(self.kind, Kind::Composite(_)) {
            sections.put(out, 103, &entries.definitions(0));
        }
        if let Some(table) = entries.debug_info(form) {
            sections.put(out, 105, &table);
        }
        if let Some(table) = entries.instances() {
            sections.put(out, 109, &table);
        }
        let rows = self.methods.iter().zip(&methods).filter(|(method, _)| !method.cold.is_empty());
        let map: Vec<u32> = rows.flat_map(|(_, placed)| [placed.cold_entry, placed.entry]).collect();
        if !map.is_empty() {
            sections.put(out, 120, &longs(&map));
        }
        (methods, placed)
    }

    fn put_exceptions(&self, out: &mut Pe, methods: &[Placed], sections: &mut Sections) {
        out.align(4, 0);
        let rows = self.methods.iter().filter(|method| !method.funclets.is_empty()).count();
        if rows == 0 {
            return;
        }
        let clauses = out.here() + (rows as u32 + 1) * 8;
        let (table, clauses) = code::exceptions(&self.methods, methods, clauses);
        sections.put(out, 104, &table);
        out.put(&clauses);
    }

    /// Puts the manifest, each component's headers and metadata, and the list of them.
    fn put_components(&self, out: &mut Pe, components: &[Component], methods: &[Placed], sections: &mut Sections) {
        let references = components.iter().map(|component| component.name.clone()).collect();
        let manifest = super::metadata::Assembly { name: "composite".into(), references, ..Default::default() };
        sections.put(out, 112, &manifest.bytes());
        sections.put(out, 118, &components.iter().flat_map(|component| component.mvid).collect::<Vec<u8>>());
        let entries = Entries::of(&self.methods, methods);
        let mut list = Vec::new();
        for (number, component) in components.iter().enumerate() {
            let cli = component.embedded.as_ref().map_or((0, 0), |metadata| {
                let metadata = put(out, metadata);
                put(out, &pe::cli_header(0xc, metadata, (0, 0)))
            });
            let mut own = Sections::default();
            if entries.has_definitions(number) {
                own.put(out, 103, &entries.definitions(number));
            }
            let core = put(out, &core_header(self.flags | 0x20, &own.0));
            list.extend([cli.0, cli.1, core.0, core.1]);
        }
        sections.put(out, 115, &longs(&list));
    }
}

/// Sections put so far, by type.
#[derive(Default)]
struct Sections(BTreeMap<u32, (u32, u32)>);

impl Sections {
    fn put(&mut self, out: &mut Pe, kind: u32, content: &[u8]) -> u32 {
        out.align(4, 0);
        let address = out.put(content);
        self.0.insert(kind, (address, content.len() as u32));
        address
    }
}

fn put(out: &mut Pe, bytes: &[u8]) -> (u32, u32) {
    out.align(4, 0);
    (out.put(bytes), bytes.len() as u32)
}

fn put_cli(out: &mut Pe, address: u32, header: &[u8]) {
    out.patch(address, header);
    out.directories.insert(14, (address, 72));
}

fn core_header(flags: u32, sections: &BTreeMap<u32, (u32, u32)>) -> Vec<u8> {
    let rows = sections.iter().flat_map(|(kind, (address, size))| [*kind, *address, *size]);
    longs(&[flags, sections.len() as u32].into_iter().chain(rows).collect::<Vec<u32>>())
}

fn longs(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn words(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
