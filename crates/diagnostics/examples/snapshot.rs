//! Lists the .NET processes, or, given a process id, asks it who it is and takes a snapshot of its methods by the rundown of a
//! short session. `--filter` asks for an event filter too, to see what this runtime grants.

use std::io::Read;
use std::time::{Duration, Instant};

use strata_diagnostics::{EventFilter, Level, Provider, Rundown, SessionRequest, StackWalk, find, processes};

const TIMEOUT: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(pid) = arguments.next() else {
        for seen in processes() {
            match &seen.attachable {
                Ok(endpoint) => {
                    println!("{:>8} {:?} {:?}", seen.pid, seen.command_line, endpoint.process_info(TIMEOUT))
                }
                Err(reason) => println!("{:>8} {:?} {reason}", seen.pid, seen.command_line),
            }
        }
        return Ok(());
    };
    let started = Instant::now();
    let endpoint = find(pid.parse()?)?;
    println!("found in {:?}: {:?}", started.elapsed(), endpoint.sockets().collect::<Vec<_>>());
    println!("{:#?}", endpoint.process_info(TIMEOUT));

    let mut provider = Provider::new("Microsoft-Windows-DotNETRuntime", 0x8, Level::Informational);
    if arguments.next().as_deref() == Some("--filter") {
        provider.events = EventFilter::Only(vec![152]);
    }
    for rundown in [Rundown::None, Rundown::KeywordsOrNone(0x1), Rundown::Keywords(0x138), Rundown::Default] {
        let request =
            SessionRequest { providers: vec![provider.clone()], buffer_mb: 256, rundown, stack_walk: StackWalk::Off };
        let started = Instant::now();
        let mut session = endpoint.start_session(&request, TIMEOUT)?;
        let (id, granted) = (session.id(), session.granted());
        let start = started.elapsed();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            session.read_to_end(&mut bytes).map(|_| bytes)
        });
        endpoint.stop_session(id, Duration::from_secs(60))?;
        let stop = started.elapsed();
        let bytes = reader.join().map_err(|_| "the reader panicked")??;
        println!("{rundown:?}: {granted:?}");
        println!("    started {start:?}, stopped {stop:?}, read {:?}, {} bytes", started.elapsed(), bytes.len());
    }
    Ok(())
}
