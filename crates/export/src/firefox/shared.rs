//! `libs` and `shared`: strings, functions, frames and stacks, each once for all threads.

use super::category::category_of;
use crate::json::{Column, Repeated};
use rustc_hash::FxHashMap;
use serde::Serialize;
use strata_digest::{CallTree, Group, Groups, Place};
use strata_profile::{CodeKind, Function, FunctionId, Handle, Module, Profile};

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

/// Which functions there are, and the strings they and their modules are called by.
pub(super) struct Strings<'p> {
    groups: Groups,
    marks: Vec<(Place, String)>,
    texts: Vec<&'p str>,
    names: FxHashMap<&'p str, usize>,
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
        Self { groups: Groups::over_tiers(profile), marks: tree.marks(), texts, names }
    }

    /// All strings; those of the marks come last.
    fn all(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().copied().chain(self.marks.iter().map(|(_, text)| text.as_str()))
    }

    fn of_marks(&self) -> impl Iterator<Item = usize> + '_ {
        self.texts.len()..self.texts.len() + self.marks.len()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shared<A, B, C, D, E> {
    string_array: A,
    stack_table: B,
    frame_table: C,
    func_table: D,
    resource_table: E,
    native_symbols: NativeSymbols,
    sources: Sources,
}

#[derive(Serialize)]
struct StackTable<F, P> {
    frame: F,
    prefix: P,
    length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable<C, S, F> {
    address: Repeated<i32>,
    inline_depth: Repeated<u32>,
    category: C,
    subcategory: S,
    func: F,
    native_symbol: Repeated<()>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Repeated<u32>,
    line: Repeated<()>,
    column: Repeated<()>,
    length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable<N, R> {
    name: N,
    #[serde(rename = "isJS")]
    is_js: Repeated<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Repeated<bool>,
    resource: R,
    source: Repeated<()>,
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

#[derive(Serialize, Default)]
struct Sources {
    uuid: [(); 0],
    filename: [(); 0],
    length: usize,
}

/// `shared`: frames are the profile's functions, then the marks; functions are the groups, then the marks.
pub(super) fn shared<'a>(
    profile: &'a Profile,
    tree: &'a CallTree,
    strings: &'a Strings<'a>,
) -> impl Serialize + use<'a> {
    let (groups, marks) = (&strings.groups, &strings.marks);
    let frames = profile.functions.len() + marks.len();
    let funcs = groups.len() + marks.len();
    let modules = profile.modules.len();
    let function = |id: FunctionId| -> &'a Function { &profile.functions[id] };
    let frame_of = |place: Place| match place {
        // The tree is built over single functions: group `i` is function `i`.
        Place::Functions(Group(function)) => function as usize,
        mark => {
            let position = marks.binary_search_by_key(&mark, |&(place, _)| place);
            profile.functions.len() + position.expect("the marks are all those of this tree")
        }
    };
    let kinds = move || {
        let of_functions = profile.functions.rows().iter().map(|function| function.kind);
        of_functions.chain(marks.iter().map(|_| CodeKind::Unknown)).map(category_of)
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
                let of_functions = profile.functions.iter().map(|(id, _)| groups.of(id).0 as usize);
                of_functions.chain(groups.len()..funcs)
            }),
            native_symbol: Repeated((), frames),
            inner_window_id: Repeated(0, frames),
            line: Repeated((), frames),
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
            source: Repeated((), funcs),
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
        sources: Sources::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_becomes_a_breakpad_id() {
        let check = |build_id, expected| assert_eq!(breakpad_id(build_id), expected);
        check("0123456789abcdef0123456789abcdef01234567", "67452301AB89EFCD0123456789ABCDEF0");
        check("aabb", "0000BBAA0000000000000000000000000");
        check("", "000000000000000000000000000000000");
    }
}
