//! What one may ask of `cargo xtask bench overhead`.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Which program is profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    /// One busy thread that times its own work: shows what a profiler costs it.
    Bench,
    /// The demonstration's shop, nine threads: shows what a profiler costs itself, and how many stacks are whole.
    Varied,
}

/// Which profilers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// strata and perf, at two frequencies.
    Profilers,
    /// strata at several sizes of the copied stack.
    StackSizes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) workload: Workload,
    pub(crate) field: Field,
    /// How often each profiler has its turn.
    pub(crate) rounds: u32,
    /// How long each window is in which something is measured.
    pub(crate) window: Duration,
}

impl Options {
    pub(crate) fn parse(words: &[String]) -> Result<Options> {
        let mut options = Options {
            workload: Workload::Bench,
            field: Field::Profilers,
            rounds: 10,
            window: Duration::from_millis(2500),
        };
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--stack-sizes" => options.field = Field::StackSizes,
                "--rounds" => {
                    options.rounds = value(word, words.next())?;
                    if !(1..=1000).contains(&options.rounds) {
                        bail!("--rounds must be from 1 to 1000");
                    }
                }
                "--seconds" => {
                    let seconds: f64 = value(word, words.next())?;
                    if !(0.5..=600.0).contains(&seconds) {
                        bail!("--seconds must be from 0.5 to 600");
                    }
                    options.window = Duration::from_secs_f64(seconds);
                }
                "--workload" => {
                    options.workload = match words.next() {
                        Some("bench") => Workload::Bench,
                        Some("varied") => Workload::Varied,
                        other => bail!("--workload must be `bench` or `varied`, not `{}`", other.unwrap_or_default()),
                    }
                }
                other => bail!("`bench overhead` has no option `{other}`"),
            }
        }
        Ok(options)
    }
}

fn value<T: FromStr>(option: &str, word: Option<&str>) -> Result<T> {
    let word = word.with_context(|| format!("{option} needs a number"))?;
    word.parse().ok().with_context(|| format!("{option} needs a number, not `{word}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_checked() {
        let check = |line: &str, good| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let parsed = Options::parse(&words);
            assert_eq!(parsed.is_ok(), good, "{line}: {parsed:?}");
        };
        check("", true);
        check("--rounds 3 --seconds 1.5 --workload varied --stack-sizes", true);
        check("--rounds", false);
        check("--rounds 0", false);
        check("--rounds 1001", false);
        check("--rounds x", false);
        check("--seconds 0", false);
        check("--seconds NaN", false);
        check("--workload shop", false);
        check("--workload", false);
        check("--stacks", false);
    }
}
