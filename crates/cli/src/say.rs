//! Words on standard error.

use std::io::Write;
use std::path::Path;
use strata_digest::visible;

/// Says lines on standard error. Whoever closed it does not want to hear them: that is no failure, least of all of a
/// recording that runs.
pub(crate) fn say(lines: &str) {
    let mut text = lines.to_owned();
    text.push('\n');
    // One write, so that lines of several programs do not mix.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// A path as it can be typed in a shell and shown at a terminal.
pub(crate) fn typed(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |letter: char| letter.is_alphanumeric() || "-_./+:@%,=~".contains(letter);
    if text.chars().all(plain) && !text.is_empty() && !text.starts_with(['-', '~']) {
        return text.into_owned();
    }
    visible(&format!("'{}'", text.replace('\'', r"'\''"))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_typed_as_it_is_shown() {
        let check = |path: &str, expected: &str| assert_eq!(typed(Path::new(path)), expected);
        check("/tmp/app.strata", "/tmp/app.strata");
        check("größe.strata", "größe.strata");
        check("my app.strata", "'my app.strata'");
        check("it's", r"'it'\''s'");
        check("$(reboot)", "'$(reboot)'");
        check("", "''");
        check("\x1b[31mred", r"'\u{1b}[31mred'");
    }
}
