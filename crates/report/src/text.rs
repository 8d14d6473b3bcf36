//! Pieces of text: numbers, names, lines of a width.

use crate::Cost;
use strata_digest::visible;

/// Two decimals, or `-` where there is no whole to be a part of.
pub(crate) fn percent(percent: Option<f64>) -> String {
    percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2}"))
}

/// Milliseconds with two decimals.
#[expect(clippy::cast_precision_loss, reason = "a time for reading")]
pub(crate) fn ms(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}

/// `17 samples, 18.50 ms of CPU time`.
pub(crate) fn sum(cost: Cost) -> String {
    format!("{}, {} ms of CPU time", counted(cost.samples, "sample"), ms(cost.cpu_ns))
}

/// `1 thread`, `2 threads`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A function with its module, control characters visible, in at most `width` columns: of a longer name the middle goes.
pub(crate) fn function(name: &str, module: Option<&str>, width: usize) -> String {
    let module = module.map(|module| {
        let module = shorten(module, width / 3);
        if module.starts_with('[') { format!(" {module}") } else { format!(" [{module}]") }
    });
    let module = module.unwrap_or_default();
    let room = width.saturating_sub(module.chars().count());
    format!("{}{module}", shorten(name, room))
}

/// Text with control characters visible, in at most `width` columns (but never fewer than 8).
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let text = visible(text);
    let width = width.max(8);
    let count = text.chars().count();
    if count <= width {
        return text.into_owned();
    }
    let head = (width - 1) * 2 / 3;
    let tail = width - 1 - head;
    let start: String = text.chars().take(head).collect();
    start + "…" + &text.chars().skip(count - tail).collect::<String>()
}

/// Appends a paragraph broken between words; a word longer than `width` gets a line of its own.
pub(crate) fn wrap(out: &mut String, paragraph: &str, width: usize) {
    let mut column = 0;
    for word in visible(paragraph).split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        }
        if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

/// `worker (tid 12) of app (pid 10)`; what has no name goes by its number alone.
pub(crate) fn thread((process, pid): (&str, u32), (thread, tid): (&str, u32)) -> String {
    format!("{} of {}", identified(thread, "tid", tid), identified(process, "pid", pid))
}

fn identified(name: &str, word: &str, id: u32) -> String {
    if name.is_empty() { format!("{word} {id}") } else { format!("{name} ({word} {id})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle() {
        let check = |text: &str, width, expected: &str| assert_eq!(shorten(text, width), expected);
        check("short", 10, "short");
        check("0123456789abcdef", 10, "012345…def");
        check("\x1b\x1b", 10, r"\u{1b}…1b}");
        assert_eq!(function(&"n".repeat(100), Some("libc.so.6"), 40).chars().count(), 40);
        assert_eq!(function(&"n".repeat(100), Some(&"m".repeat(100)), 60).chars().count(), 60);
    }

    #[test]
    fn paragraphs_keep_to_the_width() {
        let mut out = String::new();
        wrap(&mut out, "aa bb cc dddddddddd e\x07", 5);
        assert_eq!(out, "aa bb\ncc\ndddddddddd\ne\\u{7}\n");
    }
}
