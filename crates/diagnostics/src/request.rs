//! What a session is asked to record, and its bytes.

use std::collections::HashSet;

use crate::error::RequestError;
use crate::session::CollectCommand;
use crate::wire::put_string;

/// The rundown keyword that current runtimes use when none is given: CodeSymbols, IL maps, EndRundown, NGen, Jit, Loader, GC.
pub const DEFAULT_RUNDOWN_KEYWORDS: u64 = 0x8002_0139;

/// The stream format asked for: nettrace version 4.
const NETTRACE: u32 = 1;

const MOST_PROVIDERS: usize = 1000;

/// How much detail a provider sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Everything, whatever its level.
    LogAlways = 0,
    /// Critical only.
    Critical = 1,
    /// And errors.
    Error = 2,
    /// And warnings.
    Warning = 3,
    /// And information.
    Informational = 4,
    /// And all else.
    Verbose = 5,
}

impl Level {
    /// The level for a number, 0 to 5.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::LogAlways, Self::Critical, Self::Error, Self::Warning, Self::Informational, Self::Verbose]
            .into_iter()
            .find(|level| *level as u32 == number)
    }
}

/// Which of a provider's events pass, by event id, after keywords and level. Only runtimes from 10 on can do it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EventFilter {
    /// All of them.
    #[default]
    All,
    /// Only these.
    Only(Vec<u32>),
    /// All but these.
    Except(Vec<u32>),
}

/// One provider of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name, such as `Microsoft-Windows-DotNETRuntime`.
    pub name: String,
    /// Bit mask of the kinds of events wanted.
    pub keywords: u64,
    /// How much detail.
    pub level: Level,
    /// `key=value;key2=value2`, for event sources written in managed code; the runtime's own providers ignore it.
    pub arguments: Option<String>,
    /// Which events pass.
    pub events: EventFilter,
}

impl Provider {
    /// A provider without arguments and without an event filter.
    pub fn new(name: impl Into<String>, keywords: u64, level: Level) -> Self {
        Self { name: name.into(), keywords, level, arguments: None, events: EventFilter::All }
    }
}

/// Which methods and modules the runtime lists when the session stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rundown {
    /// Nothing.
    None,
    /// What the runtime lists by default.
    #[default]
    Default,
    /// What these rundown keywords select; a runtime that cannot choose (before 9) makes its default rundown.
    Keywords(u64),
    /// What these rundown keywords select; a runtime that cannot choose makes no rundown.
    KeywordsOrNone(u64),
}

/// Whether the runtime walks the thread's stack for each event. Runtimes before 9 always do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StackWalk {
    /// It does.
    #[default]
    On,
    /// It does not.
    Off,
}

/// What a session is asked to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRequest {
    /// At least one, none of them twice.
    pub providers: Vec<Provider>,
    /// Most memory that the runtime buffers for this session, in MiB. When it is full, new events are dropped; the whole
    /// rundown has to fit in it.
    pub buffer_mb: u32,
    /// What is listed when the session stops.
    pub rundown: Rundown,
    /// Whether events carry stacks.
    pub stack_walk: StackWalk,
}

impl SessionRequest {
    /// What no runtime could accept.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub fn validate(&self) -> Result<(), RequestError> {
        if self.providers.is_empty() {
            return Err(RequestError::NoProvider);
        }
        if self.providers.len() > MOST_PROVIDERS {
            return Err(RequestError::TooManyProviders { count: self.providers.len() });
        }
        if self.buffer_mb == 0 {
            return Err(RequestError::NoBuffer);
        }
        let mut names = HashSet::new();
        for (index, provider) in self.providers.iter().enumerate() {
            if provider.name.is_empty() {
                return Err(RequestError::NamelessProvider { index });
            }
            if !names.insert(provider.name.as_str()) {
                return Err(RequestError::RepeatedProvider { name: provider.name.clone() });
            }
        }
        Ok(())
    }

    /// The payload of `command` for this request, saying as much of it as that command can.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub fn payload(&self, command: CollectCommand) -> Result<Vec<u8>, RequestError> {
        self.validate()?;
        let mut payload = Vec::new();
        if command == CollectCommand::Five {
            let stream_session: u32 = 0;
            payload.extend_from_slice(&stream_session.to_le_bytes());
        }
        payload.extend_from_slice(&self.buffer_mb.to_le_bytes());
        payload.extend_from_slice(&NETTRACE.to_le_bytes());
        match command {
            CollectCommand::One => {}
            CollectCommand::Two | CollectCommand::Three => payload.push(self.rundown_wanted().into()),
            CollectCommand::Four | CollectCommand::Five => {
                payload.extend_from_slice(&self.rundown_keywords().to_le_bytes());
            }
        }
        if command >= CollectCommand::Three {
            payload.push((self.stack_walk == StackWalk::On).into());
        }
        put_count(&mut payload, self.providers.len())?;
        for provider in &self.providers {
            payload.extend_from_slice(&provider.keywords.to_le_bytes());
            payload.extend_from_slice(&(provider.level as u32).to_le_bytes());
            put_string(&mut payload, Some(&provider.name))?;
            put_string(&mut payload, provider.arguments.as_deref())?;
            if command == CollectCommand::Five {
                put_filter(&mut payload, &provider.events)?;
            }
        }
        Ok(payload)
    }

    /// For commands that can only say yes or no.
    pub(crate) fn rundown_wanted(&self) -> bool {
        match self.rundown {
            Rundown::None | Rundown::KeywordsOrNone(_) => false,
            Rundown::Default => true,
            Rundown::Keywords(keywords) => keywords != 0,
        }
    }

    /// For commands that name the keywords; 0 is no rundown.
    pub(crate) fn rundown_keywords(&self) -> u64 {
        match self.rundown {
            Rundown::None => 0,
            Rundown::Default => DEFAULT_RUNDOWN_KEYWORDS,
            Rundown::Keywords(keywords) | Rundown::KeywordsOrNone(keywords) => keywords,
        }
    }

    /// Whether yes or no says it all.
    pub(crate) fn rundown_needs_keywords(&self) -> bool {
        matches!(self.rundown, Rundown::Keywords(keywords) | Rundown::KeywordsOrNone(keywords) if keywords != 0)
    }

    pub(crate) fn has_event_filter(&self) -> bool {
        self.providers.iter().any(|provider| provider.events != EventFilter::All)
    }
}

fn put_count(payload: &mut Vec<u8>, count: usize) -> Result<(), RequestError> {
    let count = u32::try_from(count).map_err(|_| RequestError::TooLarge { bytes: count })?;
    payload.extend_from_slice(&count.to_le_bytes());
    Ok(())
}

fn put_filter(payload: &mut Vec<u8>, filter: &EventFilter) -> Result<(), RequestError> {
    let (only, ids): (bool, &[u32]) = match filter {
        EventFilter::All => (false, &[]),
        EventFilter::Only(ids) => (true, ids),
        EventFilter::Except(ids) => (false, ids),
    };
    payload.push(only.into());
    put_count(payload, ids.len())?;
    for id in ids {
        payload.extend_from_slice(&id.to_le_bytes());
    }
    Ok(())
}
