//! Tables with typed handles.

use std::marker::PhantomData;
use std::ops::Index;

/// A row number that knows which table it belongs to.
pub trait Handle: Copy {
    /// The handle for row `index`.
    fn from_index(index: usize) -> Self;
    /// The row number.
    fn index(self) -> usize;
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize)]
        pub struct $name(u32);

        impl $crate::Handle for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("a profile table holds fewer than 2^32 rows"))
            }

            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )+};
}
pub(crate) use handles;

/// Rows in the order they were added, named by handles of one type.
#[derive(Clone, Debug)]
pub struct Table<H, T> {
    rows: Vec<T>,
    handle: PhantomData<fn() -> H>,
}

impl<H, T> Default for Table<H, T> {
    fn default() -> Self {
        Self { rows: Vec::new(), handle: PhantomData }
    }
}

impl<H: Handle, T> Table<H, T> {
    pub(crate) fn push(&mut self, row: T) -> H {
        self.rows.push(row);
        H::from_index(self.rows.len() - 1)
    }

    pub(crate) fn get_mut(&mut self, handle: H) -> &mut T {
        &mut self.rows[handle.index()]
    }

    /// All rows, in order; row `i` is the one that the handle with index `i` names.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    /// All rows with their handles, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (H, &T)> {
        self.rows.iter().enumerate().map(|(index, row)| (H::from_index(index), row))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl<H: Handle, T> Index<H> for Table<H, T> {
    type Output = T;

    fn index(&self, handle: H) -> &T {
        &self.rows[handle.index()]
    }
}
