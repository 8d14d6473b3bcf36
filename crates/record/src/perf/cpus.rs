//! Which processors are online.

use std::fs;

/// Numbers of the processors that are online, in order; processor 0 when the kernel does not say.
pub(crate) fn online() -> Vec<u32> {
    let list = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let processors = parse(list.trim());
    if processors.is_empty() { vec![0] } else { processors }
}

/// Reads the kernel's list form: `0-3,8,10-11`. What cannot be read is left out.
fn parse(list: &str) -> Vec<u32> {
    list.split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse("0"), [0]);
        assert_eq!(parse(""), [0; 0]);
        assert_eq!(parse("x-3,5"), [5]);
        assert!(!online().is_empty());
    }
}
