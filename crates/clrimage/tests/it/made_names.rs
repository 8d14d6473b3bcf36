//! Names from metadata and signatures that were put together: forms that the images of runtimes do not have.
