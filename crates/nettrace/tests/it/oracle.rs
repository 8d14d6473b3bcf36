//! What the JIT's maps hold, against the runtime's makers' own reader.

use std::time::Duration;

use strata_nettrace::runtime::{IlOffset, Occasion, RuntimeEvent};
use strata_nettrace::{Decoder, Item};
use strata_testkit::live::{self, IlMap, Running, Runtime, Until};

use crate::scratch::Scratch;

const LIMIT: Duration = Duration::from_secs(60);

/// The numbers that events have for an offset into IL.
fn number(offset: IlOffset) -> u32 {
    match offset {
        IlOffset::At(offset) => offset,
        IlOffset::None => u32::MAX,
        IlOffset::Prolog => u32::MAX - 1,
        IlOffset::Epilog => u32::MAX - 2,
    }
}

/// The maps of a stream, and how many of them a rundown has.
fn maps(stream: &[u8]) -> (Vec<IlMap>, usize) {
    let (mut maps, mut listed) = (Vec::new(), 0);
    let mut sink = |item: Item<'_>| {
        let Item::Event(event) = item else { return };
        if let Some(RuntimeEvent::MethodIlMap(occasion, map)) = RuntimeEvent::decode(&event).unwrap() {
            listed += usize::from(occasion == Occasion::RundownEnd);
            let entries = map.entries().map(|(native, il)| (native, number(il))).collect();
            maps.push(IlMap { method_id: map.method_id, code_version: map.code_version, entries });
        }
    };
    let mut decoder = Decoder::new();
    decoder.feed(stream, &mut sink).unwrap();
    decoder.finish(&mut sink).unwrap();
    (maps, listed)
}

#[test]
fn maps_are_those_that_traceevent_reads() {
    for runtime in Runtime::all() {
        let scratch = Scratch::new(runtime.name());
        let mut told = runtime.command("ManyMethods", ["50", "0.2"]).unwrap_or_else(|missing| panic!("{missing}"));
        live::traced(&mut told, scratch.folder(), "Microsoft-Windows-DotNETRuntime:0x20010:5");
        let running =
            Running::start(told, Until::Ready, LIMIT).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        assert!(running.wait(LIMIT).unwrap().status.success(), "{runtime}");
        let file = scratch.trace();

        let (mut ours, listed) = maps(&std::fs::read(&file).unwrap());
        let mut theirs = live::oracle(&file).unwrap_or_else(|failure| panic!("{runtime}: {failure}")).maps;
        // The other reader puts the events of all threads in the order of time.
        let order = |map: &IlMap| (map.method_id, map.code_version, map.entries.clone());
        ours.sort_by_key(order);
        theirs.sort_by_key(order);
        println!("{runtime}: {} maps, {listed} of them in the list at the end", ours.len());
        assert!(ours.len() > 100 && ours.iter().any(|map| map.entries.len() > 10), "{runtime}");
        assert_eq!(ours, theirs, "{runtime}");
    }
}
