//! Why a method has no name.

use crate::Error;

/// Why a name cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Metadata or a signature is damaged; the offset counts from the beginning of either.
    #[error(transparent)]
    Damaged(#[from] Error),
    /// The name is in the metadata of another assembly, which is not at hand, or only in another build.
    #[error("the metadata of {name} is needed")]
    NoAssembly {
        /// The assembly's simple name.
        name: String,
    },
    /// A signature names a module that the image does not have.
    #[error("no module {index}")]
    NoModule {
        /// The number that the signature has.
        index: u32,
    },
    /// A name would be longer than any compiler makes one.
    #[error("the name is too long")]
    TooLong,
}
