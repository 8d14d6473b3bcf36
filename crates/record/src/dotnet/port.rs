//! Launched runtimes that call us.

use super::follow;
use super::request;
use super::runtimes::{Shared, Way};
use crate::target::proc;
use std::sync::Arc;
use std::time::Duration;
use strata_diagnostics::{Advertised, ReversePort};

/// How long one look at the port takes, and so how late the end of the recording is seen.
const LOOK: Duration = Duration::from_millis(200);

/// Takes in launched runtimes until the recording is finished. Each has a thread of its own: one that is slow to answer
/// holds no other up.
pub(super) fn take_calls(port: &ReversePort, shared: &Arc<Shared>) {
    // A runtime connects again after each command. As long as it is held the connection is kept, so that it does not keep
    // trying.
    let mut held: Vec<Arc<Advertised>> = Vec::new();
    while !shared.is_stopping() {
        match port.accept(LOOK) {
            Ok(None) => held.retain(|runtime| !proc::has_ended(runtime.pid)),
            Ok(Some(runtime)) => {
                let runtime = Arc::new(runtime);
                held.push(Arc::clone(&runtime));
                let (pid, calling) = (runtime.pid, Arc::clone(shared));
                if let Err(error) = super::spawn("call", move || take_call(&runtime, &calling)) {
                    shared.problem(pid, error);
                }
            }
            Err(error) => return shared.problem(0, format_args!("launched runtimes are not taken in: {error}")),
        }
    }
}

fn take_call(runtime: &Advertised, shared: &Arc<Shared>) {
    let Some(claim) = shared.claim(runtime.pid, Way::Call) else { return };
    match runtime.endpoint().start_session(&request::live(), follow::ANSWER_TIMEOUT) {
        Ok(session) => {
            follow::listen(&claim, session, shared);
            drop(claim);
            // It may have become another program, whose runtime began before the streams of this one had ended.
            if shared.take_seen_again(runtime.pid) {
                follow::begin_to_attach(runtime.pid, follow::MayCall::Yes, shared);
            }
        }
        Err(error) => {
            drop(claim);
            // Its own socket may answer; if that was tried already, no one will.
            if !follow::begin_to_attach(runtime.pid, follow::MayCall::No, shared) {
                shared.problem(runtime.pid, follow::explain(runtime.pid, &error));
            }
        }
    }
}
