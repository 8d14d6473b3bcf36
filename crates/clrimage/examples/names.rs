//! Names every precompiled method of an image: `names IMAGE` tells what that costs, `names IMAGE STYLE` lists them, with
//! STYLE one of `runtime`, `event` and `map`.

use std::io::Write as _;
use std::time::{Duration, Instant};

use strata_clrimage::{Image, Layout, MethodName, NameError, NoAssemblies};

type Spell = fn(&MethodName<'_, '_>) -> Result<String, NameError>;

const STYLES: [(&str, Spell); 3] = [
    ("event", |name| {
        name.event_style().map(|event| format!("{}\t{}\t{}", event.namespace, event.name, event.signature))
    }),
    ("runtime", |name| name.runtime_style()),
    ("map", |name| name.map_style()),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: names IMAGE [runtime|event|map]")?;
    let bytes = std::fs::read(path)?;
    let image = Image::parse(&bytes, Layout::File)?;
    let table = image.methods()?;
    let names = image.names(&NoAssemblies);

    if let Some(style) = arguments.next() {
        let (_, write) = STYLES.iter().find(|(name, _)| *name == style).ok_or("no such style")?;
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        for method in table.methods() {
            let name = names.name(&method.source)?;
            writeln!(out, "{:x}\t{:x}\t{}\t{:?}", method.start, method.size, write(&name)?, name.type_arguments()?)?;
        }
        return Ok(out.flush()?);
    }

    for (style, write) in STYLES {
        let mut times = Vec::with_capacity(table.methods().len());
        for method in table.methods() {
            let start = Instant::now();
            write(&names.name(&method.source)?)?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 1000).copied().unwrap_or_default();
        let total: Duration = times.iter().sum();
        println!(
            "{style}: {} names in {total:?}; half within {:?}, 99 of 100 within {:?}, slowest {:?}",
            times.len(),
            at(500),
            at(990),
            times.last().copied().unwrap_or_default(),
        );
    }
    Ok(())
}
