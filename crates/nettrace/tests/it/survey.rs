//! What a stream holds, counted.

use strata_nettrace::Decoder;
use strata_nettrace::runtime::{RUNDOWN_PROVIDER, STREAM_PROVIDER};
use strata_nettrace::survey::{About, Kind, Survey, Times};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, utf16};
use strata_testkit::nettrace6;

use crate::seen::{event, prelude};

fn survey(bytes: &[u8]) -> Survey {
    let mut survey = Survey::default();
    let mut decoder = Decoder::new();
    decoder.feed(bytes, &mut |item| survey.take(&item)).unwrap();
    decoder.finish(&mut |item| survey.take(&item)).unwrap();
    survey
}

/// The kinds as text, and how many events each has.
fn kinds(survey: &Survey) -> Vec<(String, u64)> {
    let kind = |kind: &Kind| (format!("{}/{}/{}", kind.provider, kind.event_id, kind.name), kind.events);
    survey.kinds().iter().map(kind).collect()
}

#[test]
fn an_id_that_gets_another_meaning_is_another_kind() {
    use nettrace6::{Row, Rows, Thread};
    let row = |sequence| Row { metadata: 1, sequence, capture_thread: 1, thread: 1, ..Row::default() };
    let define = |provider: &str| nettrace6::Definition::new(1, provider, 10, "Name");
    let rows = |first| Rows::compressed().with(row(first)).with(row(first + 1));
    // Bit 1 of a sequence point forgets definitions.
    let stream = nettrace6::Stream::with_trace()
        .threads(&[Thread::new(1)])
        .metadata(&[define("A")])
        .events(&rows(1))
        .sequence_point(50, 2, &[(1, 2)])
        .metadata(&[define("B")])
        .events(&rows(3))
        .sequence_point(60, 2, &[(1, 4)])
        .metadata(&[define("A")])
        .events(&rows(5));
    assert_eq!(kinds(&survey(&stream.end())), [("A/10/Name".into(), 4), ("B/10/Name".into(), 2)]);
}

#[test]
fn definitions_of_one_kind_are_counted_together() {
    let again = Definition { version: 7, ..Definition::native(5, "Provider-A", 10, 0) };
    let stream = prelude().metadata(&[again]);
    let blobs = [1, 5, 2, 5].into_iter().zip(1..).fold(Blobs::compressed(), |all, (id, n)| all.with(event(id, n, 0)));
    let survey = survey(&stream.events(&blobs).end());
    assert_eq!(kinds(&survey), [("Provider-A/10/Event(10)".into(), 3), ("Provider-B/20/Event(20)".into(), 1)]);
}

#[test]
fn threads_beyond_a_limit_are_counted_together() {
    let mut stream = prelude();
    let by = |thread: u64| Blob { thread, ..event(1, 1, 0) };
    for block in 0..4 {
        let threads = block * 26_000..(block + 1) * 26_000;
        stream = stream.events(&threads.fold(Blobs::compressed(), |blobs, thread| blobs.with(by(thread))));
    }
    let mut survey = survey(&stream.events(&Blobs::compressed().with(by(3)).with(by(103_999))).end());
    assert_eq!(survey.events_of_other_threads(), 4_001);
    let threads = survey.threads();
    assert_eq!((threads.len(), threads.get(&3), threads.get(&100_000)), (100_000, Some(&2), None));
}

#[test]
fn the_rundown_has_times_of_its_own() {
    let stream = prelude().metadata(&[Definition::native(7, RUNDOWN_PROVIDER, 144, 1)]);
    let at = |metadata, number, time| Blob { time, ..event(metadata, number, 0) };
    let blobs = [at(1, 1, 500), at(7, 2, 900), at(2, 3, 400), at(7, 4, 800), at(7, 5, 850)];
    let survey = survey(&stream.events(&blobs.into_iter().fold(Blobs::compressed(), Blobs::with)).end());
    assert_eq!(survey.times(), Times { events: Some((400, 500)), rundown: Some((800, 900)) });
    assert_eq!(Survey::default().times(), Times::default());
}

#[test]
fn what_the_process_says_of_itself() {
    let about = |texts: &[&str]| {
        let payload = texts.iter().flat_map(|text| utf16(text)).collect();
        let stream = Stream::with_trace().metadata(&[Definition::native(1, STREAM_PROVIDER, 1, 1)]);
        let about = survey(&stream.events(&Blobs::compressed().with(Blob { payload, ..event(1, 1, 0) })).end());
        let About { command_line, operating_system, architecture, .. } = about.about().clone();
        [command_line, operating_system, architecture]
    };
    let texts = |texts: [Option<&str>; 3]| texts.map(|text| text.map(str::to_owned));
    assert_eq!(about(&["dotnet a.dll", "Linux", "x64"]), texts([Some("dotnet a.dll"), Some("Linux"), Some("x64")]));
    // Before .NET 5 there was the command line alone.
    assert_eq!(about(&["dotnet a.dll"]), texts([Some("dotnet a.dll"), None, None]));
    assert_eq!(about(&[]), texts([None, None, None]));
}
