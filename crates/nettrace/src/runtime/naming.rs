//! Which events say what things are called.

use super::{RUNDOWN_PROVIDER, RUNTIME_PROVIDER, STREAM_PROVIDER};
use crate::metadata::Metadata;
use crate::universal::SYSTEM_PROVIDER;

/// Whether events of this definition say what code, modules or the process are called: without them, addresses of all other
/// events stay addresses.
///
/// These are all of the rundown; of the runtime's own the coming and going of methods, modules, assemblies and application
/// domains, with what belongs to them (entry points of precompiled code, maps to IL, symbols), and the runtime's own
/// version; the stream's `ProcessInfo`; and all that collectors of whole machines tell of processes and code.
pub fn names_code(metadata: &Metadata) -> bool {
    match &*metadata.provider {
        RUNDOWN_PROVIDER | SYSTEM_PROVIDER => true,
        RUNTIME_PROVIDER => matches!(metadata.event_id, 72 | 141..=144 | 151..=159 | 187 | 190 | 260),
        STREAM_PROVIDER => metadata.event_id == 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_code_is_told_apart() {
        let check = |provider: &str, event_id: u32, expected| {
            let mut payload = 1u32.to_le_bytes().to_vec();
            payload.extend(provider.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
            payload.extend(event_id.to_le_bytes());
            payload.extend([0; 2 + 8 + 4 + 4 + 4]);
            assert_eq!(names_code(&Metadata::read(&payload).unwrap()), expected, "{provider} {event_id}");
        };
        check(RUNDOWN_PROVIDER, 144, true);
        check(RUNDOWN_PROVIDER, 9999, true);
        check(RUNTIME_PROVIDER, 143, true);
        check(RUNTIME_PROVIDER, 152, true);
        check(RUNTIME_PROVIDER, 145, false);
        check(RUNTIME_PROVIDER, 1, false);
        check(STREAM_PROVIDER, 1, true);
        check("Microsoft-DotNETCore-SampleProfiler", 0, false);
        check("Other", 143, false);
        check(SYSTEM_PROVIDER, 4, true);
        check("Universal.Events", 4, false);
    }
}
