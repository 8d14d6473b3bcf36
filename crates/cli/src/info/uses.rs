//! What a trace can be used for.

use super::Info;
use strata_nettrace::runtime::{RUNDOWN_PROVIDER, RUNTIME_PROVIDER, SAMPLE_PROVIDER};
use strata_nettrace::universal::EVENTS_PROVIDER;

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

/// All questions, whether or not the trace answers them.
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
    let is_cpu = |kind: &&strata_nettrace::survey::Kind| *kind.provider == *EVENTS_PROVIDER && *kind.name == *"cpu";
    let cpu_samples: u64 = info.kinds.iter().filter(is_cpu).map(|kind| kind.events).sum();
    let samples = count(SAMPLE_PROVIDER, &[0]);
    let names = runtime(&[143]) + count(RUNDOWN_PROVIDER, &[143, 144]);
    let collections = runtime(&[1]);
    let allocations = runtime(&[10, 303]);
    let exceptions = runtime(&[80]);
    let contention = runtime(&[81]);
    let counters = of_all("EventCounters");
    vec![
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
                _ => "strata report names samples by them; strata events shows addresses",
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
                "strata events FILE --name GCAllocationTick --name AllocationSampled",
                "none: keyword 0x1 at level 5 gives samples, or 0x80000000000 from .NET 10 on",
            ),
        },
        Use {
            what: "exceptions",
            events: exceptions,
            how: either(
                exceptions,
                "strata events FILE --name ExceptionThrown",
                "none was thrown, or keyword 0x8000 was off",
            ),
        },
        Use {
            what: "contention",
            events: contention,
            how: either(
                contention,
                "strata events FILE --name ContentionStart --name ContentionStop",
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
    ]
}
