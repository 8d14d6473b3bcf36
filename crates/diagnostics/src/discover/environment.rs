//! A process's environment, as it was when it was started.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The variables, as bytes with a NUL after each.
pub(super) struct Environment(pub(super) Vec<u8>);

impl Environment {
    /// The first value, as `getenv` sees it.
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.split(|&byte| byte == 0).find_map(|variable| {
            let rest = variable.strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=")
        })
    }

    /// Where the runtime puts its socket.
    pub(super) fn temporary_directory(&self) -> PathBuf {
        match self.get("TMPDIR") {
            Some(directory) if !directory.is_empty() => PathBuf::from(OsStr::from_bytes(directory)),
            _ => PathBuf::from("/tmp"),
        }
    }

    /// The variable that switches the socket off, and its value.
    pub(super) fn diagnostics_off(&self) -> Option<(&'static str, String)> {
        // For each setting the runtime looks at the newer prefix first, and at the older one only if that is not set.
        let settings = [
            ["DOTNET_EnableDiagnostics", "COMPlus_EnableDiagnostics"],
            ["DOTNET_EnableDiagnostics_IPC", "COMPlus_EnableDiagnostics_IPC"],
        ];
        settings.into_iter().find_map(|names| {
            let (name, value) = names.into_iter().find_map(|name| Some((name, self.get(name)?)))?;
            is_zero(value).then(|| (name, String::from_utf8_lossy(value).into_owned()))
        })
    }

    /// Whether a runtime setting is set to 0.
    pub(super) fn is_off(&self, setting: &str) -> bool {
        ["DOTNET_", "COMPlus_"]
            .into_iter()
            .find_map(|prefix| self.get(&format!("{prefix}{setting}")))
            .is_some_and(is_zero)
    }
}

/// The runtime reads numbers as hexadecimal, with or without `0x`.
fn is_zero(value: &[u8]) -> bool {
    let Ok(value) = std::str::from_utf8(value) else { return false };
    let value = value.trim();
    let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")).unwrap_or(value);
    u64::from_str_radix(digits, 16) == Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_switch_diagnostics_off() {
        let check = |environment: &[u8], expected: Option<&str>| {
            let environment = Environment(environment.to_vec());
            let off = environment.diagnostics_off().map(|(name, value)| format!("{name}={value}"));
            assert_eq!(off.as_deref(), expected);
        };
        check(b"", None);
        check(b"A=B\0DOTNET_EnableDiagnostics=0\0", Some("DOTNET_EnableDiagnostics=0"));
        check(b"COMPlus_EnableDiagnostics=0x0\0", Some("COMPlus_EnableDiagnostics=0x0"));
        check(b"DOTNET_EnableDiagnostics_IPC=00\0", Some("DOTNET_EnableDiagnostics_IPC=00"));
        check(b"DOTNET_EnableDiagnostics=1\0COMPlus_EnableDiagnostics=0\0", None);
        check(b"DOTNET_EnableDiagnostics_Debugger=0\0", None);
        check(b"DOTNET_EnableDiagnostics=\0", None);
        check(b"XDOTNET_EnableDiagnostics=0\0", None);
        check(b"DOTNET_EnableDiagnostics=no", None);
    }

    #[test]
    fn temporary_directory() {
        let check = |environment: &[u8], expected: &str| {
            assert_eq!(Environment(environment.to_vec()).temporary_directory(), PathBuf::from(expected));
        };
        check(b"", "/tmp");
        check(b"TMPDIR=\0", "/tmp");
        check(b"TMPDIR=/a\0TMPDIR=/b\0", "/a");
        check(b"XTMPDIR=/a\0TMPDIR=/b/\0", "/b/");
    }
}
