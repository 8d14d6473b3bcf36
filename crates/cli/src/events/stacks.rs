//! The stacks of events as they are written.

use crate::args::InputArguments;
use crate::failure::Failure;
use crate::trace;
use std::rc::Rc;
use strata_address::Avma;
use strata_nettrace::{Event, Item};
use strata_resolve::nettrace::{FrameName, ImageFiles, Shown, TraceCode, TraceReader};

/// One frame.
pub(super) struct Frame {
    pub(super) address: Avma,
    pub(super) name: Option<Rc<FrameName>>,
}

/// How stacks are written.
pub(super) enum Stacks<'f> {
    Hidden,
    /// As addresses: what names them comes last in a trace, and a pipe can be read only once.
    Addresses,
    Named(Box<TraceCode<'f>>),
}

impl<'f> Stacks<'f> {
    /// Stacks with names where the trace can be read twice: this is the first time.
    pub(super) fn shown(input: &InputArguments, images: &ImageFiles<'f>) -> Result<Self, Failure> {
        if !trace::can_be_read_again(&input.file) {
            return Ok(Self::Addresses);
        }
        // Nothing is to be kept but what names code.
        let mut none = |_: &Item<'_>| false;
        let shown = Shown::Events { what: String::new(), counts: &mut none };
        let mut reader = TraceReader::new(&input.file_name(), shown);
        let whole = trace::read(&input.file, |item| reader.take(&item))?;
        Ok(Self::Named(Box::new(reader.into_code(&whole.summary, images))))
    }

    /// The stack of an event, leaf first; `None` where stacks are hidden.
    pub(super) fn of(&mut self, event: &Event<'_>) -> Option<Vec<Frame>> {
        match self {
            Self::Hidden => None,
            Self::Addresses => {
                let addresses = event.stack.iter().flat_map(|stack| stack.addresses());
                Some(addresses.map(|address| Frame { address, name: None }).collect())
            }
            Self::Named(code) => {
                let frames = code.frames(event).into_iter();
                Some(frames.map(|(address, name)| Frame { address, name }).collect())
            }
        }
    }
}
