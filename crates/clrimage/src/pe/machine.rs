//! What an image was compiled for.

/// A processor architecture and an operating system.
///
/// ReadyToRun images say both in the one machine field: the usual value, with a constant of the system mixed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Machine {
    /// The processor architecture.
    pub architecture: Architecture,
    /// The operating system; Windows also for images that hold no machine code.
    pub system: System,
}

/// A processor architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// x86, 32-bit; also images that hold no machine code.
    X86,
    /// x86-64.
    Amd64,
    /// ARM, 32-bit, Thumb code.
    Arm,
    /// ARM, 64-bit.
    Arm64,
    /// LoongArch, 64-bit.
    LoongArch64,
    /// RISC-V, 64-bit.
    RiscV64,
}

/// An operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// Windows.
    Windows,
    /// Linux.
    Linux,
    /// macOS and its relatives.
    Apple,
    /// FreeBSD.
    FreeBsd,
    /// NetBSD.
    NetBsd,
    /// Solaris and its relatives.
    SunOs,
}

impl Machine {
    pub(crate) const fn from_value(value: u16) -> Option<Self> {
        const SYSTEMS: [(u16, System); 6] = [
            (0, System::Windows),
            (0x7b79, System::Linux),
            (0x4644, System::Apple),
            (0xadc4, System::FreeBsd),
            (0x1993, System::NetBsd),
            (0x1992, System::SunOs),
        ];
        let mut rest: &[(u16, System)] = &SYSTEMS;
        while let [(constant, system), others @ ..] = rest {
            if let Some(architecture) = Architecture::from_value(value ^ *constant) {
                return Some(Self { architecture, system: *system });
            }
            rest = others;
        }
        None
    }
}

impl Architecture {
    const fn from_value(value: u16) -> Option<Self> {
        match value {
            0x014c => Some(Self::X86),
            0x8664 => Some(Self::Amd64),
            0x01c4 => Some(Self::Arm),
            0xaa64 => Some(Self::Arm64),
            0x6264 => Some(Self::LoongArch64),
            0x5064 => Some(Self::RiscV64),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines() {
        let check = |value, expected: Option<(Architecture, System)>| {
            let machine = Machine::from_value(value).map(|machine| (machine.architecture, machine.system));
            assert_eq!(machine, expected, "{value:#x}");
        };
        check(0x014c, Some((Architecture::X86, System::Windows)));
        check(0x8664, Some((Architecture::Amd64, System::Windows)));
        check(0xfd1d, Some((Architecture::Amd64, System::Linux)));
        check(0xd11d, Some((Architecture::Arm64, System::Linux)));
        check(0x7abd, Some((Architecture::Arm, System::Linux)));
        check(0x191d, Some((Architecture::LoongArch64, System::Linux)));
        check(0xec20, Some((Architecture::Arm64, System::Apple)));
        check(0xfda0, Some((Architecture::RiscV64, System::FreeBsd)));
        check(0x9ff7, Some((Architecture::Amd64, System::NetBsd)));
        check(0x18de, Some((Architecture::X86, System::SunOs)));
        check(0x0200, None);
    }
}
