//! The images of a running process.

use super::source::{Source, Take};
use crate::failure::Failure;
use crate::say::say;
use std::path::Path;
use strata_digest::visible;
use strata_profile::Gap;
use strata_resolve::ProcessImages;
use strata_resolve::files::{FilePath, Files};

/// A process and what it has mapped as code.
pub(super) struct Process<'f> {
    pid: u32,
    images: ProcessImages<'f>,
    files: &'f dyn Files,
}

impl<'f> Process<'f> {
    /// Looks at what a process has mapped.
    pub(super) fn open(pid: u32, files: &'f dyn Files) -> Result<Self, Failure> {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            return Err(Failure::could_not_start(
                format_args!("there is no process {pid}"),
                "strata ps lists the .NET processes; ./NUMBER for a file of that name",
            ));
        }
        let mut images = ProcessImages::new(pid, files);
        let mut is_visible = false;
        strata_record::mapped_code(pid, |record| {
            is_visible = true;
            images.mapped(record);
        });
        if !is_visible {
            return Err(Failure::not_possible_here(
                format_args!("no code is seen in process {pid}"),
                "it has ended, is a kernel thread, or belongs to another user: run strata as that user or as root",
            ));
        }
        Ok(Self { pid, images, files })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Hands over each image that is loaded.
    pub(super) fn for_each(&mut self, take: &mut Take<'_>) {
        let (pid, files) = (self.pid, self.files);
        // What is left out because it was enough is no one's loss.
        let _ = self.images.for_each(|image| {
            let path = Path::new(image.path);
            let beside = |name: &str| files.read(&FilePath::in_process(pid, path.with_file_name(name))).ok();
            let base = Some(image.base);
            take(Ok(Source { path: image.path, bytes: image.bytes, base, beside: &beside }))
        });
        for notice in self.images.take_notices() {
            if let Gap::Image { path, reason } = notice {
                say(&format!("strata: {}: {}", visible(&path), visible(&reason)));
            }
        }
    }
}
