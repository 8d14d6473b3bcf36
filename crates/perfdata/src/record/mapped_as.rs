//! What a mapping is of, as its record tells.

use std::borrow::Cow;

/// What the memory of a mapping is, as its record tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappedAs {
    /// A file that may be an image.
    File,
    /// The kernel's image for processes.
    Vdso,
    /// A .NET image inside a single-file program: see [`ProgramImage`]. The mapping's file offset is the RVA that it begins
    /// with, and its build id the image's identity.
    ProgramImage,
    /// Memory without a file, or with one that exists only in memory: where runtimes write code. Never an image.
    Memory,
}

/// Length of a .NET image's identity.
const IDENTITY: usize = 20;

impl MappedAs {
    /// From the path as the kernel prints it, in records and in `/proc/PID/maps` alike, or as the recorder wrote it; and from
    /// the build id of the record. Without one, a path is never that of an image inside a program: a file can be named so.
    pub fn of(path: &[u8], build_id: Option<&[u8]>) -> Self {
        const IN_MEMORY: [&[u8]; 4] = [b"//", b"/memfd:", b"/dev/", b"/SYSV"];
        match path {
            b"[vdso]" => Self::Vdso,
            [b'/', ..] if !IN_MEMORY.iter().any(|prefix| path.starts_with(prefix)) => {
                let is_identity = build_id.is_some_and(|build_id| build_id.len() == IDENTITY);
                if is_identity && ProgramImage::of_path(path).is_some() { Self::ProgramImage } else { Self::File }
            }
            _ => Self::Memory,
        }
    }
}

/// A .NET image inside a single-file program. The kernel has the program's file for it, or, where the runtime inflated it and
/// copied it to where it runs, none at all.
///
/// The recorder gives a mapping of its code the path `EXECUTABLE!/NAME.dll`, where `NAME` is the simple name of the assembly
/// (its place in the bundle is not known), the RVA of the mapping's first byte as file offset, and the image's identity as
/// build id. No file of such a name is recorded with its identity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramImage<'a> {
    /// Path of the program, as the kernel prints it.
    pub executable: &'a [u8],
    /// Simple name of the assembly, without extension.
    pub assembly: &'a [u8],
}

impl<'a> ProgramImage<'a> {
    const BETWEEN: &'static [u8] = b"!/";
    const EXTENSION: &'static [u8] = b".dll";

    /// From a mapping's path; `None` when it is of another kind.
    pub fn of_path(path: &'a [u8]) -> Option<Self> {
        let named = path.strip_suffix(Self::EXTENSION)?;
        let between = named.windows(Self::BETWEEN.len()).rposition(|bytes| bytes == Self::BETWEEN)?;
        let (executable, rest) = named.split_at_checked(between)?;
        let assembly = rest.strip_prefix(Self::BETWEEN)?;
        let whole = executable.starts_with(b"/") && !assembly.is_empty() && !assembly.contains(&b'/');
        whole.then_some(Self { executable, assembly })
    }

    /// The path that a mapping of it gets.
    pub fn path(&self) -> Vec<u8> {
        let assembly = if self.assembly.contains(&b'/') {
            Cow::Owned(self.assembly.iter().map(|byte| if *byte == b'/' { b'_' } else { *byte }).collect())
        } else {
            Cow::Borrowed(self.assembly)
        };
        [self.executable, Self::BETWEEN, &assembly, Self::EXTENSION].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_files_from_memory() {
        let files: [&[u8]; 6] = [
            b"/usr/bin/x",
            b"/lib/libc.so.6 (deleted)",
            b"/devices/x.so",
            b"/memfd",
            b"/opt/odd!.dll",
            b"/opt/odd!/below/x.dll",
        ];
        assert!(files.iter().all(|path| MappedAs::of(path, Some(&[1; 20])) == MappedAs::File));
        let memory: [&[u8]; 8] = [
            b"//anon",
            b"/memfd:doublemapper (deleted)",
            b"/dev/zero (deleted)",
            b"/SYSV00000000 (deleted)",
            b"[heap]",
            b"[vsyscall]",
            b"",
            b"relative",
        ];
        assert!(memory.iter().all(|path| MappedAs::of(path, Some(&[1; 20])) == MappedAs::Memory));
        assert_eq!(MappedAs::of(b"[vdso]", None), MappedAs::Vdso);
    }

    #[test]
    fn images_inside_programs_are_told_by_path_and_identity() {
        let image = ProgramImage { executable: b"/opt/app!/run (deleted)", assembly: b"System.Linq" };
        let path = image.path();
        assert_eq!(path, b"/opt/app!/run (deleted)!/System.Linq.dll");
        assert_eq!(ProgramImage::of_path(&path), Some(image));
        assert_eq!(MappedAs::of(&path, Some(&[1; 20])), MappedAs::ProgramImage);
        for build_id in [None, Some(&[1; 16][..])] {
            assert_eq!(MappedAs::of(&path, build_id), MappedAs::File, "a file may have such a name");
        }
        let hostile = ProgramImage { executable: b"/opt/app", assembly: b"../../etc/x" };
        assert_eq!(hostile.path(), b"/opt/app!/.._.._etc_x.dll");
        for path in [&b"/opt/app!/.dll"[..], b"/opt/app!/x", b"app!/x.dll", b"!/x.dll", b""] {
            assert_eq!(ProgramImage::of_path(path), None, "{path:?}");
        }
    }
}
