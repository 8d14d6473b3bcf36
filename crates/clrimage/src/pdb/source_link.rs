//! Source Link: which URL has the text of a source file.
//!
//! JSON of the form `{"documents": {"/src/*": "https://example.org/raw/COMMIT/*"}}`. A `*` at the end of a path stands for
//! the rest of it and is put in for the `*` of the URL; the longest path wins; case does not matter.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Error, ErrorKind};

/// Where source files can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLink {
    /// The longest path first.
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    path: String,
    is_prefix: bool,
    url: String,
    /// What follows the rest of the path.
    url_end: String,
}

#[derive(Deserialize)]
struct Json {
    documents: BTreeMap<String, String>,
}

impl SourceLink {
    /// Reads the JSON text; rules that are not of the form are left out.
    ///
    /// # Errors
    /// The text is not JSON with a map of documents.
    pub fn parse(json: &[u8]) -> Result<Self, Error> {
        let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
        let json: Json = serde_json::from_slice(json)
            .map_err(|_| Error { kind: ErrorKind::Not { what: "Source Link JSON" }, offset: 0 })?;
        let mut rules: Vec<Rule> = json.documents.iter().filter_map(|(path, url)| Rule::new(path, url)).collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.path.len()));
        Ok(Self { rules })
    }

    /// The URL of a source file, by its path as the PDB has it.
    #[must_use]
    pub fn url(&self, path: &str) -> Option<String> {
        self.rules.iter().find_map(|rule| rule.url(path))
    }
}

impl Rule {
    fn new(path: &str, url: &str) -> Option<Self> {
        let is_prefix = path.ends_with('*');
        let path = path.strip_suffix('*').unwrap_or(path);
        let (start, end) = match url.split_once('*') {
            Some((start, end)) if is_prefix => (start, end),
            None if !is_prefix => (url, ""),
            _ => return None,
        };
        let is_well_formed = !path.contains('*') && !end.contains('*');
        is_well_formed.then(|| Self { path: path.into(), is_prefix, url: start.into(), url_end: end.into() })
    }

    fn url(&self, path: &str) -> Option<String> {
        let (start, rest) = path.split_at_checked(self.path.len())?;
        if !start.eq_ignore_ascii_case(&self.path) || !(self.is_prefix || rest.is_empty()) {
            return None;
        }
        let mut url = self.url.clone();
        for byte in rest.bytes() {
            match byte {
                b'/' | b'\\' => url.push('/'),
                b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => url.push(byte.into()),
                _ => url.push_str(&format!("%{byte:02X}")),
            }
        }
        url.push_str(&self.url_end);
        Some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_wins() {
        let json = br#"{"documents": {
            "/_/*": "https://h/root/*",
            "/_/src/*": "https://h/src/*?raw=1",
            "/_/src/Exact.cs": "https://h/exact",
            "C:\\code\\*": "https://h/c/*"
        }}"#;
        let link = SourceLink::parse(json).unwrap();
        let check = |path, expected: Option<&str>| assert_eq!(link.url(path).as_deref(), expected, "{path}");
        check("/_/a.cs", Some("https://h/root/a.cs"));
        check("/_/src/b/c#.cs", Some("https://h/src/b/c%23.cs?raw=1"));
        check("/_/SRC/exact.cs", Some("https://h/exact"));
        check("/_/src/Exact.cs2", Some("https://h/src/Exact.cs2?raw=1"));
        check("c:\\Code\\d\\\u{e9} f.cs", Some("https://h/c/d/%C3%A9%20f.cs"));
        check("/other", None);
        check("/_", None);
        check("\u{e9}", None);
    }

    #[test]
    fn what_is_not_a_rule_is_left_out() {
        let check = |path: &str, url: &str| assert_eq!(Rule::new(path, url), None, "{path} {url}");
        check("/a", "https://h/*");
        check("/a/*", "https://h/");
        check("/*/a/*", "https://h/*");
        check("/a/*", "https://h/*/*");
        for text in ["", "{}", "[]", r#"{"documents": 1}"#] {
            assert!(SourceLink::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(SourceLink::parse(b"\xef\xbb\xbf{\"documents\":{}}").is_ok());
    }
}
