//! Names that cannot act on a terminal or break a line-based format.

use std::borrow::Cow;

/// The text with everything that a terminal would obey, or that would hide or reorder text, written as an escape:
/// control characters, line and paragraph separators, and marks that are invisible or change the direction.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_active) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_active(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// The same of JSON, which escapes some of these by itself and means the rest only inside of its strings: the same values.
pub fn visible_json(json: String) -> String {
    // JSON never has control characters of ASCII but those of its layout, and DEL.
    let is_left = |character: char| character >= '\u{7f}' && is_active(character);
    if !json.chars().any(is_left) {
        return json;
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        if is_left(character) {
            let mut units = [0; 2];
            shown.extend(character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Whether a terminal would obey the character, or it would hide or reorder text.
fn is_active(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_becomes_an_escape() {
        let check = |text, expected| assert_eq!(visible(text), expected);
        check("System.Linq.Sum(int[])", "System.Linq.Sum(int[])");
        check("Größe<T>.計算", "Größe<T>.計算");
        check("a\x1b[2Jb", r"a\u{1b}[2Jb");
        check("two\nlines\ttab\r", r"two\nlines\ttab\r");
        check("\u{9b}31m", r"\u{9b}31m");
        check("abc\u{202e}cba", r"abc\u{202e}cba");
        check("\0", r"\u{0}");
    }

    #[test]
    fn json_keeps_its_values() {
        let value = serde_json::json!({ "a\u{9b}31m": ["x\u{7f}y\u{202e}", "\u{1b}\n\u{feff}", "Größe"] });
        let text = visible_json(serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|letter| letter != '\n' && is_active(letter)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
