//! Events that were dropped, by the numbers of each thread.

use strata_nettrace::{Loss, ProblemKind, ThreadLoss};
use strata_testkit::nettrace6::{Row, Rows, Stream, Thread, kind};

use super::seen::{Seen, decode, definitions, problems, row};

/// An event of this thread with this number.
fn by(capture_thread: u64, sequence: u32) -> Row {
    Row { capture_thread, ..row(1, sequence, 0) }
}

fn block(events: &[(u64, u32)]) -> Rows {
    events.iter().fold(Rows::compressed(), |rows, (thread, sequence)| rows.with(by(*thread, *sequence)))
}

/// OS thread, number lost, time before and behind.
type Gap = (u64, Option<u32>, (u64, u64));

#[track_caller]
fn check(case: &str, stream: Stream, expected: &[Gap]) -> Loss {
    let (seen, summary) = decode(&stream.end());
    let gap =
        |item: &Seen| if let Seen::Gap(thread, lost, times) = item { Some((*thread, *lost, *times)) } else { None };
    assert_eq!(seen.iter().filter_map(gap).collect::<Vec<_>>(), expected, "{case}");
    let lost: u64 = expected.iter().map(|(_, lost, _)| u64::from(lost.unwrap_or(0))).sum();
    assert_eq!(summary.loss.lost, lost, "{case}");
    assert_eq!(summary.loss.unknown, expected.iter().filter(|gap| gap.1.is_none()).count() as u64, "{case}");
    assert_eq!(problems(&seen), [], "{case}");
    summary.loss
}

/// The threads of [`definitions`].
const FIRST: u64 = 4242;
const SECOND: u64 = 77;

#[test]
fn gaps_between_events() {
    let gaps = |events: &[(u64, u32)]| definitions().events(&block(events));
    check("none", gaps(&[(1, 1), (1, 2), (2, 1), (1, 3), (2, 2)]), &[]);
    let loss = check(
        "two threads",
        gaps(&[(1, 1), (2, 1), (1, 5), (2, 2), (1, 6), (1, 10)]),
        &[(FIRST, Some(3), (1001, 1005)), (FIRST, Some(3), (1006, 1010))],
    );
    let expected = ThreadLoss { capture_thread: FIRST, lost: 6, gaps: 2, unknown: 0, after: 1001, before: 1010 };
    assert_eq!(loss.threads, [expected]);
    // A thread's numbers begin with 1: what is missing there was lost.
    check("first", gaps(&[(1, 3), (1, 4)]), &[(FIRST, Some(2), (0, 1003))]);
    // An index is never that of another thread: numbers that fall back are wrong.
    check("back to 1", gaps(&[(1, 1), (1, 2), (1, 1)]), &[(FIRST, None, (1002, 1001))]);
    let wrap = [(1, u32::MAX - 1), (1, u32::MAX), (1, 0), (1, 1), (1, 4)];
    let stream =
        definitions().remove_threads(&[(1, 0)]).events(&block(&wrap[..0])).threads(&[Thread::new(1).of(4, 44)]);
    let (seen, summary) = decode(&stream.events(&block(&wrap)).end());
    assert_eq!(problems(&seen), []);
    assert_eq!((summary.loss.lost, summary.loss.unknown), (2, 1), "the first number is far off");
}

#[test]
fn a_row_that_cannot_be_read_says_nothing_of_the_numbers() {
    let events = |empty: Rows, list: &[(u64, u32)]| list.iter().fold(empty, |rows, (who, n)| rows.with(by(*who, *n)));
    // Full rows have their size in front: one that is cut must not be taken in parts either.
    for empty in [Rows::compressed(), Rows::uncompressed()] {
        for cut in [(2, 40), (1, 3)] {
            let mut content = events(empty.clone(), &[(1, 1), (1, 2), cut]).content();
            content.truncate(content.len() - 4);
            for (next, expected) in [(3, vec![]), (5, vec![(FIRST, Some(2))])] {
                let stream = definitions().block(kind::EVENT, &content).events(&events(empty.clone(), &[(1, next)]));
                let (seen, summary) = decode(&stream.end());
                let gap =
                    |item: &Seen| if let Seen::Gap(thread, lost, _) = item { Some((*thread, *lost)) } else { None };
                assert_eq!(seen.iter().filter_map(gap).collect::<Vec<_>>(), expected, "{cut:?}");
                assert_eq!((summary.events, summary.problems.get(ProblemKind::EndsEarly)), (3, 1), "{cut:?}");
            }
        }
    }
    // A full row that lies about its payload is whole but for that.
    let mut content = events(Rows::uncompressed(), &[(1, 1), (2, 40)]).content();
    let payload_bytes = content.len() - 9;
    content[payload_bytes] = 6;
    let stream = definitions().block(kind::EVENT, &content).events(&events(Rows::uncompressed(), &[(1, 2)]));
    let (seen, summary) = decode(&stream.end());
    assert!(!seen.iter().any(|item| matches!(item, Seen::Gap(..))), "{seen:?}");
    assert_eq!((summary.events, summary.problems.get(ProblemKind::BadSize)), (2, 1));
}

#[test]
fn sequence_points_show_what_no_event_shows() {
    let point = |events: &[(u64, u32)], threads: &[(u64, u32)]| {
        definitions().events(&block(events)).sequence_point(5000, 0, threads)
    };
    check("of a thread with events", point(&[(1, 1), (1, 2)], &[(1, 5), (2, 0)]), &[(FIRST, Some(3), (1002, 5000))]);
    // Nothing of it was seen, and 5 were written: all were lost.
    let loss = check("of one without", point(&[(1, 1)], &[(1, 1), (2, 5)]), &[(SECOND, Some(5), (0, 5000))]);
    assert_eq!(loss.threads.len(), 1);
    check("a lower bound", point(&[(1, 1), (1, 2), (1, 3)], &[(1, 2)]), &[]);
    check("not named", point(&[(1, 1), (1, 2)], &[]), &[]);
    // Numbers go on behind it, from where it said.
    let stream = point(&[(1, 1)], &[(1, 4)]).events(&block(&[(1, 5), (1, 7)]));
    check("going on", stream, &[(FIRST, Some(3), (1001, 5000)), (FIRST, Some(1), (1005, 1007))]);
    // A thread it does not name is still the same thread.
    let stream = point(&[(1, 1), (1, 2)], &[]).events(&block(&[(1, 4)]));
    check("not named, going on", stream, &[(FIRST, Some(1), (1002, 1004))]);
}

#[test]
fn points_come_out_with_the_ids_of_threads() {
    let content = |rest: &[u8]| {
        let head = [&7u64.to_le_bytes()[..], &0u32.to_le_bytes(), &2u32.to_le_bytes(), &[1, 0, 2, 0]].concat();
        [&head[..], rest].concat()
    };
    for extra in [&[][..], &[0xee; 3]] {
        let (seen, summary) = decode(&definitions().block(kind::SEQUENCE_POINT, &content(extra)).end());
        assert!(seen.contains(&Seen::Point(7, vec![(FIRST, 0), (SECOND, 0)])), "{seen:?}");
        assert_eq!(summary.problems.total(), 0);
    }
}

#[test]
fn removal_tells_the_last_number() {
    let removed = |events: &[(u64, u32)], last| definitions().events(&block(events)).remove_threads(&[(1, last)]);
    check("all there", removed(&[(1, 1), (1, 2)], 2), &[]);
    check("the last ones lost", removed(&[(1, 1), (2, 1), (2, 2)], 4), &[(FIRST, Some(3), (1001, 1002))]);
    check("all lost", removed(&[], 4), &[(FIRST, Some(4), (0, 0))]);
    check("less than was seen", removed(&[(1, 1), (1, 2)], 1), &[]);
    // Another thread with its index begins with 1 again, and with its id in one sum.
    let again = |id| removed(&[(1, 1)], 3).threads(&[Thread::new(1).of(42, id)]).events(&block(&[(1, 1), (1, 3)]));
    let gaps = |id| [(FIRST, Some(2), (1001, 1001)), (id, Some(1), (1001, 1003))];
    let loss = check("another thread", again(9), &gaps(9));
    assert_eq!(
        loss.threads.iter().map(|loss| (loss.capture_thread, loss.lost)).collect::<Vec<_>>(),
        [(9, 1), (FIRST, 2)]
    );
    let loss = check("another of its id", again(FIRST), &gaps(FIRST));
    let expected = ThreadLoss { capture_thread: FIRST, lost: 3, gaps: 2, unknown: 0, after: 1001, before: 1003 };
    assert_eq!(loss.threads, [expected]);
}

#[test]
fn a_point_that_forgets_threads_checks_their_numbers_first() {
    let stream = definitions()
        .events(&block(&[(1, 1), (1, 2)]))
        .sequence_point(5000, 1, &[(1, 3), (2, 1)])
        .threads(&[Thread::new(1).of(42, FIRST)])
        .events(&block(&[(1, 1), (1, 2)]))
        .sequence_point(6000, 1, &[(1, 12)]);
    let expected = [(FIRST, Some(1), (1002, 5000)), (SECOND, Some(1), (0, 5000)), (FIRST, Some(10), (1002, 6000))];
    let loss = check("forgotten", stream, &expected);
    assert_eq!(
        loss.threads.iter().map(|loss| (loss.capture_thread, loss.lost)).collect::<Vec<_>>(),
        [(SECOND, 1), (FIRST, 11)]
    );
}

#[test]
fn threads_never_defined_are_followed_from_any_number() {
    let (_, summary) = decode(&definitions().events(&block(&[(9, 50), (9, 51), (9, 54)])).end());
    assert_eq!((summary.loss.lost, summary.loss.threads[0].capture_thread), (2, 9));
}

#[test]
fn losses_of_many_threads_that_are_gone_stay_in_the_total() {
    let mut stream = Stream::with_trace();
    for round in 0..20u64 {
        let indexes = round * 500..(round + 1) * 500;
        let threads: Vec<_> = indexes.clone().map(|index| Thread::new(index).of(1, 100_000 + index)).collect();
        let last: Vec<_> = indexes.map(|index| (index, 2)).collect();
        stream = stream.threads(&threads).remove_threads(&last);
    }
    let (_, summary) = decode(&stream.end());
    assert_eq!(summary.loss.lost, 20_000);
    assert_eq!((summary.loss.threads.len(), summary.loss.forgotten_threads), (5000, 5000));
}
