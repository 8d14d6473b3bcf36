//! Streams built from the format's description, and real ones with known answers.

mod chunks;
mod corpus;
mod damage;
mod loss;
mod oracle;
mod order;
mod real_events;
mod recorded;
mod runtime;
mod schema;
mod scratch;
mod seen;
mod six;
mod stream;
mod survey;
mod universal;
mod values;
mod write;
