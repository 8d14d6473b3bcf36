//! Signs of a runtime in a process's mappings.

use std::io::{self, BufRead, Read};

/// What the mappings tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Evidence {
    /// `libcoreclr.so` at this path.
    CoreClr(String),
    /// The host that is about to load it, or code heaps as only CoreCLR has them (a single-file program).
    Runtime,
    /// Mono.
    Mono,
    /// No sign.
    Nothing,
}

impl Evidence {
    /// The version of a runtime without a diagnostics socket, as its path has it: `.../Microsoft.NETCore.App/2.0.0/...`.
    pub(super) fn too_old(&self) -> Option<String> {
        let Self::CoreClr(path) = self else { return None };
        let (_, rest) = path.split_once("/Microsoft.NETCore.App/")?;
        let (version, _) = rest.split_once('/')?;
        let major: u32 = version.split('.').next()?.parse().ok()?;
        (major < 3).then(|| version.to_owned())
    }
}

/// A line longer than this is no mapping: a path has at most 4096 bytes.
const LONGEST_LINE: u64 = 16 * 1024;

/// Look through the text of `/proc/PID/maps`.
pub(super) fn evidence(mut maps: impl BufRead) -> io::Result<Evidence> {
    let mut found = Evidence::Nothing;
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut maps).take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(found);
        }
        let Some(path) = path(&line) else { continue };
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        if name == b"libcoreclr.so" {
            return Ok(Evidence::CoreClr(String::from_utf8_lossy(path).into_owned()));
        }
        if matches!(name, b"libhostfxr.so" | b"libhostpolicy.so") || name.starts_with(b"memfd:doublemapper") {
            found = Evidence::Runtime;
        } else if found == Evidence::Nothing && is_mono(name) {
            found = Evidence::Mono;
        }
    }
}

fn is_mono(name: &[u8]) -> bool {
    name.starts_with(b"libmonosgen-") || name.starts_with(b"libmono-2.0") || name.starts_with(b"mono-sgen")
}

/// The path column: what follows five columns and blanks. Empty for anonymous memory.
fn path(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line.trim_ascii();
    for _ in 0..5 {
        let blank = rest.iter().position(|&byte| byte == b' ')?;
        rest = rest.get(blank..)?.trim_ascii_start();
    }
    // A deleted file's name has this appended, as has every memfd.
    Some(rest.strip_suffix(b" (deleted)").unwrap_or(rest)).filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_a_runtime() {
        let check = |maps: &str, expected: Evidence, too_old: Option<&str>| {
            let evidence = evidence(maps.as_bytes()).expect("reading memory");
            assert_eq!(evidence, expected, "{maps}");
            assert_eq!(evidence.too_old().as_deref(), too_old);
        };
        let line = |path: &str| format!("7f00-7f01 r-xp 00000000 08:01 123    {path}\n");
        let runtime = "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.4/libcoreclr.so";
        let old = "/opt/with blank/Microsoft.NETCore.App/2.0.0/libcoreclr.so";
        check("", Evidence::Nothing, None);
        check("7f00-7f01 rw-p 00000000 00:00 0 \n", Evidence::Nothing, None);
        check(&line("/usr/lib/libc.so.6"), Evidence::Nothing, None);
        check(&line("/usr/lib/notlibcoreclr.so"), Evidence::Nothing, None);
        check(&line(runtime), Evidence::CoreClr(runtime.into()), None);
        check(&line(&format!("{runtime} (deleted)")), Evidence::CoreClr(runtime.into()), None);
        check(&line(old), Evidence::CoreClr(old.into()), Some("2.0.0"));
        check(&line("/memfd:doublemapper (deleted)"), Evidence::Runtime, None);
        check(&line("/usr/share/dotnet/host/fxr/8.0.4/libhostfxr.so"), Evidence::Runtime, None);
        check(&line("/usr/bin/mono-sgen"), Evidence::Mono, None);
        check(&(line("/usr/lib/libmonosgen-2.0.so") + &line(runtime)), Evidence::CoreClr(runtime.into()), None);
        check(&"x".repeat(100_000), Evidence::Nothing, None);
    }
}
