//! What a trace can be used for.

use super::Info;
use strata_nettrace::runtime::{RUNDOWN_PROVIDER, RUNTIME_PROVIDER, SAMPLE_PROVIDER};
use strata_nettrace::universal::{EVENTS_PROVIDER, SYSTEM_PROVIDER};

/// The event that ends the list of methods.
const RUNDOWN_COMPLETE: u32 = 146;

/// A question that a trace can answer, or why it cannot.
pub(super) struct Use {
    /// The question, in two words.
    pub(super) what: &'static str,
    /// Events that answer it.
    pub(super) events: u64,
    pub(super) how: How,
}

/// How to get to the answer.
pub(super) enum How {
    /// The command that shows it; FILE stands for the trace.
    Command(&'static str),
    /// What else there is to say; without events, what would have to be recorded.
    Words(&'static str),
}

/// All questions that a trace of its kind may answer, whether or not it does.
pub(super) fn of(info: &Info<'_>) -> Vec<Use> {
    let count = |provider: &str, ids: &[u32]| {
        let kinds = info.kinds.iter().filter(|kind| *kind.provider == *provider && ids.contains(&kind.event_id));
        kinds.map(|kind| kind.events).sum::<u64>()
    };
    let of_all = |name: &str| info.kinds.iter().filter(|kind| *kind.name == *name).map(|kind| kind.events).sum::<u64>();
    let either = |events: u64, with: &'static str, without: &'static str| match events {
        0 => How::Words(without),
        _ => How::Command(with),
    };
    let runtime = |ids: &[u32]| count(RUNTIME_PROVIDER, ids);
    // Collectors number their events as they like.
    let universal = |provider: &str, name: &str| {
        let kinds = info.kinds.iter().filter(|kind| *kind.provider == *provider && *kind.name == *name);
        kinds.map(|kind| kind.events).sum::<u64>()
    };
    let cpu_samples = universal(EVENTS_PROVIDER, "cpu");
    let samples = count(SAMPLE_PROVIDER, &[0]);
    let symbols = universal(SYSTEM_PROVIDER, "ProcessSymbol");
    let names = runtime(&[143]) + count(RUNDOWN_PROVIDER, &[143, 144]) + symbols;
    let lists_all = symbols > 0 || count(RUNDOWN_PROVIDER, &[RUNDOWN_COMPLETE]) > 0;
    let collections = runtime(&[1]);
    let allocations = runtime(&[10, 303]);
    let exceptions = runtime(&[80]);
    let contention = runtime(&[81]);
    let counters = of_all("EventCounters");
    let mut uses = vec![
        Use {
            what: "CPU samples",
            events: cpu_samples,
            how: either(
                cpu_samples,
                "strata report FILE",
                "no CPU samples: they come from collectors of whole machines, such as dotnet-trace collect-linux",
            ),
        },
        Use {
            what: "thread time",
            events: samples,
            how: match samples {
                1.. if cpu_samples > 0 => How::Words("not shown: strata report shows the CPU samples"),
                _ => either(
                    samples,
                    "strata report FILE",
                    "none: the provider Microsoft-DotNETCore-SampleProfiler gives samples",
                ),
            },
        },
        Use {
            what: "method names",
            events: names,
            how: How::Words(match names {
                0 => {
                    "none, so frames stay addresses: the list of methods comes at the end of a session that is stopped and not killed"
                }
                _ if lists_all => "strata report and strata events --stacks name frames by them",
                _ => {
                    "some: the list of all methods (rundown) at the end of a session is missing or not whole, so other frames stay addresses"
                }
            }),
        },
        Use {
            what: "collections",
            events: collections,
            how: either(
                collections,
                "strata events FILE --name GCStart",
                "no collection happened, or keyword 0x1 of Microsoft-Windows-DotNETRuntime was off",
            ),
        },
        Use {
            what: "allocations",
            events: allocations,
            how: either(
                allocations,
                "strata report FILE --name GCAllocationTick --name AllocationSampled",
                "none: keyword 0x1 at level 5 gives samples, or 0x80000000000 from .NET 10 on",
            ),
        },
        Use {
            what: "exceptions",
            events: exceptions,
            how: either(
                exceptions,
                "strata events FILE --name ExceptionThrown --stacks",
                "none was thrown, or keyword 0x8000 was off",
            ),
        },
        Use {
            what: "contention",
            events: contention,
            how: either(
                contention,
                "strata report FILE --name ContentionStart",
                "no lock was waited for, or keyword 0x4000 was off",
            ),
        },
        Use {
            what: "counters",
            events: counters,
            how: either(
                counters,
                "strata events FILE --name EventCounters --json",
                "none: System.Runtime with EventCounterIntervalSec=1 gives them",
            ),
        },
    ];
    if cpu_samples > 0 {
        // Such a trace is recorded otherwise than one of a runtime: what that would have to be told is no help.
        uses.retain(|one| one.events > 0);
    }
    uses
}
