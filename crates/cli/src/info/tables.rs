//! The tables of what a trace holds: kinds of events by provider, and threads.

use super::Info;
use super::text::Layout;
use crate::width::shortened;
use std::fmt::Write as _;
use strata_digest::{percent, visible};
use strata_nettrace::survey::Kind;
use strata_profile::Share;
use strata_report::Width;

/// Rows of each table beyond which the rest is summed up where it is not all wanted.
const PROVIDERS: usize = 20;
const KINDS_OF_PROVIDER: usize = 12;
const THREADS: usize = 20;

pub(super) fn providers(out: &mut String, info: &Info<'_>, layout: Layout) {
    let all = info.summary.events;
    out.push_str("\n    events   share  with stack  provider and event\n");
    let providers = info.providers();
    let (shown, rest) = layout.split(&providers, PROVIDERS);
    for (provider, events, kinds) in shown {
        let share = share_of(*events, all);
        row(out, (*events, &share, with_stack(kinds)), "", provider, layout.width);
        let (shown, rest) = layout.split(kinds, KINDS_OF_PROVIDER);
        for kind in shown {
            let id = format!(" ({})", kind.event_id);
            let name = format!("{}{id}", fitting(&kind.name, KIND_COLUMN + id.len(), layout.width));
            row(out, (kind.events, "", kind.with_stack), "  ", &name, layout.width);
        }
        if !rest.is_empty() {
            let text = format!("{} more kinds: --all lists them", rest.len());
            row(out, (rest.iter().map(|kind| kind.events).sum(), "", with_stack(rest)), "  ", &text, layout.width);
        }
    }
    if !rest.is_empty() {
        let events = rest.iter().map(|(_, events, _)| events).sum();
        let with_stack = rest.iter().map(|(_, _, kinds)| with_stack(kinds)).sum();
        let text = format!("{} more providers: --all lists them", rest.len());
        row(out, (events, &share_of(events, all), with_stack), "", &text, layout.width);
    }
}

pub(super) fn threads(out: &mut String, info: &Info<'_>, layout: Layout) {
    let mut threads: Vec<(u64, u64)> = info.threads.iter().map(|(thread, events)| (*thread, *events)).collect();
    threads.sort_by_key(|(thread, events)| (std::cmp::Reverse(*events), *thread));
    out.push_str("\n    events   share  thread\n");
    let mut row = |events: u64, what: String| {
        let _ = writeln!(out, "{events:>10} {:>7}  {what}", share_of(events, info.summary.events));
    };
    let (shown, rest) = layout.split(&threads, THREADS);
    for (thread, events) in shown {
        row(*events, thread.to_string());
    }
    if !rest.is_empty() {
        let events = rest.iter().map(|(_, events)| events).sum();
        row(events, format!("{} more threads: --all lists them", rest.len()));
    }
    if info.events_of_other_threads > 0 {
        let text = format!("threads beyond the first {}, which are not told apart", info.threads.len());
        row(info.events_of_other_threads, text);
    }
}

/// Columns before the names of providers, and of their kinds.
const NAME_COLUMN: usize = 32;
const KIND_COLUMN: usize = NAME_COLUMN + 2;

fn row(out: &mut String, (events, share, with_stack): (u64, &str, u64), indent: &str, name: &str, width: Width) {
    let name = fitting(name, NAME_COLUMN + indent.len(), width);
    let _ = writeln!(out, "{events:>10} {share:>7} {with_stack:>11}  {indent}{name}");
}

fn fitting(name: &str, beside: usize, width: Width) -> String {
    shortened(&visible(name), beside, width).into_owned()
}

fn with_stack(kinds: &[&Kind]) -> u64 {
    kinds.iter().map(|kind| kind.with_stack).sum()
}

fn share_of(part: u64, whole: u64) -> String {
    percent(Share { part, whole }.percent())
}
