//! Quality counts at the cost of the stacks, not of the samples.

use strata_profile::{Handle, Profile, Quality};

/// The same counts as [`strata_profile::quality()`], by adding samples up along the stack tree: each stack is visited
/// once, however many samples lie in it.
pub fn quality(profile: &Profile) -> Quality {
    let mut quality = Quality::default();
    let mut samples_in = vec![0u64; profile.stacks.len()];
    for sample in &profile.samples {
        *quality.stacks.entry(sample.end).or_default() += 1;
        if let Some(stack) = sample.stack {
            samples_in[stack.index()] += 1;
        }
    }
    // A stack's handle exists before any stack that it calls, so walking backwards meets callees before callers.
    for (index, stack) in profile.stacks.rows().iter().enumerate().rev() {
        let samples = samples_in[index];
        if samples == 0 {
            continue;
        }
        if let Some(parent) = stack.parent {
            samples_in[parent.index()] += samples;
        }
        let frame = profile.frames[stack.frame];
        *quality.found.entry(frame.found).or_default() += samples;
        *quality.named.entry(frame.named).or_default() += samples;
        if profile.functions[frame.function].kind.is_managed() {
            quality.managed += samples;
            quality.managed_named += if frame.named.is_name() { samples } else { 0 };
        }
    }
    quality
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_counts_are_those_of_the_model() {
        for profile in [strata_testkit::profile::mixed(), strata_testkit::profile::empty()] {
            assert_eq!(super::quality(&profile), strata_profile::quality(&profile));
        }
    }
}
