//! The images that processes map, each read once.

use object::read::elf::ElfFile64;
use object::read::{Object, ReadCache};
use object::{Endianness, ReadRef};
use rustc_hash::FxHashMap;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use strata_address::{Avma, AvmaRange};
use strata_clrimage::ImageIdentity;
use strata_perfdata::record::MappedAs;
use strata_unwind::ElfUnwindData;

use super::bundled::BundledImages;
use super::dotnet_image::{DotnetImage, Identified, Source};
use super::mapping::Mapping;
use super::{copied, memory};

/// What is known of one mapping's image.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// What its code is.
    pub(crate) content: Content,
    /// Its ELF build id, or a .NET image's identity.
    pub(crate) build_id: Option<Vec<u8>>,
}

/// What the code of a mapping is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// An ELF image with call frame information.
    Elf(Arc<ElfUnwindData>),
    /// Native code of which nothing is known: an ELF image without call frame information, or one that cannot be read.
    Undescribed,
    /// A .NET image.
    Dotnet(Arc<DotnetImage>),
    /// No image: memory, or a file of another kind.
    NoImage,
}

impl Image {
    fn of_dotnet(image: DotnetImage) -> Self {
        let build_id = Some(image.identity.as_bytes().to_vec());
        Self { content: Content::Dotnet(Arc::new(image)), build_id }
    }
}

/// Images by what says which file is meant; a path alone would confuse a file with its replacement or another
/// container's. Only what could be read is kept.
#[derive(Default)]
pub(crate) struct Images {
    known: FxHashMap<Identity, Image>,
    bundles: FxHashMap<FileState, Arc<BundledImages>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    BuildId(Vec<u8>),
    File(FileState),
    /// The kernel's own, the same in every process.
    Vdso,
    /// An image inside a single-file program, or copied out of one.
    Dotnet(ImageIdentity),
}

/// An image inside a single-file program, or copied out of one.
pub(crate) struct InProgram {
    pub(crate) image: Arc<DotnetImage>,
    /// Where its RVA 0 is.
    pub(crate) base: Avma,
    /// How the recording names the mapping of its code.
    pub(crate) path: Vec<u8>,
}

/// A file without a build id, at the moment it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl FileState {
    fn of(file: &Metadata) -> Self {
        Self { device: file.dev(), inode: file.ino(), size: file.size(), changed: (file.ctime(), file.ctime_nsec()) }
    }
}

/// Images kept; all are forgotten when there are more. Those in use stay with the processes that map them.
const MAX_KNOWN: usize = 1024;

impl Images {
    /// The image that a mapping shows.
    pub(crate) fn get(&mut self, mapping: &Mapping<'_>) -> Image {
        let (path, build_id) = (&*mapping.path, mapping.build_id());
        // Images inside programs have names that only recordings give them: here it is a file with such a name.
        match MappedAs::of(path.as_bytes(), None) {
            MappedAs::Memory | MappedAs::ProgramImage => Image { content: Content::NoImage, build_id: None },
            MappedAs::Vdso => {
                let read = || read_from_memory(mapping.pid, mapping.range);
                self.known_or(Identity::Vdso, read).unwrap_or_else(|| unknown(path, build_id))
            }
            MappedAs::File => self.of_file(mapping).unwrap_or_else(|| unknown(path, build_id)),
        }
    }

    fn of_file(&mut self, mapping: &Mapping<'_>) -> Option<Image> {
        let build_id = mapping.build_id();
        if let Some(build_id) = build_id
            && let Some(image) = self.known.get(&Identity::BuildId(build_id.to_vec()))
        {
            return Some(image.clone());
        }
        let file = if build_id.is_some() { mapping.open_to_compare() } else { mapping.open() }?;
        let state = FileState::of(&file.metadata().ok()?);
        let image = self.known_or(Identity::File(state), || parse_file(file))?;
        if let Some(found) = &image.build_id {
            self.keep(Identity::BuildId(found.clone()), &image);
        }
        // The file may have been replaced since the kernel mapped it: its unwind data would be wrong.
        if build_id.is_some_and(|mapped| image.build_id.as_deref() != Some(mapped)) {
            return None;
        }
        Some(image)
    }

    /// The image inside a single-file program whose code is mapped from the program's file.
    pub(crate) fn bundled(&mut self, mapping: &Mapping<'_>) -> Option<InProgram> {
        let file = mapping.open()?;
        let state = FileState::of(&file.metadata().ok()?);
        if self.bundles.len() >= MAX_KNOWN {
            self.bundles.clear();
        }
        let bundle = self.bundles.entry(state).or_insert_with(|| Arc::new(BundledImages::read(&file)));
        let offset = bundle.mapped(&file, mapping.file_offset, mapping.range.len())?;
        let source = Source::File(&file, offset);
        let identified = Identified::read(source)?;
        let image = self.dotnet(&identified, source)?;
        let base = image.base_in_file(mapping.range, mapping.file_offset, offset)?;
        Some(InProgram { image, base, path: identified.path_in(mapping.path.as_bytes()) })
    }

    /// The image whose code was copied to a mapping without a file.
    pub(crate) fn copied(&mut self, mapping: &Mapping<'_>) -> Option<InProgram> {
        let pid = mapping.pid;
        let (base, headers) = copied::find(pid, mapping.range)?;
        let source = Source::Memory { pid, base };
        let identified = Identified::with_headers(source, headers)?;
        // What was copied without code that runs there needs no name.
        let image = self.dotnet(&identified, source).filter(|image| image.has_code())?;
        Some(InProgram { image, base, path: identified.path_in(&copied::executable(pid)?) })
    }

    fn dotnet(&mut self, identified: &Identified, source: Source<'_>) -> Option<Arc<DotnetImage>> {
        let image =
            self.known_or(Identity::Dotnet(identified.identity), || Some(Image::of_dotnet(identified.image(source)?)))?;
        match image.content {
            Content::Dotnet(image) => Some(image),
            _ => None,
        }
    }

    fn known_or(&mut self, identity: Identity, read: impl FnOnce() -> Option<Image>) -> Option<Image> {
        if let Some(image) = self.known.get(&identity) {
            return Some(image.clone());
        }
        let image = read()?;
        self.keep(identity, &image);
        Some(image)
    }

    fn keep(&mut self, identity: Identity, image: &Image) {
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(identity, image.clone());
    }
}

/// An image that cannot be read: native code, unless its name says that it is managed code.
fn unknown(path: &str, build_id: Option<&[u8]>) -> Image {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let managed = [".dll", ".exe"].iter().any(|extension| path.ends_with(extension));
    let content = if managed && build_id.is_none() { Content::NoImage } else { Content::Undescribed };
    Image { content, build_id: build_id.map(<[u8]>::to_vec) }
}

fn read_from_memory(pid: u32, range: AvmaRange) -> Option<Image> {
    /// The kernel's own image takes two pages.
    const MAX_BYTES: u64 = 1 << 20;
    if range.len() > MAX_BYTES {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(range.len()).ok()?];
    (memory::read(pid, range.start(), &mut bytes) == bytes.len()).then(|| parse(&*bytes)).flatten()
}

/// What a file is; `None` when not even its first bytes can be read.
fn parse_file(file: File) -> Option<Image> {
    let source = Source::File(&file, 0);
    let dotnet = source.headers().starts_with(b"MZ").then(|| Identified::read(source)?.image(source)).flatten();
    match dotnet {
        Some(image) => Some(Image::of_dotnet(image)),
        None => parse(&ReadCache::new(file)),
    }
}

/// What the bytes of an image say; `None` when not even their first can be read.
fn parse<'data, R: ReadRef<'data>>(data: R) -> Option<Image> {
    const ELF_MAGIC: &[u8] = b"\x7fELF";
    let is_elf = data.read_bytes_at(0, ELF_MAGIC.len() as u64).ok()? == ELF_MAGIC;
    let build_id = ElfFile64::<Endianness, R>::parse(data).ok().and_then(|elf| elf.build_id().ok().flatten());
    let content = match ElfUnwindData::parse(data) {
        Ok(unwind) => Content::Elf(Arc::new(unwind)),
        Err(_) if is_elf => Content::Undescribed,
        Err(_) => Content::NoImage,
    };
    Some(Image { content, build_id: build_id.map(<[u8]>::to_vec) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::proc::{self, ExecutableMapping};
    use strata_address::Avma;
    use strata_perfdata::BuildId;
    use strata_perfdata::record::MmapIdentity;

    fn our_mapping(name: &str) -> ExecutableMapping {
        let mappings = proc::executable_mappings(std::process::id()).unwrap();
        mappings.into_iter().find(|mapping| mapping.path.contains(name)).unwrap()
    }

    /// A mapping without a file offset, by inode or build id.
    fn mapping(pid: u32, range: AvmaRange, path: &str, identity: Option<MmapIdentity>) -> Mapping<'_> {
        Mapping { pid, range, path: path.into(), file_offset: 0, protection: 0, identity }
    }

    fn build_id(bytes: &[u8]) -> Option<MmapIdentity> {
        Some(MmapIdentity::BuildId(BuildId::new(bytes).unwrap()))
    }

    fn inode(inode: u64) -> Option<MmapIdentity> {
        Some(MmapIdentity::Inode { major: 0, minor: 0, inode, generation: 0 })
    }

    /// A range where we have nothing mapped: the file is opened by its path.
    fn nowhere() -> AvmaRange {
        AvmaRange::sized(Avma(0x1000), 0x1000).unwrap()
    }

    #[test]
    fn our_own_images_have_unwind_data_and_memory_has_none() {
        let pid = std::process::id();
        let mut images = Images::default();
        for name in ["libc.so", "[vdso]"] {
            let ours = our_mapping(name);
            let image = images.get(&mapping(pid, ours.range, &ours.path, inode(ours.inode)));
            assert!(matches!(image.content, Content::Elf(_)), "{name}: {image:?}");
        }
        let memory = images.get(&mapping(pid, nowhere(), "/memfd:doublemapper (deleted)", None));
        assert!(matches!(memory.content, Content::NoImage));
    }

    #[test]
    fn a_replaced_file_is_not_used() {
        let libc = our_mapping("libc.so");
        let image = Images::default().get(&mapping(std::process::id(), libc.range, &libc.path, build_id(&[1, 2, 3])));
        assert!(matches!(image.content, Content::Undescribed) && image.build_id.as_deref() == Some(&[1, 2, 3]));
    }

    #[test]
    fn a_process_that_is_gone_does_not_take_the_vdso_from_others() {
        let vdso = our_mapping("[vdso]");
        let vdso_of = |pid| mapping(pid, vdso.range, &vdso.path, None);
        let mut images = Images::default();
        let gone = images.get(&vdso_of(u32::MAX / 2));
        assert!(matches!(gone.content, Content::Undescribed));
        let ours = images.get(&vdso_of(std::process::id()));
        assert!(matches!(ours.content, Content::Elf(_)));
        let again = images.get(&vdso_of(u32::MAX / 2));
        assert!(matches!(again.content, Content::Elf(_)), "the kernel's image is the same in every process");
    }

    #[test]
    fn files_without_a_build_id_are_told_apart() {
        let folder = std::env::temp_dir().join(format!("strata-images-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("image");
        let name = path.to_str().unwrap();
        let mut images = Images::default();
        let now = || inode(std::fs::metadata(&path).map_or(0, |file| file.ino()));
        let mut get = |identity| images.get(&mapping(std::process::id(), nowhere(), name, identity)).content;
        assert!(matches!(get(now()), Content::Undescribed), "no file");
        std::fs::write(&path, b"MZ managed code").unwrap();
        assert!(matches!(get(now()), Content::NoImage));
        std::fs::write(&path, b"\x7fELF and nothing of use").unwrap();
        assert!(matches!(get(now()), Content::Undescribed));
        std::fs::remove_file(&path).unwrap();
        std::fs::copy(our_mapping("libc.so").path, &path).unwrap();
        assert!(matches!(get(now()), Content::Elf(_)));
        assert!(matches!(get(inode(1)), Content::Undescribed), "another file is mapped");
        assert!(matches!(get(build_id(&[9])), Content::Undescribed));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_read_is_native_unless_its_name_says_managed() {
        assert!(matches!(unknown("/a/System.Private.CoreLib.dll (deleted)", None).content, Content::NoImage));
        assert!(matches!(unknown("/a/libcoreclr.so", None).content, Content::Undescribed));
        assert!(matches!(unknown("/a/odd.dll", Some(&[1])).content, Content::Undescribed));
    }

    #[test]
    fn images_that_are_kept_are_bounded() {
        let mut images = Images::default();
        for number in 0..3 * MAX_KNOWN {
            let image = Image { content: Content::NoImage, build_id: None };
            images.keep(Identity::BuildId(number.to_le_bytes().to_vec()), &image);
            assert!(images.known.len() <= MAX_KNOWN);
        }
    }
}
