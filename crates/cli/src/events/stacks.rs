//! The stacks of events as they are written.

use crate::args::InputArguments;
use crate::failure::Failure;
use crate::trace;
use strata_nettrace::{Event, Item};
use strata_resolve::nettrace::{ImageFiles, Shown, TraceCode, TraceReader, TracedFrame};

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
    pub(super) fn of(&mut self, event: &Event<'_>) -> Option<Vec<TracedFrame>> {
        match self {
            Self::Hidden => None,
            Self::Addresses => {
                let addresses = event.stack.iter().flat_map(|stack| stack.addresses());
                Some(addresses.map(|address| TracedFrame { address, name: None }).collect())
            }
            Self::Named(code) => Some(code.frames(event)),
        }
    }
}
