//! Folded stacks: `process;thread;frame;frame N`, the input of flame graph programs.
//!
//! Frames go from the outermost to the leaf. Of CPU time `N` is the number of samples that have exactly this path; of thread
//! time, whose samples are of very different weight, it is nanoseconds, of events their number. The time of threads that were outside of managed
//! code has a leaf of its own, `[external: native code or waiting]`. Threads of one
//! name in processes of one name are one, so that two recordings can be compared. A process without name is shown as
//! `[pid 12]`, a thread without name as `[tid 12]`. Lines are sorted frame by frame. In names, `;` is written `\x3b`, a `#` at the
//! beginning `\x23`, and control characters as `\n` or `\u{1b}`. If something was lost, the first line is a comment that says what.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use strata_digest::{CallTree, Groups, LossSummary, NodeId, Place, visible};
use strata_profile::{Handle, Profile, Quantity};

/// Writes the profile as folded stacks.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let loss = LossSummary::of(profile);
    if loss.something_dropped() {
        writeln!(out, "# loss: {}", visible(&loss.line()))?;
    }

    let quantity = profile.recording.measure.quantity();
    let roots = Roots::of(profile);
    let groups = Groups::by_name(profile);
    let tree = CallTree::new(profile, &groups, |thread| Some(roots.of_thread[thread.index()]));
    let label = |place: Place| match place {
        Place::Root(root) => Cow::Borrowed(roots.labels[root as usize].as_str()),
        Place::Functions(group) => folded_name(&profile.functions[groups.first(group)].name),
        Place::Cut(_) | Place::NoFrames | Place::State(_) => place.mark().unwrap_or_default(),
    };

    let children = tree.children();
    let mut waiting: Vec<(NodeId, usize)> = Vec::new();
    let wait_for = |waiting: &mut Vec<(NodeId, usize)>, nodes: &[NodeId], path_length| {
        let from = waiting.len();
        waiting.extend(nodes.iter().map(|&node| (node, path_length)));
        // Last first: the walk takes from the end.
        waiting[from..].sort_by_cached_key(|&(node, _)| std::cmp::Reverse(label(tree.nodes[node.index()].place)));
    };
    wait_for(&mut waiting, children.roots(), 0);
    let mut path = String::new();
    while let Some((node, parent_length)) = waiting.pop() {
        path.truncate(parent_length);
        if parent_length > 0 {
            path.push(';');
        }
        let row = &tree.nodes[node.index()];
        path.push_str(&label(row.place));
        let number = match quantity {
            Quantity::CpuTime | Quantity::Events => row.own.samples,
            Quantity::ThreadTime => row.own.amount,
        };
        if number > 0 {
            writeln!(out, "{path} {number}")?;
        }
        wait_for(&mut waiting, children.of(node), path.len());
    }
    out.flush()
}

/// A name that does not break a line into other frames.
pub(crate) fn folded_name(name: &str) -> Cow<'_, str> {
    let shown = visible(name);
    if shown.contains(';') { Cow::Owned(shown.replace(';', r"\x3b")) } else { shown }
}

/// `process;thread`, each pair of names once.
struct Roots {
    of_thread: Vec<u32>,
    labels: Vec<String>,
}

impl Roots {
    fn of(profile: &Profile) -> Self {
        let mut known = BTreeMap::new();
        let mut roots = Self { of_thread: Vec::new(), labels: Vec::new() };
        for thread in profile.threads.rows() {
            let process = &profile.processes[thread.process];
            let label = format!(
                "{};{}",
                named_or(&process.name, || format!("[pid {}]", process.pid)),
                named_or(&thread.name, || format!("[tid {}]", thread.tid))
            );
            let root = *known.entry(label.clone()).or_insert_with(|| {
                roots.labels.push(label);
                u32::try_from(roots.labels.len() - 1).expect("there are no more roots than threads")
            });
            roots.of_thread.push(root);
        }
        roots
    }
}

fn named_or(name: &str, otherwise: impl FnOnce() -> String) -> Cow<'_, str> {
    match folded_name(name) {
        name if name.is_empty() => Cow::Owned(otherwise()),
        // A line that begins with it is a comment.
        name if name.starts_with('#') => Cow::Owned(name.replacen('#', r"\x23", 1)),
        name => name,
    }
}
