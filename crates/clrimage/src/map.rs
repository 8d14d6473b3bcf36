//! Maps of precompiled code for other tools, in crossgen's `r2rmap` format.

use core::fmt;

use crate::debug_directory::DebugDirectory;
use crate::{Architecture, Image, MethodTable, Names, System};

/// One line of a map: `RVA LENGTH NAME`, numbers in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapLine {
    /// RVA of the first byte, or one of the pseudo-RVAs with which a map tells of itself.
    pub rva: u32,
    /// Bytes.
    pub length: u32,
    /// The name; it may hold anything that metadata can hold, but no line break.
    pub name: String,
}

impl fmt::Display for MapLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X} {:02X} {}", self.rva, self.length, self.name)
    }
}

/// The lines of an image's map: what it is the map of, then every method by address, a cold part under the same name again.
/// Methods without a name are called by their token, such as `0x06000001`.
///
/// An image that does not say which map belongs to it (before .NET 5) has one without the lines that tell of it, as
/// crossgen wrote them then.
pub fn map_lines<'t>(
    image: &Image<'_>,
    methods: &'t MethodTable,
    names: &'t Names<'_, '_>,
) -> impl Iterator<Item = MapLine> + 't {
    let code = methods.methods().iter().flat_map(|method| {
        let name = names.name(&method.source).and_then(|name| name.map_style());
        let name = one_line(name.unwrap_or_else(|_| format!("{:#010x}", method.source.token())));
        let cold = method.cold.map(|cold| MapLine { rva: cold.start, length: cold.size, name: name.clone() });
        [Some(MapLine { rva: method.start, length: method.size, name }), cold].into_iter().flatten()
    });
    header(image).into_iter().flatten().chain(code)
}

/// The pseudo-RVAs count down from the highest.
fn header(image: &Image<'_>) -> Option<[MapLine; 5]> {
    const FORMAT: u32 = 1;
    const DEFAULT_ABI: u32 = 1;
    let map = DebugDirectory::read(image.pe()).ok()??.ready_to_run_map().ok()??;
    let machine = image.pe().machine()?;
    let signature = map.signature.iter().map(|byte| format!("{byte:02X}")).collect();
    let line = |rva, name| MapLine { rva, length: 0, name };
    Some([
        line(0xffff_ffff, signature),
        line(0xffff_fffe, FORMAT.to_string()),
        line(0xffff_fffd, number_of_system(machine.system).to_string()),
        line(0xffff_fffc, number_of_architecture(machine.architecture).to_string()),
        line(0xffff_fffb, DEFAULT_ABI.to_string()),
    ])
}

/// As crossgen numbers systems.
const fn number_of_system(system: System) -> u32 {
    match system {
        System::Windows => 1,
        System::Linux => 2,
        System::Apple => 3,
        System::FreeBsd => 4,
        System::NetBsd => 5,
        System::SunOs => 6,
    }
}

/// As crossgen numbers architectures.
const fn number_of_architecture(architecture: Architecture) -> u32 {
    match architecture {
        Architecture::Arm => 1,
        Architecture::Arm64 => 2,
        Architecture::Amd64 => 3,
        Architecture::X86 => 4,
        Architecture::RiscV64 => 5,
        Architecture::LoongArch64 => 6,
    }
}

fn one_line(name: String) -> String {
    if name.contains(['\n', '\r']) { name.replace(['\n', '\r'], " ") } else { name }
}
