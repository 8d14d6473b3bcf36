//! The images of live .NET processes are the ones that their own headers in memory tell of.

use super::processes::Processes;
use std::convert::Infallible;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;
use strata_address::{Avma, AvmaRange};
use strata_clrimage::{Image, Layout, SectionKind};
use strata_perfdata::record::{MmapIdentity, ProgramImage};
use strata_testkit::live::{MappedImage, Running, Runtime, Source, Until, mapped_images};
use strata_unwind::Code;

/// A mapping of code as the recording has it: path, offset in the file, identity.
struct Recorded {
    range: AvmaRange,
    path: Vec<u8>,
    file_offset: u64,
    build_id: Option<Vec<u8>>,
}

fn recorded(processes: &mut Processes, pid: u32) -> Vec<Recorded> {
    let mut all = Vec::new();
    let told: Result<(), Infallible> = processes.found(pid, |record| {
        let build_id = match record.more.unwrap().identity {
            MmapIdentity::BuildId(build_id) => Some(build_id.as_bytes().to_vec()),
            MmapIdentity::Inode { .. } => None,
        };
        let (path, file_offset) = (record.filename.to_vec(), record.file_offset);
        all.push(Recorded { range: record.range().unwrap(), path, file_offset, build_id });
        Ok(())
    });
    told.unwrap();
    all
}

fn content(mapped: &MappedImage) -> (Vec<u8>, Layout) {
    match &mapped.source {
        Source::Memory(bytes) => (bytes.clone(), Layout::Memory),
        Source::File { path, offset } => {
            let file = File::open(path).unwrap();
            let size = file.metadata().unwrap().len() - offset;
            let mut bytes = vec![0; usize::try_from(size).unwrap()];
            file.read_exact_at(&mut bytes, *offset).unwrap();
            (bytes, Layout::File)
        }
    }
}

fn check(runtime: Runtime) {
    let command = runtime.command("Shares", None::<&str>).unwrap();
    let running = Running::start(command, Until::Ready, Duration::from_secs(60)).unwrap();
    let pid = running.pid();
    let mut processes = Processes::default();
    let recorded = recorded(&mut processes, pid);
    let (mut files, mut bundled, mut copied) = (0, 0, 0);
    for mapped in mapped_images(pid).unwrap() {
        let (bytes, layout) = content(&mapped);
        let image = Image::parse(&bytes, layout).unwrap();
        // Facades have no code.
        let functions = image.ready_to_run().and_then(|header| header.core().section(SectionKind::RuntimeFunctions));
        let Some(functions) = functions else { continue };
        let section = image.pe().sections().find(|section| section.is_executable).unwrap();
        let text = Avma(mapped.base.0 + u64::from(section.virtual_address));
        let found = recorded.iter().find(|recorded| recorded.range.contains(text)).unwrap();
        let Recorded { path, file_offset, build_id, .. } = found;

        let Some(Code::ReadyToRun { image: unwind, base }) = processes.space(pid).code_at(text) else {
            panic!("{runtime}: {mapped:?} is not known to be precompiled code");
        };
        assert_eq!(*base, mapped.base.0, "{runtime}: {mapped:?}");
        assert_eq!(unwind.len(), functions.size as usize / 12, "{runtime}: {mapped:?}");

        let name = image.metadata().and_then(|metadata| metadata.assembly_name());
        match &mapped.source {
            Source::File { path: file, offset: 0 } => {
                files += 1;
                assert_eq!(path, file.as_os_str().as_encoded_bytes());
                assert_eq!(build_id.as_deref(), Some(&image.identity().as_bytes()[..]));
            }
            inside => {
                let program = match inside {
                    Source::File { path: file, .. } => {
                        bundled += 1;
                        file.clone()
                    }
                    Source::Memory(_) => {
                        copied += 1;
                        runtime.host().unwrap()
                    }
                };
                let told = ProgramImage::of_path(path).unwrap();
                assert_eq!(told.executable, program.as_os_str().as_encoded_bytes());
                assert_eq!(Some(told.assembly), name.map(str::as_bytes));
                assert_eq!(*file_offset, found.range.start().0 - mapped.base.0);
                assert_eq!(build_id.as_deref(), Some(&image.identity().as_bytes()[..]));
            }
        }
    }
    println!("{runtime}: {files} files, {bundled} bundled, {copied} copied");
    let expected = match runtime {
        Runtime::Net10Compressed => copied > 3 && files + bundled == 0,
        Runtime::Net3 | Runtime::Net8 | Runtime::Net9 => files > 3 && copied + bundled == 0,
        Runtime::Net10 | Runtime::Net8Single28 | Runtime::Net8Single30 => bundled > 3 && copied + files == 0,
    };
    assert!(expected, "{runtime}: {files} files, {bundled} bundled, {copied} copied");
}

#[test]
fn images_of_frameworks() {
    [Runtime::Net3, Runtime::Net8, Runtime::Net9].into_iter().for_each(check);
}

#[test]
fn images_of_single_files() {
    [Runtime::Net10, Runtime::Net8Single28, Runtime::Net8Single30, Runtime::Net10Compressed]
        .into_iter()
        .for_each(check);
}
