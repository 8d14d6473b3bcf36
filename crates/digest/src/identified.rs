//! Processes and threads by name and number.

/// `worker (tid 12)`; what has no name goes by its number alone.
pub fn identified(name: &str, word: &str, id: u32) -> String {
    if name.is_empty() { format!("{word} {id}") } else { format!("{name} ({word} {id})") }
}
