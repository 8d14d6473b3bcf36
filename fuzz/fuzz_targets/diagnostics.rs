//! Replies of a hostile peer: no input may panic, and none may yield more text than its bytes hold.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_diagnostics::InfoVersion;
use strata_diagnostics::reply;

fuzz_target!(|bytes: &[u8]| {
    if let Ok((header, payload)) = reply::split(bytes) {
        assert_eq!(header.payload_bytes, payload.len());
    }
    let _ = reply::advertise(bytes);
    let _ = reply::error(bytes);
    let _ = reply::session_id(bytes);
    for version in [InfoVersion::One, InfoVersion::Two, InfoVersion::Three] {
        match reply::process_info(version, bytes) {
            // A UTF-16 unit of two bytes becomes at most three.
            Ok(info) => {
                let text = info.command_line.len() + info.os.len() + info.arch.len();
                let more = [info.entry_assembly, info.runtime_version, info.portable_rid];
                let text = text + more.into_iter().flatten().map(|it| it.len()).sum::<usize>();
                assert!(text <= bytes.len() * 3 / 2);
            }
            Err(error) => assert!(error.offset <= 20 + bytes.len()),
        }
    }
});
