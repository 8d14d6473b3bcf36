//! Function names that fit: shortened by what their parts mean, so that the method stays readable.
//!
//! Until the name fits, in this order: the arguments become `(…)`, generic or template arguments `[…]` or `<…>`, leading
//! namespaces and then enclosing types become `…`. Type and method stay; only what is still too long is cut at its end.

use crate::Width;
use std::borrow::Cow;
use strata_digest::visible;
use strata_profile::CodeKind;

/// Which parts a name has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// `Namespace.Outer+Type[generic arguments].Method(arguments)`.
    Managed,
    /// `namespace::Type<template arguments>::method(arguments) const`, as C++ and Rust have it; C names have one part.
    Native,
    /// No parts: threads, marks.
    Plain,
}

impl Spelling {
    /// How functions of this kind are spelled.
    pub fn of(kind: CodeKind) -> Self {
        match kind {
            CodeKind::Jit(_) | CodeKind::ReadyToRun | CodeKind::Managed | CodeKind::Stub => Self::Managed,
            CodeKind::Kernel | CodeKind::Native | CodeKind::Runtime => Self::Native,
            CodeKind::Unknown => Self::Plain,
        }
    }

    const fn separator(self) -> &'static str {
        match self {
            Self::Managed => ".",
            Self::Native => "::",
            Self::Plain => "",
        }
    }
}

/// No name is cut to fewer columns than this.
const LEAST: usize = 8;

/// A function with control characters visible, and its module in brackets where there is room beside the name.
pub(crate) fn function(name: &str, module: Option<&str>, spelling: Spelling, width: Width) -> String {
    let mut text = self::name(name, spelling, width).into_owned();
    // `libc.so.6+0x1234` and `libc.so.6!fun_1234` say their module already.
    let module = module.filter(|module| {
        !module.is_empty() && !name.strip_prefix(module).is_some_and(|rest| rest.starts_with(['!', '+']))
    });
    let Some(module) = module else { return text };
    let module = visible(module);
    let room = match width {
        Width::Columns(columns) => columns.saturating_sub(text.chars().count()),
        Width::Unlimited => usize::MAX,
    };
    let whole = if module.starts_with('[') { format!(" {module}") } else { format!(" [{module}]") };
    if whole.chars().count() <= room {
        text.push_str(&whole);
    } else if spelling == Spelling::Managed {
        // The last part of an assembly's name tells most; the last part of `libc.so.6` nothing.
        let last_parts = module.match_indices('.').map(|(dot, _)| format!(" […{}]", &module[dot + 1..]));
        if let Some(short) = last_parts.into_iter().find(|short| short.chars().count() <= room) {
            text.push_str(&short);
        }
    }
    text
}

/// A name with control characters visible, in at most `width` columns (but never fewer than 8).
pub(crate) fn name(name: &str, spelling: Spelling, width: Width) -> Cow<'_, str> {
    let name = visible(name);
    let columns = match width {
        Width::Columns(columns) => columns.max(LEAST),
        Width::Unlimited => return name,
    };
    let fits = |name: &str| name.chars().count() <= columns;
    if fits(&name) {
        return name;
    }
    if spelling == Spelling::Plain {
        return cut(&name, columns).into();
    }
    let name = without_arguments(&name, spelling);
    if fits(&name) {
        return name.into();
    }
    let name = without_generics(&name, spelling);
    if fits(&name) {
        return name.into();
    }
    let starts = starts_that_may_go(&name, spelling);
    let mut left = name.chars().count();
    let mut last = 0;
    for &start in &starts {
        left -= name[last..start].chars().count();
        last = start;
        if left < columns {
            break;
        }
    }
    let name = if last == 0 { name } else { format!("…{}", &name[last..]) };
    if fits(&name) { name.into() } else { cut(&name, columns).into() }
}

fn cut(text: &str, columns: usize) -> String {
    let mut short: String = text.chars().take(columns - 1).collect();
    short.push('…');
    short
}

/// A bracket that is inside no other, with what is between it and its partner.
#[derive(Clone, Copy)]
struct Group<'n> {
    open: u8,
    /// Position of the opening bracket.
    start: usize,
    /// Position after the closing one.
    end: usize,
    inner: &'n str,
}

/// The outermost brackets; none if they are not in pairs, for then no one knows what belongs together.
fn groups(name: &str, spelling: Spelling) -> Vec<Group<'_>> {
    let bytes = name.as_bytes();
    let mut groups = Vec::new();
    let mut awaited = Vec::new();
    let (mut at, mut start) = (0, 0);
    while at < bytes.len() {
        if spelling == Spelling::Native {
            at += operator(&name.as_bytes()[at..], at.checked_sub(1).map(|before| bytes[before]));
        }
        let Some(&byte) = bytes.get(at) else { break };
        let closing = match byte {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            _ => 0,
        };
        if closing != 0 {
            if awaited.is_empty() {
                start = at;
            }
            awaited.push(closing);
        } else if byte == b'>' && at > 0 && bytes[at - 1] == b'-' {
            // Part of an arrow.
        } else if matches!(byte, b')' | b']' | b'}' | b'>') {
            if awaited.pop() != Some(byte) {
                return Vec::new();
            }
            if awaited.is_empty() {
                groups.push(Group { open: bytes[start], start, end: at + 1, inner: &name[start + 1..at] });
            }
        }
        at += 1;
    }
    if awaited.is_empty() { groups } else { Vec::new() }
}

/// The length of `operator` with its sign, when the text begins with one: its brackets are none.
fn operator(text: &[u8], before: Option<u8>) -> usize {
    const SIGNS: [&[u8]; 15] =
        [b"()", b"[]", b"<<=", b">>=", b"<=>", b"->*", b"->", b"<<", b">>", b"<=", b">=", b"<", b">", b"-=", b"--"];
    let Some(rest) = text.strip_prefix(b"operator") else { return 0 };
    if before.is_some_and(|before| before.is_ascii_alphanumeric() || before == b'_') {
        return 0;
    }
    SIGNS.iter().find(|sign| rest.starts_with(sign)).map_or(0, |sign| b"operator".len() + sign.len())
}

fn replace(name: &str, spelling: Spelling, by: impl Fn(Group<'_>) -> Option<String>) -> String {
    let mut out = String::with_capacity(name.len());
    let mut last = 0;
    for group in groups(name, spelling) {
        if let Some(text) = by(group) {
            out.push_str(&name[last..group.start]);
            out.push_str(&text);
            last = group.end;
        }
    }
    out.push_str(&name[last..]);
    out
}

fn without_arguments(name: &str, spelling: Spelling) -> String {
    replace(name, spelling, |group| {
        let arguments = group.open == b'(' && !group.inner.is_empty() && group.inner != "anonymous namespace";
        // ` (async)` and the like are remarks.
        (arguments && !name[..group.start].ends_with(' ')).then(|| "(…)".to_owned())
    })
}

fn without_generics(name: &str, spelling: Spelling) -> String {
    replace(name, spelling, |group| match (spelling, group.open) {
        // `[prestub]` is a name, `[,]` an array.
        (Spelling::Managed, b'[') if group.start > 0 && group.inner.bytes().any(|byte| byte != b',') => {
            Some("[…]".to_owned())
        }
        // Rust: `<Type as Trait>::method` has its type in the brackets.
        (Spelling::Native, b'<') if group.start == 0 || group.inner.starts_with("impl ") => {
            Some(format!("<{}>", last_parts(&without_generics_inside(group.inner))))
        }
        (Spelling::Native, b'<') if !group.inner.is_empty() => Some("<…>".to_owned()),
        _ => None,
    })
}

fn without_generics_inside(text: &str) -> String {
    replace(text, Spelling::Native, |group| (group.open == b'<').then(|| "<…>".to_owned()))
}

/// Of each path among the words of a text, the last part.
fn last_parts(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let reference = word.len() - word.trim_start_matches(['&', '*', '[', '(']).len();
        let path = word.rfind("::").map_or(reference, |at| at + 2);
        format!("{}{}", &word[..reference], &word[path..])
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Where the name may begin when what is before goes: after namespaces first, then after enclosing types.
fn starts_that_may_go(name: &str, spelling: Spelling) -> Vec<usize> {
    let parts = parts(name, spelling);
    let text = |part: usize| &name[parts[part]..parts.get(part + 1).copied().unwrap_or(name.len())];
    let Some(mut kept) = parts.len().checked_sub(2) else { return Vec::new() };
    match spelling {
        // A method that implements an interface has dots of its own: the type is what looks like one.
        Spelling::Managed => {
            kept = (0..kept).find(|&part| text(part).contains(['`', '[', '+'])).unwrap_or(kept);
        }
        // `{{closure}}` alone says nothing.
        Spelling::Native => {
            let unnamed = (0..parts.len()).rev().take_while(|&part| text(part).starts_with('{')).count();
            kept = kept.saturating_sub(unnamed);
        }
        Spelling::Plain => return Vec::new(),
    }
    let mut starts = parts[1..=kept].to_vec();
    if spelling == Spelling::Managed {
        let brackets = groups(name, spelling);
        let plus = text(kept).match_indices('+').map(|(plus, _)| parts[kept] + plus);
        let outside = plus.filter(|plus| !brackets.iter().any(|group| (group.start..group.end).contains(plus)));
        starts.extend(outside.map(|plus| plus + 1));
    }
    starts
}

/// Where the parts of a path begin.
fn parts(name: &str, spelling: Spelling) -> Vec<usize> {
    let separator = spelling.separator();
    let brackets = groups(name, spelling);
    let mut brackets = brackets.iter().peekable();
    let mut parts = vec![0];
    for (at, _) in name.match_indices(separator) {
        while brackets.next_if(|group| group.end <= at).is_some() {}
        let inside = brackets.peek().is_some_and(|group| group.start < at);
        let next = at + separator.len();
        // In `Type..ctor` the second dot belongs to the method.
        let empty = parts.last() == Some(&at);
        if !inside && !empty && next < name.len() {
            parts.push(next);
        }
    }
    parts
}

#[cfg(test)]
mod tests;
