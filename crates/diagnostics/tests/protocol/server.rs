//! A runtime's side of the socket, played by a thread.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use strata_diagnostics::Endpoint;

/// Far more than anything here takes, so that a slow machine fails no test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A folder that is removed with all that is in it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("strata-diagnostics-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a new folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that handles each connection in turn, and tells which commands it was sent.
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    pub(crate) commands: Receiver<(u8, u8, Vec<u8>)>,
    _folder: Folder,
}

/// `answer` gets the command set, the command id and the connection. A connection is kept open until the server's thread
/// ends if `answer` returns it.
pub(crate) fn serve(answer: impl FnMut(u8, u8, UnixStream) -> Option<UnixStream> + Send + 'static) -> Server {
    let folder = Folder::new();
    let path = folder.0.join("socket");
    let commands = serve_at(&path, answer);
    Server { endpoint: Endpoint::at(path), commands, _folder: folder }
}

pub(crate) fn serve_at(
    path: &Path,
    mut answer: impl FnMut(u8, u8, UnixStream) -> Option<UnixStream> + Send + 'static,
) -> Receiver<(u8, u8, Vec<u8>)> {
    let listener = UnixListener::bind(path).expect("a new socket");
    let (sender, commands) = channel();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept() {
            let Some((set, id, payload)) = read_command(&mut stream) else { continue };
            if sender.send((set, id, payload)).is_err() {
                return;
            }
            open.extend(answer(set, id, stream));
        }
    });
    commands
}

pub(crate) fn read_command(stream: &mut UnixStream) -> Option<(u8, u8, Vec<u8>)> {
    let mut header = [0; 20];
    stream.read_exact(&mut header).ok()?;
    assert_eq!(&header[..14], b"DOTNET_IPC_V1\0");
    let size = u16::from_le_bytes([header[14], header[15]]);
    let mut payload = vec![0; usize::from(size) - 20];
    stream.read_exact(&mut payload).ok()?;
    Some((header[16], header[17], payload))
}

pub(crate) fn message(set: u8, id: u8, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(20 + payload.len()).expect("a small message");
    [b"DOTNET_IPC_V1\0", &size.to_le_bytes()[..], &[set, id, 0, 0], payload].concat()
}

pub(crate) fn reply(stream: &mut UnixStream, payload: &[u8]) {
    stream.write_all(&message(0xFF, 0x00, payload)).expect("the client is there");
}

pub(crate) fn refuse(stream: &mut UnixStream, code: u32) {
    stream.write_all(&message(0xFF, 0xFF, &code.to_le_bytes())).expect("the client is there");
}

pub(crate) const UNKNOWN_COMMAND: u32 = 0x8013_1385;

/// A string as the protocol writes it.
pub(crate) fn string(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let count = u32::try_from(units.len()).expect("a short string").to_le_bytes();
    count.into_iter().chain(units.into_iter().flat_map(u16::to_le_bytes)).collect()
}
