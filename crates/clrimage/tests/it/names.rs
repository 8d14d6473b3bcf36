//! Names of the methods of real images: known ones, and those that runtimes tell.

use strata_address::Rva;
use strata_clrimage::{Image, Layout, MethodName, MethodSource, MethodTable, NoAssemblies, Place};
use strata_testkit::live::{ImageSet, Runtime};

use crate::images::named;
use crate::runtime::compare;

/// What orders methods that share their code.
fn order(source: MethodSource) -> (bool, u32) {
    (matches!(source, MethodSource::Instance { .. }), source.token())
}

/// Start, size and name of every method, with those that share their code.
fn listed(image: &Image<'_>) -> String {
    let table = image.methods().unwrap();
    let names = image.names(&NoAssemblies);
    let mut rows = Vec::new();
    for method in table.methods() {
        for source in std::iter::once(method.source).chain(table.aliases(method)) {
            let name = names.name(&source).and_then(|name| name.runtime_style());
            // The list whose sums are known spells this one word as events do.
            let name = name.unwrap_or_else(|error| panic!("{source:?}: {error}")).replace("typedref", "refany");
            rows.push((method.start, order(source), name, method.size));
        }
    }
    rows.sort();
    rows.into_iter().map(|(start, _, name, size)| format!("{start:X} {size:X} {name}\n")).collect()
}

#[test]
fn all_names_of_an_image_have_the_known_checksum() {
    let check = |set: ImageSet, sums: &[(&str, u32)]| {
        let names: Vec<&str> = sums.iter().map(|(name, _)| *name).collect();
        let images = named(set, &names);
        for (name, sum) in sums {
            let list = listed(&Image::parse(&images[*name], Layout::File).unwrap());
            let mut crc = flate2::Crc::new();
            crc.update(list.as_bytes());
            assert_eq!(crc.sum(), *sum, "{set} {name}: {:08X}", crc.sum());
        }
    };
    check(ImageSet::Net3, &[("System.Private.CoreLib", 0x7740_71a1), ("System.Linq", 0xf437_0d95)]);
    check(
        ImageSet::Net8,
        &[
            ("System.Private.CoreLib", 0x7a4c_e4b8),
            ("System.Linq", 0x3ecd_8d0e),
            ("System.Text.Json", 0x8db8_b797),
            ("System.Console", 0xd547_590f),
        ],
    );
    check(ImageSet::Net9Loose, &[("System.Private.CoreLib", 0x6708_1abb), ("System.Linq", 0xa332_257d)]);
    check(ImageSet::Net10Compressed, &[("System.Private.CoreLib", 0xfe6c_1d5a), ("System.Text.Json", 0x8111_ad49)]);
    check(ImageSet::Net8Arm64, &[("System.Private.CoreLib", 0xc376_5d35), ("System.Linq", 0xab02_4a7f)]);
}

/// Every method has a name in every style.
pub(crate) fn check_names(what: &str, image: &Image<'_>, table: &MethodTable) {
    let names = image.names(&NoAssemblies);
    for method in table.methods() {
        let told = names.name(&method.source).and_then(|name| {
            let event = name.event_style()?;
            assert_eq!(event.name, name.name());
            assert!(!name.runtime_style()?.is_empty() && !name.map_style()?.is_empty());
            assert_eq!(name.marks().count(), 0);
            name.type_arguments()
        });
        told.unwrap_or_else(|error| panic!("{what} {:x}: {error}", method.start));
    }
}

/// RVA, name from the owner on, type arguments of the method itself.
type Row = (u32, &'static str, &'static [&'static str]);

#[test]
fn methods_have_their_known_names() {
    let check = |set: ImageSet, file: &str, rows: &[Row]| {
        let images = named(set, &[file]);
        let image = Image::parse(&images[file], Layout::File).unwrap();
        let (table, names) = (image.methods().unwrap(), image.names(&NoAssemblies));
        for (start, expected, arguments) in rows {
            let Some(Place::Method { method, .. }) = table.lookup(Rva((*start).into())) else {
                panic!("{set} {file}: nothing at {start:x}")
            };
            let name: MethodName<'_, '_> = names.name(&method.source).unwrap();
            let whole = name.runtime_style().unwrap();
            let (_, found) = whole.split_once(&format!(" [{file}] ")).unwrap();
            assert_eq!(
                (found, name.type_arguments().unwrap()),
                (*expected, arguments.iter().map(|name| (*name).to_owned()).collect())
            );
        }
    };
    const LIST_ADD: &str = "System.Collections.Generic.List`1[System.__Canon]::Add(!0)";
    const CONCAT: &str = "System.String::Concat(string,string)";
    const SETUP: &str = "System.AppContext::Setup(char**,char**,int32)";
    const TRY_INSERT: &str = "System.Collections.Generic.Dictionary`2[System.__Canon,System.__Canon]::TryInsert(!0,!1,\
                              valuetype System.Collections.Generic.InsertionBehavior)";
    const WORKER: &str = "System.Threading.PortableThreadPool+WorkerThread::WorkerThreadStart()";
    const WHERE: &str = "System.Linq.Enumerable::Where(class [System.Runtime]System.Collections.Generic.IEnumerable`1<!!0>,\
                         class [System.Runtime]System.Func`2<!!0,bool>)";
    let core_library = "System.Private.CoreLib";
    check(
        ImageSet::Net8,
        core_library,
        &[
            (0x13_ce40, CONCAT, &[]),
            (0x14_8880, SETUP, &[]),
            (0x11_5ce0, "System.Array::IndexOf(class System.Array,object,int32,int32)", &[]),
            (0x20_7840, "System.Threading.Thread::StartCallback()", &[]),
            (0x22_1d00, WORKER, &[]),
            (
                0x22_6b10,
                "System.Threading.Tasks.Task::ExecuteWithThreadLocal(class System.Threading.Tasks.Task&,\
                 class System.Threading.Thread)",
                &[],
            ),
            (0x27_1780, "System.Runtime.CompilerServices.CastHelpers::ChkCastAny(void*,object)", &[]),
            (0x38_0130, "System.Collections.Generic.List`1[System.Int32]::Add(!0)", &[]),
            (0x39_0080, "System.Collections.Generic.Dictionary`2[System.Int32,System.__Canon]::FindValue(!0)", &[]),
            (0x45_1420, LIST_ADD, &[]),
            (0x47_6490, TRY_INSERT, &[]),
            (0x49_e2a0, "System.Array::Empty()", &["System.Boolean"]),
            (0x35_5a60, "System.Span`1[System.Char]::get_Item(int32)", &[]),
        ],
    );
    check(
        ImageSet::Net8,
        "System.Linq",
        &[
            (
                0x1_ad00,
                "System.Linq.Enumerable::Sum(class [System.Runtime]System.Collections.Generic.IEnumerable`1<int32>)",
                &[],
            ),
            (0x2_6720, "System.Linq.Enumerable+WhereListIterator`1[System.__Canon]::MoveNext()", &[]),
            (
                0x3_6150,
                "System.Linq.Enumerable::Any(class [System.Runtime]System.Collections.Generic.IEnumerable`1<!!0>,\
                 class [System.Runtime]System.Func`2<!!0,bool>)",
                &["System.Char"],
            ),
            (0x3_d280, WHERE, &["System.__Canon"]),
        ],
    );
    check(
        ImageSet::Net3,
        core_library,
        &[
            (0x3c_9400, CONCAT, &[]),
            (0x48_9410, "System.Threading.ThreadPoolWorkQueue::Dispatch()", &[]),
            (0x5e_7260, TRY_INSERT, &[]),
        ],
    );
    check(
        ImageSet::Net9Loose,
        core_library,
        &[(0x15_1c20, CONCAT, &[]), (0x15_db00, SETUP, &[]), (0x25_3770, WORKER, &[]), (0x52_2640, LIST_ADD, &[])],
    );
    check(
        ImageSet::Net10Compressed,
        core_library,
        &[(0x15_7560, CONCAT, &[]), (0x16_3070, SETUP, &[]), (0x55_7910, LIST_ADD, &[])],
    );
    check(
        ImageSet::Net8Arm64,
        core_library,
        &[(0x15_e1b0, CONCAT, &[]), (0x16_eaf0, SETUP, &[]), (0x5b_72a0, LIST_ADD, &[]), (0x5e_d180, TRY_INSERT, &[])],
    );
    check(ImageSet::Net8Arm64, "System.Linq", &[(0x4_dfd0, WHERE, &["System.__Canon"])]);
}

/// Nearly all methods of the libraries, as the runtime's events and jitdump name them.
fn prepared(runtime: Runtime, at_least: usize) {
    let compared = compare(runtime, "Prepares");
    assert!(compared.rundown > at_least, "{runtime}: {compared:?}");
}

#[test]
fn prepared_methods_of_net3() {
    prepared(Runtime::Net3, 20_000);
}

#[test]
fn prepared_methods_of_net8() {
    prepared(Runtime::Net8, 25_000);
}

#[test]
fn prepared_methods_of_net9() {
    prepared(Runtime::Net9, 25_000);
}

#[test]
fn prepared_methods_of_net10() {
    prepared(Runtime::Net10, 25_000);
}
