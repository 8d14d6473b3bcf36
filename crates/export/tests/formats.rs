//! What each format looks like, and that other programs' definitions of it agree.

use std::io::Read;
use std::path::Path;
use strata_export::{Compression, Format, write_profile};
use strata_profile::Profile;
use strata_testkit::live;
use strata_testkit::profile::{empty, events, mixed, thread_time};

fn text(profile: &Profile, format: Format) -> String {
    let mut out = Vec::new();
    write_profile(profile, format, Compression::None, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// JSON with line breaks; folded stacks as they are. No snapshot needs the 64 KiB name.
fn readable(profile: &Profile, format: Format) -> String {
    let text = text(profile, format);
    let text = match format {
        Format::Folded => text,
        Format::Firefox | Format::Speedscope => {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            one_line_arrays(&serde_json::to_string_pretty(&value).unwrap())
        }
    };
    text.replace(&"L".repeat(64 * 1024), "<65536 times L>")
}

/// Arrays of plain values on one line: a column reads better so.
fn one_line_arrays(pretty: &str) -> String {
    let mut out = String::new();
    let mut lines = pretty.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        if line.ends_with('[') {
            let rest: Vec<&str> = lines.clone().take_while(|line| !line.trim_start().starts_with(']')).collect();
            if !rest.iter().any(|line| line.ends_with(['[', '{'])) {
                out.push_str(&rest.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "));
                out.push_str(lines.nth(rest.len()).unwrap_or_default().trim_start());
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn snapshots() {
    let profiles = [("mixed", mixed()), ("empty", empty()), ("thread_time", thread_time()), ("events", events())];
    for (name, profile) in profiles {
        for format in [Format::Firefox, Format::Speedscope, Format::Folded] {
            insta::assert_snapshot!(format!("{name}_{format:?}").to_lowercase(), readable(&profile, format));
        }
    }
}

#[test]
fn gzip_holds_the_same_bytes() {
    let profile = mixed();
    for format in [Format::Firefox, Format::Speedscope, Format::Folded] {
        let mut packed = Vec::new();
        write_profile(&profile, format, Compression::Gzip, &mut packed).unwrap();
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, text(&profile, format));
    }
}

#[test]
fn odd_names_survive() {
    let profile = mixed();
    for format in [Format::Firefox, Format::Speedscope] {
        let text = text(&profile, format);
        assert!(!text.chars().any(char::is_control), "{format:?} escapes control characters");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let strings = match format {
            Format::Firefox => value["shared"]["stringArray"].clone(),
            _ => value["shared"]["frames"].as_array().unwrap().iter().map(|frame| frame["name"].clone()).collect(),
        };
        for function in profile.functions.rows() {
            let known = strings.as_array().unwrap().iter().any(|string| string.as_str() == Some(&function.name));
            assert!(known, "{format:?} lacks {:.40}", function.name);
        }
    }
    for line in text(&profile, Format::Folded).lines() {
        assert!(!line.chars().any(char::is_control), "{line:.80}");
    }
}

#[test]
fn thread_time_is_never_called_cpu_time() {
    for format in [Format::Firefox, Format::Speedscope, Format::Folded] {
        let text = text(&thread_time(), format);
        // The one field is called so by its format, and has the name of the operating system.
        assert!(!text.replace("oscpu", "").to_lowercase().contains("cpu"), "{format:?}: {text}");
        assert!(text.contains("[external: native code or waiting]"), "{format:?}: {text}");
        assert!(format == Format::Folded || text.contains("thread time"), "{format:?}: {text}");
    }
}

#[test]
fn errors_of_the_output_come_through() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for format in [Format::Firefox, Format::Speedscope, Format::Folded] {
        for compression in [Compression::None, Compression::Gzip] {
            let error = write_profile(&mixed(), format, compression, &mut Full).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{format:?} {compression:?}");
        }
    }
}

#[test]
fn speedscope_files_are_valid() {
    let schema = live::speedscope_schema().unwrap();
    let profiles = [("mixed", mixed()), ("empty", empty()), ("thread_time", thread_time()), ("events", events())];
    for (name, profile) in profiles {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.speedscope.json"));
        std::fs::write(&file, text(&profile, Format::Speedscope)).unwrap();
        live::validate_json(&file, &schema).unwrap();
    }
}
