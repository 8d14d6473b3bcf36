//! Events the runtime dropped.

use strata_nettrace::{Gap, Loss, ProblemKind, ThreadLoss};
use strata_testkit::nettrace::{Blob, Blobs, Stream};

use crate::seen::{Seen, decode, event, gaps, prelude};

const OTHER: u64 = 8;

fn by(capture_thread: u64, sequence: u32) -> Blob {
    Blob { capture_thread, ..event(1, sequence, 0) }
}

/// What each kind of stream lost, with compressed and with full headers.
#[track_caller]
fn check(events: &[(u64, u32)], point: &[(u64, u32)], expected: &[(u64, Option<u32>)]) -> Loss {
    let mut loss = Loss::default();
    for empty in [Blobs::compressed(), Blobs::uncompressed()] {
        let block = events.iter().fold(empty, |block, (thread, sequence)| block.with(by(*thread, *sequence)));
        let (seen, summary) = decode(&prelude().events(&block).sequence_point(5000, point).end());
        assert_eq!(gaps(&seen), expected);
        assert_eq!(summary.loss.lost, expected.iter().map(|(_, lost)| u64::from(lost.unwrap_or(0))).sum::<u64>());
        assert_eq!(summary.loss.unknown, expected.iter().filter(|(_, lost)| lost.is_none()).count() as u64);
        assert_eq!(summary.events, events.len() as u64);
        loss = summary.loss;
    }
    loss
}

#[test]
fn gaps_are_counted_per_thread() {
    check(&[(7, 1), (7, 2), (OTHER, 1), (7, 3), (OTHER, 2)], &[(7, 3), (OTHER, 2)], &[]);
    // The first number of a thread may be any.
    check(&[(7, 100), (OTHER, 55), (7, 101)], &[], &[]);
    let loss = check(&[(7, 10), (OTHER, 3), (7, 15), (OTHER, 4), (7, 16), (7, 20)], &[], &[(7, Some(4)), (7, Some(3))]);
    let expected = ThreadLoss { capture_thread: 7, lost: 7, gaps: 2, unknown: 0, after: 1010, before: 1020 };
    assert_eq!(loss.threads, [expected]);
    // Numbers wrap.
    check(&[(7, u32::MAX - 1), (7, u32::MAX), (7, 0), (7, 1)], &[], &[]);
    check(&[(7, u32::MAX - 1), (7, 2)], &[], &[(7, Some(3))]);
}

#[test]
fn a_sequence_point_shows_losses_that_no_event_shows() {
    check(&[(7, 1), (7, 2), (OTHER, 1)], &[(7, 5), (OTHER, 1)], &[(7, Some(3))]);
    // It is a lower bound.
    check(&[(7, 1), (7, 2), (7, 3)], &[(7, 2)], &[]);
    // Of threads never seen nothing can be said in these versions, nor from a 0.
    check(&[(7, 1)], &[(OTHER, 5), (99, 0)], &[]);
}

#[test]
fn a_thread_id_used_again_is_no_loss() {
    let loss = check(&[(7, 90), (7, 1), (7, 2)], &[], &[]);
    assert_eq!(loss, Loss::default());
    // Backwards, but not to the start: something is wrong, and how much cannot be told.
    check(&[(7, 90), (7, 5), (7, 6)], &[], &[(7, None)]);
}

#[test]
fn a_thread_that_a_sequence_point_no_longer_names_may_come_back_with_any_lower_number() {
    let block = |sequences: &[u32]| sequences.iter().fold(Blobs::compressed(), |block, n| block.with(by(7, *n)));
    for (named, expected) in [(OTHER, vec![]), (7, vec![(7, None)])] {
        let stream = prelude().events(&block(&[90])).sequence_point(3000, &[(named, 90)]).events(&block(&[5, 6]));
        assert_eq!(gaps(&decode(&stream.end()).0), expected);
    }
    // Once only: its numbers then count like those of any thread.
    let stream = prelude().events(&block(&[90])).sequence_point(3000, &[]).events(&block(&[5, 8, 3]));
    assert_eq!(gaps(&decode(&stream.end()).0), [(7, Some(2)), (7, None)]);
}

#[test]
fn losses_between_blocks_and_over_sequence_points() {
    let block = |sequences: &[u32]| sequences.iter().fold(Blobs::compressed(), |block, n| block.with(by(7, *n)));
    let stream = prelude()
        .events(&block(&[1, 2]))
        .events(&block(&[3, 6]))
        .sequence_point(3000, &[(7, 8)])
        .events(&block(&[9]))
        .events(&block(&[11]));
    let (seen, summary) = decode(&stream.end());
    assert_eq!(gaps(&seen), [(7, Some(2)), (7, Some(2)), (7, Some(1))]);
    assert_eq!(summary.loss.lost, 5);
    let Some(Seen::Gap(Gap { after, before, .. })) = seen.iter().find(|item| matches!(item, Seen::Gap(_))) else {
        panic!("no gap");
    };
    assert_eq!((*after, *before), (1003, 1006));
}

#[test]
fn a_gap_comes_before_the_event_that_shows_it() {
    let (seen, _) = decode(&prelude().events(&Blobs::compressed().with(by(7, 1)).with(by(7, 3))).end());
    let kinds: Vec<_> = seen
        .iter()
        .map(|item| match item {
            Seen::Gap(gap) => gap.offset,
            Seen::Event { offset, .. } => *offset,
            _ => 0,
        })
        .collect();
    assert_eq!(kinds.len(), 4, "trace, event, gap, event");
    assert_eq!(kinds[2], kinds[3], "a gap has the offset of its event");
}

#[test]
fn threads_are_remembered_up_to_a_limit() {
    let mut stream = Stream::with_trace().metadata(&[strata_testkit::nettrace::Definition::native(1, "P", 1, 0)]);
    // The first thread stays busy; 20,000 others come and go, each losing one.
    for block in 0..20u64 {
        let mut blobs = Blobs::compressed().with(by(7, block as u32 + 1));
        for thread in 0..1000 {
            let thread = 1000 + block * 1000 + thread;
            blobs = blobs.with(by(thread, 1)).with(by(thread, 3));
        }
        stream = stream.events(&blobs);
    }
    let (_, summary) = decode(&stream.end());
    assert_eq!(summary.loss.lost, 20_000, "the total stays exact");
    assert!(summary.loss.threads.len() <= 5000);
    assert_eq!(summary.loss.threads.len() as u64 + summary.loss.forgotten_threads, 20_000);
    assert!(summary.loss.threads.iter().all(|thread| thread.capture_thread != 7), "thread 7 lost nothing");
}

#[test]
fn a_row_that_cannot_be_read_says_nothing_of_the_numbers() {
    let events =
        |empty: Blobs, list: &[(u64, u32)]| list.iter().fold(empty, |block, (who, n)| block.with(by(*who, *n)));
    for empty in [Blobs::compressed(), Blobs::uncompressed()] {
        let whole = events(empty.clone(), &[(7, 1), (7, 2)]).content();
        // A row of the other thread, and one that goes on with the numbers: both are cut in their payload.
        for cut in [(OTHER, 40), (7, 3)] {
            let mut content = events(empty.clone(), &[(7, 1), (7, 2), cut]).content();
            content.truncate(content.len() - 4);
            assert!(content.len() > whole.len());
            for (next, expected) in [(3, vec![]), (5, vec![(7, Some(2))])] {
                let stream = prelude().block("EventBlock", &content).events(&events(empty.clone(), &[(7, next)]));
                let (seen, summary) = decode(&stream.end());
                assert_eq!(gaps(&seen), expected, "{cut:?}");
                assert_eq!((summary.events, summary.problems.get(ProblemKind::EndsEarly)), (3, 1), "{cut:?}");
            }
        }
    }
}
