//! Runtime events of the .NET processes in a recording.
//!
//! Each process is followed by threads of its own: a stream must be read without waiting for anything, and a runtime may
//! take its time to answer. What they learn comes back as [`News`].

mod follow;
mod list;
mod port;
mod request;
mod runtimes;
mod stream;

use crate::control::Control;
use follow::MayCall;
use runtimes::Shared;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use strata_diagnostics::{ReversePort, Startup};
use strata_recording::Recording;

pub use list::ListError;
pub(crate) use list::list_methods;
pub(crate) use runtimes::News;
pub(crate) use stream::StreamTotals;

/// Follows the .NET processes of one recording.
pub(crate) struct Runtimes {
    shared: Arc<Shared>,
    news: Receiver<News>,
    /// Where launched runtimes call, if any were launched.
    port: Option<Arc<ReversePort>>,
}

impl Drop for Runtimes {
    fn drop(&mut self) {
        self.shared.close("");
        if let Some(port) = &self.port {
            // The thread that waits on the port may outlive us, and the port's file with it.
            port.close();
        }
    }
}

impl Runtimes {
    pub(crate) fn new(recording: Recording, control: Control) -> Self {
        let (tell, news) = mpsc::channel();
        Self { shared: Arc::new(Shared::new(recording, tell, control)), news, port: None }
    }

    /// Opens a port that launched runtimes connect to, and waits on it; returns the environment variable that tells them.
    pub(crate) fn listen(&mut self) -> Result<(&'static str, std::ffi::OsString), String> {
        let port = Arc::new(ReversePort::bind_temporary().map_err(|error| error.to_string())?);
        // Not suspended: a runtime that starts when we are gone, however we went, must not wait for us.
        let environment = port.environment(Startup::Running);
        let (shared, listening) = (Arc::clone(&self.shared), Arc::clone(&port));
        spawn("port", move || port::take_calls(&listening, &shared)).map_err(|error| error.to_string())?;
        self.port = Some(port);
        Ok(environment)
    }

    /// Follows a process that runs already, or was seen to load a runtime. Asked again it does nothing, unless the process
    /// had none before or became another program.
    pub(crate) fn attach(&self, pid: u32) {
        let may_call = if self.port.is_some() { MayCall::Yes } else { MayCall::No };
        follow::begin_to_attach(pid, may_call, &self.shared);
    }

    /// What was learnt since the last call.
    pub(crate) fn news(&self) -> Vec<News> {
        self.news.try_iter().collect()
    }

    /// Asks all runtimes to end their streams, those also whose streams are about to begin.
    pub(crate) fn stop(&self) {
        for (pid, session) in self.shared.stop() {
            follow::stop(pid, session, &self.shared);
        }
    }

    /// Processes of which a stream is being read.
    pub(crate) fn reading(&self) -> Vec<u32> {
        self.shared.reading()
    }

    /// Whether a process was asked for a stream and has not answered.
    pub(crate) fn asks(&self) -> bool {
        self.shared.asks()
    }

    /// Ends the recording of what still comes, and says what is missing of which process for the reason given.
    pub(crate) fn close(&self, why: &str) -> Vec<(u32, String)> {
        self.shared.close(why)
    }

    pub(crate) fn totals(&self) -> &StreamTotals {
        &self.shared.totals
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(format!("strata-{name}")).spawn(body).map(drop)
}
