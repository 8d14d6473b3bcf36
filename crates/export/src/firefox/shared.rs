//! `libs` and `shared`: strings, functions, frames and stacks, each once for all threads.

use super::category::{category_of, category_of_mark};
use super::spots::{Spot, Spots};
use crate::json::{Column, Repeated};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::borrow::Cow;
use strata_digest::{CallTree, Group, Groups, Place, Sources};
use strata_profile::{Function, FunctionId, Handle, Module, Profile, SourceFile};

/// A resource that is a library.
const LIBRARY: u32 = 1;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Lib<'p> {
    arch: &'p str,
    name: &'p str,
    path: &'p str,
    debug_name: &'p str,
    debug_path: &'p str,
    breakpad_id: String,
    code_id: Option<&'p str>,
}

/// `libs`: one per module, in the modules' order.
pub(super) fn libs(profile: &Profile) -> impl Serialize + '_ {
    Column(|| {
        profile.modules.rows().iter().map(|module: &Module| Lib {
            arch: &profile.recording.arch,
            name: &module.name,
            path: &module.path,
            debug_name: &module.name,
            debug_path: &module.path,
            breakpad_id: breakpad_id(module.build_id.as_deref().unwrap_or_default()),
            code_id: module.build_id.as_deref(),
        })
    })
}

/// The id that symbol servers know an ELF file by: the first 16 bytes of its build id as a GUID (its first three fields
/// little-endian), in upper-case hex, then age 0. All zeros when there is no build id.
fn breakpad_id(build_id: &str) -> String {
    let mut digits: Vec<char> = build_id.chars().filter(char::is_ascii_hexdigit).take(32).collect();
    digits.resize(32, '0');
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let guid = order.iter().flat_map(|&byte| [digits[byte * 2], digits[byte * 2 + 1]]);
    guid.map(|digit| digit.to_ascii_uppercase()).chain(['0']).collect()
}

/// Which functions there are, and the strings they, their modules and their source files are called by.
pub(super) struct Strings<'p> {
    groups: Groups,
    sources: Sources,
    marks: Vec<(Place, Cow<'static, str>)>,
    texts: Vec<&'p str>,
    names: FxHashMap<&'p str, usize>,
    files: Vec<String>,
}

impl<'p> Strings<'p> {
    pub(super) fn of(profile: &'p Profile, tree: &CallTree) -> Self {
        let functions = profile.functions.rows().iter().map(|function| function.name.as_str());
        let modules = profile.modules.rows().iter().map(|module| module.name.as_str());
        let mut texts = Vec::new();
        let mut names = FxHashMap::default();
        for text in functions.chain(modules) {
            names.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() - 1
            });
        }
        let files = profile.source_files.rows().iter().map(file_name).collect();
        let groups = Groups::over_tiers(profile);
        Self { sources: Sources::of(profile, &groups), groups, marks: tree.marks(), texts, names, files }
    }

    /// All strings: names, marks, source files.
    fn all(&self) -> impl Iterator<Item = &str> {
        let marks = self.marks.iter().map(|(_, text)| &**text);
        self.texts.iter().copied().chain(marks).chain(self.files.iter().map(String::as_str))
    }

    fn of_marks(&self) -> impl Iterator<Item = usize> + '_ {
        self.texts.len()..self.texts.len() + self.marks.len()
    }

    fn of_files(&self) -> std::ops::Range<usize> {
        let start = self.texts.len() + self.marks.len();
        start..start + self.files.len()
    }
}

/// A source file as the profiler wants it: in the form by which it finds the file where that is known, else its path.
fn file_name(file: &SourceFile) -> String {
    let on_github = |link: &str| {
        let mut parts = link.strip_prefix("https://raw.githubusercontent.com/")?.splitn(4, '/');
        let [owner, repository, revision, path] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let plain = [owner, repository, revision, path].iter().all(|part| !part.is_empty() && !part.contains(':'));
        plain.then(|| format!("git:github.com/{owner}/{repository}:{path}:{revision}"))
    };
    file.link.as_deref().and_then(on_github).unwrap_or_else(|| file.path.clone())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shared<A, B, C, D, E, F> {
    string_array: A,
    stack_table: B,
    frame_table: C,
    func_table: D,
    resource_table: E,
    native_symbols: NativeSymbols,
    sources: SourceTable<F>,
}

#[derive(Serialize)]
struct StackTable<F, P> {
    frame: F,
    prefix: P,
    length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable<C, S, F, L> {
    address: Repeated<i32>,
    inline_depth: Repeated<u32>,
    category: C,
    subcategory: S,
    func: F,
    native_symbol: Repeated<()>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Repeated<u32>,
    line: L,
    column: Repeated<()>,
    length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable<N, R, S> {
    name: N,
    #[serde(rename = "isJS")]
    is_js: Repeated<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Repeated<bool>,
    resource: R,
    source: S,
    line_number: Repeated<()>,
    column_number: Repeated<()>,
    length: usize,
}

#[derive(Serialize)]
struct ResourceTable<L, N> {
    lib: L,
    name: N,
    host: Repeated<()>,
    r#type: Repeated<u32>,
    length: usize,
}

/// No frame has an address, so no symbol covers one.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct NativeSymbols {
    lib_index: [(); 0],
    address: [(); 0],
    name: [(); 0],
    function_size: [(); 0],
    length: usize,
}

#[derive(Serialize)]
struct SourceTable<F> {
    uuid: Repeated<()>,
    filename: F,
    length: usize,
}

/// `shared`: frames are the functions' lines, then the marks; functions are the groups, then the marks.
pub(super) fn shared<'a>(
    profile: &'a Profile,
    tree: &'a CallTree,
    spots: &'a Spots,
    strings: &'a Strings<'a>,
) -> impl Serialize + use<'a> {
    let (groups, marks) = (&strings.groups, &strings.marks);
    let frames = spots.rows().len() + marks.len();
    let funcs = groups.len() + marks.len();
    let modules = profile.modules.len();
    let function = |id: FunctionId| -> &'a Function { &profile.functions[id] };
    let frame_of = |place: Place| match place {
        // The tree is built over the spots: group `i` is spot `i`.
        Place::Functions(Group(spot)) => spot as usize,
        mark => {
            let position = marks.binary_search_by_key(&mark, |&(place, _)| place);
            spots.rows().len() + position.expect("the marks are all those of this tree")
        }
    };
    let file_of =
        move || strings.sources.all().iter().map(|line| line.map(|line| line.file)).chain(marks.iter().map(|_| None));
    // A line means nothing in another file than its function's.
    let line_of = move |spot: &Spot| {
        let file = strings.sources.of_group(groups.of(spot.function)).map(|line| line.file);
        spot.line.filter(|line| Some(line.file) == file).map(|line| line.line)
    };
    let kinds = move || {
        let of_spots = spots.rows().iter().map(|spot| category_of(profile.functions[spot.function].kind));
        of_spots.chain(marks.iter().map(|&(mark, _)| category_of_mark(mark)))
    };
    Shared {
        string_array: Column(|| strings.all()),
        stack_table: StackTable {
            frame: Column(move || tree.nodes.iter().map(move |node| frame_of(node.place))),
            prefix: Column(|| tree.nodes.iter().map(|node| node.parent.map(strata_digest::NodeId::index))),
            length: tree.nodes.len(),
        },
        frame_table: FrameTable {
            address: Repeated(-1, frames),
            inline_depth: Repeated(0, frames),
            category: Column(move || kinds().map(|(category, _)| category)),
            subcategory: Column(move || kinds().map(|(_, subcategory)| subcategory)),
            func: Column(move || {
                let of_spots = spots.rows().iter().map(|spot| groups.of(spot.function).0 as usize);
                of_spots.chain(groups.len()..funcs)
            }),
            native_symbol: Repeated((), frames),
            inner_window_id: Repeated(0, frames),
            line: Column(move || spots.rows().iter().map(line_of).chain(marks.iter().map(|_| None))),
            column: Repeated((), frames),
            length: frames,
        },
        func_table: FuncTable {
            name: Column(move || {
                groups
                    .firsts()
                    .iter()
                    .map(move |&id| strings.names[function(id).name.as_str()])
                    .chain(strings.of_marks())
            }),
            is_js: Repeated(false, funcs),
            relevant_for_js: Repeated(false, funcs),
            resource: Column(move || {
                let module = move |&id: &FunctionId| function(id).module.map_or(-1, |module| module.index() as i64);
                groups.firsts().iter().map(module).chain(marks.iter().map(|_| -1))
            }),
            source: Column(move || file_of().map(|file| file.map(Handle::index))),
            line_number: Repeated((), funcs),
            column_number: Repeated((), funcs),
            length: funcs,
        },
        resource_table: ResourceTable {
            lib: Column(move || 0..modules),
            name: Column(move || profile.modules.rows().iter().map(|module| strings.names[module.name.as_str()])),
            host: Repeated((), modules),
            r#type: Repeated(LIBRARY, modules),
            length: modules,
        },
        native_symbols: NativeSymbols::default(),
        sources: SourceTable {
            uuid: Repeated((), profile.source_files.len()),
            filename: Column(move || strings.of_files()),
            length: profile.source_files.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_file_has_the_name_by_which_the_profiler_finds_it() {
        let check = |link: Option<&str>, expected| {
            let file = SourceFile { path: "/_/src/A.cs".to_owned(), link: link.map(str::to_owned) };
            assert_eq!(file_name(&file), expected);
        };
        check(None, "/_/src/A.cs");
        let link = "https://raw.githubusercontent.com/dotnet/runtime/81cabf2857a0/src/libraries/A.cs";
        check(Some(link), "git:github.com/dotnet/runtime:src/libraries/A.cs:81cabf2857a0");
        check(Some("https://raw.githubusercontent.com/dotnet/runtime/81cabf2857a0"), "/_/src/A.cs");
        check(Some("https://raw.githubusercontent.com/dotnet/runtime/a:b/c"), "/_/src/A.cs");
        check(Some("https://example.org/A.cs"), "/_/src/A.cs");
    }

    #[test]
    fn a_build_id_becomes_a_breakpad_id() {
        let check = |build_id, expected| assert_eq!(breakpad_id(build_id), expected);
        check("0123456789abcdef0123456789abcdef01234567", "67452301AB89EFCD0123456789ABCDEF0");
        check("aabb", "0000BBAA0000000000000000000000000");
        check("", "000000000000000000000000000000000");
    }
}
