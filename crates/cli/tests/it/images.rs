//! `strata images`: method tables of files, programs and processes.

use crate::support::{Scratch, run};
use crate::workload::{PerfMap, ShortFolder, start};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use strata_testkit::image::Image;
use strata_testkit::image::samples::{self, Embedded};
use strata_testkit::live::{Runtime, mapped_images};

fn framework_file(name: &str) -> PathBuf {
    let framework = Runtime::Net8.framework().unwrap_or_else(|missing| panic!("{missing}"));
    framework.expect("the shared framework is a folder").join(name)
}

fn images<const N: usize>(target: impl AsRef<OsStr>, options: [&str; N]) -> String {
    let arguments = ["images".as_ref(), target.as_ref()].into_iter().chain(options.into_iter().map(OsStr::new));
    String::from_utf8(run(arguments, 0).stdout).unwrap()
}

fn json<const N: usize>(target: impl AsRef<OsStr>, options: [&str; N]) -> serde_json::Value {
    let arguments = ["images".as_ref(), target.as_ref(), "--json".as_ref()];
    let output = run(arguments.into_iter().chain(options.into_iter().map(OsStr::new)), 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What is said of a target that gives nothing, with this exit code.
fn refused(target: impl AsRef<OsStr>, code: i32) -> String {
    let output = run(["images".as_ref(), target.as_ref()], code);
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_image_is_listed_in_three_forms() {
    let path = framework_file("System.Linq.dll");
    let text = images(&path, []);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2 + 1417);
    assert!(
        lines[0].ends_with(
            ": System.Linq, 1417 precompiled methods, ReadyToRun 9.1, MVID 46321af1-52a1-4cd1-8371-aff096a4466b"
        ),
        "{}",
        lines[0]
    );
    let any = lines.iter().find(|line| line.trim_start().starts_with("36150 ")).unwrap();
    assert!(any.contains(" 06000040 System.Linq.Enumerable.Any<System.Char>("), "{any}");

    let document = json(&path, []);
    let image = &document["images"][0];
    assert_eq!(image["methods"].as_array().unwrap().len(), 1417);
    assert_eq!(image["mvid"], "46321af1-52a1-4cd1-8371-aff096a4466b");
    assert_eq!(image["damaged"].as_array().unwrap().len(), 0);
    let sum = image["methods"].as_array().unwrap().iter().find(|method| method["rva"] == 0x1ad00).unwrap();
    assert_eq!((&sum["size_bytes"], &sum["token"]), (&0xa.into(), &0x0600_0114.into()));

    let map = images(&path, ["--perfmap"]);
    let lines: Vec<&str> = map.lines().collect();
    assert_eq!(lines.len(), 5 + 1417);
    assert_eq!(lines[1..5], ["FFFFFFFE 00 1", "FFFFFFFD 00 2", "FFFFFFFC 00 3", "FFFFFFFB 00 1"]);
    assert!(lines[0].starts_with("FFFFFFFF 00 ") && lines[0].len() == 12 + 32, "{}", lines[0]);
    assert_eq!(lines[5], "0001A230 74 System.String System.SR::GetResourceString(System.String)");
}

#[test]
fn a_program_lists_what_it_holds() {
    for runtime in [Runtime::Net10, Runtime::Net10Compressed] {
        let program = runtime.host().unwrap();
        let text = images(&program, []);
        let core = text.lines().find(|line| line.ends_with("!/System.Private.CoreLib.dll")).unwrap();
        assert!(core.contains("   48656  16.0 "), "{core}");
        let list = images(&program, ["--image", "system.linq"]);
        assert!(list.starts_with(&format!("# {}!/System.Linq.dll: System.Linq, ", program.display())));
        let map = run(["images".as_ref(), program.as_os_str(), "--perfmap".as_ref()], 3);
        assert!(String::from_utf8_lossy(&map.stderr).contains("--image NAME chooses one"));
    }
}

#[test]
fn a_composite_image_has_the_names_of_its_components() {
    let scratch = Scratch::new();
    let folder = scratch.path("composite");
    fs::create_dir_all(&folder).unwrap();
    let inside = folder.join("inside.dll");
    fs::write(&inside, samples::composite(Embedded::Yes).build().file).unwrap();
    let apart = folder.join("apart.dll");
    fs::write(&apart, samples::composite(Embedded::No).build().file).unwrap();
    let names = |path: &Path| {
        let text = images(path, []);
        text.lines().skip(2).map(|line| line.split_once(" 06").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    let expected = names(&inside);
    assert!(expected.len() > 2 && expected.iter().all(|name| !name.contains("(unnamed")), "{expected:?}");
    assert!(names(&apart).iter().all(|name| name.contains("(unnamed: the metadata of ")), "{:?}", names(&apart));
    for assembly in [samples::library(), samples::other()] {
        let path = folder.join(format!("{}.dll", assembly.name));
        fs::write(path, Image::single(assembly.bytes()).build().file).unwrap();
    }
    assert_eq!(names(&apart), expected);
}

#[test]
fn what_is_no_image_is_said_in_one_line() {
    let scratch = Scratch::new();
    let write = |name: &str, bytes: &[u8]| {
        let path = scratch.path(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let core = fs::read(framework_file("System.Console.dll")).unwrap();
    let check = |path: PathBuf, code, said: &str| {
        let message = refused(&path, code);
        assert!(message.contains(said) && message.lines().count() == 2, "{message}");
    };
    check(write("cut.dll", &core[..core.len() / 3]), 5, "cut");
    check(write("text.dll", b"just a text\n"), 5, "it is neither an assembly nor a single-file .NET program");
    check(write("empty.dll", b""), 5, "it is empty");
    let native = samples::single().build().file;
    check(write("native.dll", &without_cli_header(native.clone())), 5, "has no CLI header");
    let sparse = scratch.path("sparse.dll");
    fs::File::create(&sparse).unwrap().set_len(2 << 30).unwrap();
    check(sparse, 5, "is larger than 1073741824 bytes");
    check(scratch.path("nothing.dll"), 5, "no file at ");
    check(framework_file("libcoreclr.so"), 5, "it is neither an assembly");
    check(framework_file("System.Runtime.dll"), 6, "has no precompiled code");
    check("4000000000".into(), 1, "there is no process 4000000000");
}

/// The same file with an empty entry for the CLI header.
fn without_cli_header(mut file: Vec<u8>) -> Vec<u8> {
    let new_header = usize::try_from(u32::from_le_bytes(file[0x3c..0x40].try_into().unwrap())).unwrap();
    // Signature, file header, the fields of the optional header in front of its directories, fourteen directories.
    let entry = new_header + 4 + 20 + 112 + 14 * 8;
    file[entry..entry + 8].fill(0);
    file
}

#[test]
fn a_process_lists_what_it_has_loaded() {
    for runtime in [Runtime::Net3, Runtime::Net8, Runtime::Net8Single30, Runtime::Net10Compressed] {
        let temporary = ShortFolder::new();
        let running = start(runtime, "Shares", &temporary, PerfMap::Off);
        let pid = running.pid().to_string();
        let listed = json(&pid, []);
        let listed = listed["images"].as_array().unwrap();
        let core = listed.iter().find(|image| image["assembly"] == "System.Private.CoreLib").unwrap();
        let base = core["base"].as_u64().unwrap();
        let mapped = mapped_images(running.pid()).unwrap();
        assert!(mapped.iter().any(|image| image.base.0 == base), "{runtime}: {base:#x} is no image's base");
        let bases = |image: &serde_json::Value| mapped.iter().any(|known| Some(known.base.0) == image["base"].as_u64());
        assert!(listed.len() > 3 && listed.iter().all(bases), "{runtime}");

        let map = images(&pid, ["--perfmap"]);
        let first = &core["methods"][0];
        let start = base + first["rva"].as_u64().unwrap();
        let (size, name) = (first["size_bytes"].as_u64().unwrap(), first["name"].as_str().unwrap());
        let line = format!("{start:x} {size:x} {name}[PreJIT]");
        assert!(map.lines().any(|known| known == line), "{runtime}: {line}");
        let jitted = map.lines().filter(|line| line.contains(" Shares.") && !line.ends_with("[PreJIT]"));
        assert!(jitted.count() > 3, "{runtime}: what was jitted is in the map");
    }
}
