//! From a path to a profile.

use crate::failure::Failure;
use std::path::Path;
use strata_profile::Profile;
use strata_recording::Recording;
use strata_resolve::files::HostFiles;

/// Reads and names a recording.
pub(crate) fn profile(path: &Path) -> Result<Profile, Failure> {
    let recording = Recording::open(path)?;
    Ok(strata_resolve::resolve(&recording, &HostFiles::default())?)
}

/// Reads a recording of which something can be shown.
pub(crate) fn profile_with_samples(path: &Path) -> Result<Profile, Failure> {
    let profile = profile(path)?;
    if profile.samples.is_empty() {
        return Err(Failure::nothing_to_show(
            format_args!("{} has no CPU sample: the target used hardly any CPU while it was recorded", path.display()),
            "strata report FILE loss tells what is missing",
        ));
    }
    Ok(profile)
}
