//! Reading files of this machine.

use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use strata_address::{Avma, AvmaRange};
use strata_resolve::files::{FileError, FileOrigin, FilePath, Files, HostFiles};

use crate::oracle::output;

/// A child process that ends with the test, also when the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_is_no_regular_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("libpipe.so");
    output("mkfifo", &[pipe.to_str().unwrap()]);
    let link = folder.path().join("liblink.so");
    symlink(&pipe, &link).unwrap();
    let begin = Instant::now();
    for path in [pipe.as_path(), &link, folder.path(), "/dev/zero".as_ref(), "/dev/tty".as_ref()] {
        for named in [FilePath::on_host(path), FilePath::in_process(std::process::id(), path)] {
            let error = HostFiles::default().read(&named).unwrap_err();
            assert!(matches!(error, FileError::NotRegular { .. }), "{error}");
        }
    }
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn the_limit_holds_for_files_that_say_no_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, [7; 100]).unwrap();
    let read = |limit, path: &FilePath| HostFiles::with_limit(limit).read(path);
    assert_eq!(*read(100, &FilePath::on_host(&path)).unwrap(), [7; 100]);
    let error = read(99, &FilePath::on_host(&path)).unwrap_err();
    assert!(matches!(error, FileError::TooLarge { limit: 99, .. }), "{error}");
    let error = read(10, &FilePath::on_host("/proc/self/maps")).unwrap_err();
    assert!(matches!(error, FileError::TooLarge { limit: 10, .. }), "{error}");
}

#[test]
fn the_process_is_asked_first_and_the_host_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, b"content").unwrap();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    let check = |named: FilePath, origin| {
        let bytes = HostFiles::default().read(&named).unwrap();
        assert_eq!((&*bytes, bytes.origin()), (&b"content"[..], origin));
    };
    check(FilePath::on_host(&path), FileOrigin::Host);
    check(FilePath::in_process(std::process::id(), &path), FileOrigin::ProcessRoot);
    check(FilePath::in_process(std::process::id(), &link), FileOrigin::ProcessRoot);
    // No such process: numbers end at 2^22.
    check(FilePath::in_process(u32::MAX - 1, &path), FileOrigin::Host);
    let error = HostFiles::default().read(&FilePath::in_process(std::process::id(), "/no/such/file")).unwrap_err();
    assert!(matches!(error, FileError::NotFound { .. }), "{error}");
}

#[test]
fn a_deleted_file_is_read_through_its_mapping() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("sleeper");
    let sleep = std::fs::canonicalize("/bin/sleep").unwrap();
    std::fs::copy(&sleep, &program).unwrap();
    let child = Running(Command::new(&program).arg("60").stdin(Stdio::null()).spawn().unwrap());
    let pid = child.0.id();
    let maps = format!("/proc/{pid}/maps");
    let name = program.to_str().unwrap();
    let begin = Instant::now();
    while !std::fs::read_to_string(&maps).unwrap().contains(name) {
        assert!(begin.elapsed() < Duration::from_secs(10), "the program does not start");
    }
    std::fs::remove_file(&program).unwrap();
    // Something else in its place must not be taken for it.
    std::fs::write(&program, b"another").unwrap();
    let maps = std::fs::read_to_string(&maps).unwrap();
    let line = maps.lines().find(|line| line.contains(name)).unwrap();
    let (range, _) = line.split_once(' ').unwrap();
    let path = &line[line.find('/').unwrap()..];
    assert!(path.ends_with(" (deleted)"), "{path}");
    let (start, end) = range.split_once('-').unwrap();
    let address = |digits| Avma(u64::from_str_radix(digits, 16).unwrap());
    let range = AvmaRange::new(address(start), address(end)).unwrap();
    let named = FilePath::mapped(pid, path, range);
    assert_eq!(named.path(), program);
    match HostFiles::default().read(&named) {
        Ok(bytes) => {
            assert_eq!(bytes.origin(), FileOrigin::Mapping);
            assert!(*bytes == std::fs::read(&sleep).unwrap()[..]);
        }
        // Without the right to follow mappings the answer is that, and never the file that lies there now.
        Err(error) => assert!(matches!(error, FileError::Io { .. }), "{error}"),
    }
    drop(child);
    let error = HostFiles::default().read(&named).unwrap_err();
    assert!(matches!(error, FileError::Deleted { .. }), "{error}");
}
