//! What becomes of data for standard output when it cannot be written.

use std::process::{Command, Output};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, utf16};

use crate::support::Scratch;

/// Runs `script`, in which `$1` is strata and `$2` a trace.
fn shell(scratch: &Scratch, script: &str) -> Output {
    let file = scratch.path("app.nettrace");
    let event = Blob { metadata: 1, sequence: 1, payload: utf16("tea"), ..Blob::default() };
    let definitions = [Definition::native(1, "Shop", 1, 0)];
    let stream = Stream::with_trace().metadata(&definitions).events(&Blobs::compressed().with(event));
    std::fs::write(&file, stream.end()).unwrap();
    Command::new("sh").args(["-c", script, "sh"]).arg(env!("CARGO_BIN_EXE_strata")).arg(&file).output().unwrap()
}

#[test]
fn data_that_goes_nowhere_is_a_failure() {
    let scratch = Scratch::new();
    let check = |script: &str, words: &str| {
        let output = shell(&scratch, script);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), said.trim_end()), (Some(2), words), "{script}");
    };
    for command in
        ["info \"$2\"", "info --json \"$2\"", "events \"$2\"", "events --csv \"$2\"", "report \"$2\" loss", "--help"]
    {
        check(&format!("\"$1\" {command} >&-"), "strata: cannot write standard output: it is closed");
        let full = "strata: cannot write standard output: No space left on device (os error 28)";
        check(&format!("\"$1\" {command} >/dev/full"), full);
    }
    let refused = "strata: cannot write standard output: Bad file descriptor (os error 9)";
    check("\"$1\" info \"$2\" 1</dev/null", refused);
    check("\"$1\" events \"$2\" 1</dev/null", refused);
}

#[test]
fn data_that_is_not_wanted_is_none() {
    let scratch = Scratch::new();
    // Whoever starts a program may open /dev/null for both.
    for script in ["\"$1\" info \"$2\" >/dev/null", "\"$1\" info \"$2\" 1<>/dev/null", "\"$1\" --version 1<>/dev/null"]
    {
        let output = shell(&scratch, script);
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{script}");
    }
}
