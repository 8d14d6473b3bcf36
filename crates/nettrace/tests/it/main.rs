//! Streams built from the format's description, and real ones with known answers.

mod chunks;
mod corpus;
mod damage;
mod loss;
mod oracle;
mod real_events;
mod runtime;
mod schema;
mod seen;
mod stream;
mod values;
