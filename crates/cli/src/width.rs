//! How wide text may be, and lines that keep to it.

use std::borrow::Cow;
use strata_report::Width;

/// The width that was asked for, else the terminal's; where there is no terminal, nothing is shortened or broken, so that what
/// is kept looks the same everywhere.
pub(crate) fn width(asked: Option<u16>) -> Width {
    asked.map_or_else(of_terminal, |columns| Width::Columns(columns.into()))
}

fn of_terminal() -> Width {
    /// A terminal that says it is narrower gets lines that run over: half a name helps no one.
    const NARROWEST: usize = 60;
    match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
        // A terminal that does not know its size says zero.
        Ok(size) if size.ws_col > 0 => Width::Columns(usize::from(size.ws_col).max(NARROWEST)),
        _ => Width::Unlimited,
    }
}

/// A text in what is left beside so many columns, with `…` where its end is missing.
pub(crate) fn shortened(text: &str, beside: usize, width: Width) -> Cow<'_, str> {
    let Width::Columns(columns) = width else { return text.into() };
    let room = columns.saturating_sub(beside).max(1);
    match text.char_indices().nth(room) {
        Some(_) => text.chars().take(room - 1).chain(['…']).collect::<String>().into(),
        None => text.into(),
    }
}

/// A line of words with a space between them. One that would be too wide goes on below, indented; nothing of it is left out.
pub(crate) struct Line {
    text: String,
    width: Width,
    indent: usize,
    /// Columns of the last line that are taken; not counted where there is no limit.
    column: usize,
}

impl Line {
    /// Begins with `start` as it is; what does not fit goes on at column `indent`.
    pub(crate) fn new(start: String, indent: usize, width: Width) -> Self {
        let column = if width == Width::Unlimited { 0 } else { start.chars().count() };
        Self { text: start, width, indent, column }
    }

    /// Adds a word. It stays whole where it can: one that is wider than a line is broken at its own spaces, or anywhere.
    pub(crate) fn word(&mut self, word: &str) {
        let Width::Columns(columns) = self.width else {
            self.text.push(' ');
            self.text.push_str(word);
            return;
        };
        let length = word.chars().count();
        let room = columns.saturating_sub(self.indent).max(1);
        if self.column + 1 + length <= columns {
            self.text.push(' ');
            self.text.push_str(word);
            self.column += 1 + length;
        } else if length <= room {
            self.go_on_below(word, length);
        } else if word.contains(' ') {
            word.split(' ').for_each(|part| self.word(part));
        } else {
            let mut rest = word;
            while !rest.is_empty() {
                let end = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
                let (piece, behind) = rest.split_at(end);
                self.go_on_below(piece, piece.chars().count());
                rest = behind;
            }
        }
    }

    fn go_on_below(&mut self, word: &str, length: usize) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', self.indent));
        self.text.push_str(word);
        self.column = self.indent + length;
    }

    /// The line, or lines, without an end of line behind them.
    pub(crate) fn text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width_and_lose_nothing() {
        let check = |words: &[&str], width, expected: &str| {
            let mut line = Line::new("at".to_owned(), 4, width);
            words.iter().for_each(|word| line.word(word));
            assert_eq!(line.text(), expected, "{words:?}");
        };
        check(&["one", "two", "three"], Width::Columns(10), "at one two\n    three");
        check(&["one", "two  x", "three"], Width::Unlimited, "at one two  x three");
        // A word that fits on a line of its own is not broken, a wider one is.
        check(&["ab cde"], Width::Columns(10), "at ab cde");
        check(&["ab cde", "f gh"], Width::Columns(10), "at ab cde\n    f gh");
        check(&["ab cd efghij k"], Width::Columns(10), "at ab cd\n    efghij\n    k");
        check(&["äöüäöüäöü", "x"], Width::Columns(10), "at\n    äöüäöü\n    äöü x");
        check(&[], Width::Columns(10), "at");
    }

    #[test]
    fn what_is_shortened_says_so() {
        let check = |text, width, expected| assert_eq!(shortened(text, 4, width), expected);
        check("äöüäöü", Width::Columns(10), "äöüäöü");
        check("äöüäöüä", Width::Columns(10), "äöüäö…");
        check("äöüäöüä", Width::Columns(3), "…");
        check("äöüäöüä", Width::Unlimited, "äöüäöüä");
    }
}
