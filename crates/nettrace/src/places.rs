//! From the ids that a stream gives its definitions to their places in a list.

use std::collections::HashMap;

/// Finds the place of a definition by its id.
#[derive(Default)]
pub(crate) struct Places {
    /// Place + 1 by id, for the small ids that writers give.
    near: Vec<u32>,
    /// Place by id for the others: no stream can make `near` larger than its own definitions justify.
    far: HashMap<u64, u32>,
}

impl Places {
    #[inline]
    pub(crate) fn get(&self, id: u64) -> Option<u32> {
        match usize::try_from(id).ok().and_then(|id| self.near.get(id)) {
            Some(place) if *place > 0 => Some(place.wrapping_sub(1)),
            _ => self.far.get(&id).copied(),
        }
    }

    /// Says where the definition with this id is.
    pub(crate) fn set(&mut self, id: u64, place: u32) {
        let near_limit = u64::from(place).saturating_mul(4).saturating_add(64);
        let Some(near) = usize::try_from(id).ok().filter(|near| *near < self.near.len() || id < near_limit) else {
            self.far.insert(id, place);
            return;
        };
        if self.near.len() <= near {
            self.near.resize(near.saturating_add(1), 0);
        }
        if let Some(slot) = self.near.get_mut(near) {
            *slot = place.saturating_add(1);
        }
    }

    pub(crate) fn remove(&mut self, id: u64) {
        if let Some(slot) = usize::try_from(id).ok().and_then(|id| self.near.get_mut(id)) {
            *slot = 0;
        }
        self.far.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_near_and_far() {
        let ids = [0, 1, 63, 64, 70, 100, 1 << 31, u64::MAX];
        let mut places = Places::default();
        for (id, place) in ids.iter().zip(0..) {
            assert_eq!(places.get(*id), None);
            places.set(*id, place);
        }
        assert!(ids.iter().zip(0..).all(|(id, place)| places.get(*id) == Some(place)));
        assert!(places.near.len() <= 128, "an id costs no memory for the ids below it");
        // What moves nearer is found where it went, and what was removed is not found where it was before.
        places.set(100, 0);
        assert_eq!(places.get(100), Some(0));
        places.set(95, 20);
        places.set(100, 21);
        assert_eq!((places.get(95), places.get(100)), (Some(20), Some(21)));
        for id in ids {
            places.remove(id);
            assert_eq!(places.get(id), None);
        }
    }
}
