//! Traces of whole machines, as `dotnet-trace collect-linux` writes them.

use super::*;
use crate::support::report;
use strata_testkit::nettrace::leb128;
use strata_testkit::nettrace6::{self, Row, Rows, Thread};
use strata_testkit::universal::{definitions, id, mapping, process, symbol, text};

/// Two processes, of which one is in the kernel; a context switch; names come last.
fn machine() -> Vec<u8> {
    const KERNEL: u64 = 0xffff_8000_0000_0000;
    let [shop, bank] = [1, 2];
    let event = |metadata, thread, time, payload| Row { metadata, thread, time, payload, ..Row::default() };
    let sample = |thread, time, stack, weight| Row { stack, ..event(id::CPU, thread, time, leb128(weight)) };
    let newer = [mapping(3, KERNEL, u64::MAX, 0, "vmlinux", 0), text(""), text("")].concat();
    let events = [
        sample(shop, 2_000, 1, 1),
        sample(shop, 3_000, 1, 2),
        sample(bank, 4_000, 2, 1),
        event(id::CSWITCH, bank, 4_500, leb128(500)),
        event(id::EXISTING, shop, 5_000, process(70, "shop", "Unknown")),
        event(id::EXISTING, bank, 5_000, process(90, "bank;\u{1b}[2J", "Unknown")),
        event(id::MAPPING, shop, 5_000, mapping(1, 0x1000, 0x1fff, 0, "/memfd:doublemapper", 0)),
        event(id::SYMBOL, shop, 5_000, symbol(1, 1, 0x1000, 0x10ff, "void [Shop] Shop.Cart::Add(int32)[QuickJitted]")),
        event(id::MAPPING, shop, 5_000, newer),
        event(id::SYMBOL, shop, 5_000, symbol(2, 3, KERNEL, KERNEL + 0xff, "do_syscall_64")),
        event(id::MAPPING, bank, 5_000, mapping(4, 0x1000, 0x1fff, 0x200, "/opt/bank/vault", 0)),
    ];
    let number = |rows: Rows, (sequence, event): (u32, Row)| rows.with(Row { sequence, ..event });
    let rows = (1..).zip(events).fold(Rows::compressed(), number);
    let pairs = vec![("ExpectedCPUSamplingRate", "2000000")];
    let threads = [Thread::new(0).of(0, 0), Thread::new(shop).of(70, 71).named("till"), Thread::new(bank).of(90, 90)];
    let stream = nettrace6::Stream::new().trace(&nettrace6::Trace { pairs, ..nettrace6::Trace::default() });
    let stacks: [&[u64]; 2] = [&[KERNEL + 8, 0x1010], &[0x1234]];
    stream.metadata(&definitions()).threads(&threads).stacks(1, &stacks).events(&rows).end()
}

#[test]
fn a_machine_has_cpu_time_by_process() {
    let scratch = Scratch::new();
    let file = written(&scratch, "machine.nettrace", &machine());
    let top = report(&file, "top");
    assert_eq!(top["recording"]["measure"], "cpu-time");
    let rows: Vec<_> = top["data"]["functions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["self"]["cpu_ns"].as_u64().unwrap()))
        .collect();
    let expected = [("do_syscall_64", 6_000_000), ("vault+0x434", 2_000_000), ("Shop.Cart.Add(int32)", 0)];
    assert_eq!(rows, expected);

    let output = run(["convert".as_ref(), file.as_os_str(), "-o".as_ref(), "-".as_ref()], 0);
    let folded = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = folded.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 2, "{folded}");
    assert!(lines[0].starts_with("bank") && !folded.contains('\u{1b}'), "{folded:?}");
    assert!(lines[1].starts_with("shop") && lines[1].contains(";Shop.Cart.Add(int32);do_syscall_64 2"), "{folded}");

    let text = run(["report".as_ref(), file.as_os_str(), "loss".as_ref()], 0);
    let text = String::from_utf8(text.stdout).unwrap();
    for words in ["1 context switches are not used", "trace symbol", "end not told", "none: no symbol"] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}

#[test]
fn info_and_events_know_the_collector() {
    let scratch = Scratch::new();
    let file = written(&scratch, "machine.nettrace", &machine());
    let told = info(&file);
    assert_eq!((&told["uses"][0]["what"], &told["uses"][0]["events"]), (&"CPU samples".into(), &3.into()));
    let symbols = lines(&["events", "--json", "--name", "ProcessSymbol"], &file);
    assert_eq!(symbols.len(), 2);
    assert_eq!(symbols[1]["fields"]["Name"], "do_syscall_64");
    assert!(symbols.iter().all(|line| line["payload_problem"].is_null()));
    let mappings = lines(&["events", "--json", "--name", "ProcessMapping"], &file);
    assert_eq!(mappings[2]["fields"]["FileName"], "/opt/bank/vault");
    assert!(mappings.iter().all(|line| line["payload_problem"].is_null()), "{mappings:?}");
    assert_eq!(told["loss"]["events"], Value::Null, "such a trace does not tell");
    let samples = lines(&["events", "--json", "--stacks", "--name", "cpu"], &file);
    let function = |sample: usize, frame: usize| &samples[sample]["stack"][frame]["function"];
    assert_eq!((function(0, 0), function(0, 1)), (&"do_syscall_64".into(), &"Shop.Cart.Add(int32)".into()));
    assert_eq!((&samples[2]["stack"][0]["address"], function(2, 0)), (&"0x1234".into(), &Value::Null));
}

#[test]
fn what_such_a_trace_cannot_do_is_said() {
    let scratch = Scratch::new();
    let file = written(&scratch, "machine.nettrace", &machine());
    let folder = scratch.path(".");
    let said = stderr(&run(["report".as_ref(), file.as_os_str(), "--symbols".as_ref(), folder.as_os_str()], 0));
    assert!(said.contains("--symbols is not used"), "{said}");
    let out = scratch.path("part.nettrace");
    let said = stderr(&run(["convert".as_ref(), file.as_os_str(), "-o".as_ref(), out.as_os_str()], 3));
    assert!(said.contains("-o part.json.gz"), "{said}");
    let said = stderr(&run(["events".as_ref(), file.as_os_str(), "--name".as_ref(), "process*".as_ref()], 6));
    assert!(
        said.contains("no event of the name process*; there are ExistingProcess, ProcessMapping, ProcessSymbol"),
        "{said}"
    );
}
