//! Numbers for the categories of a model.

use ah_types::Model;
use rustc_hash::FxHashMap;

/// The id of every category that the model does not name.
pub(super) const UNNAMED: f64 = -1.0;

/// Ids of all categories that the model [names](Model::names).
#[derive(Debug)]
pub(super) struct Categories(FxHashMap<Box<str>, u32>);

impl Categories {
    pub(super) fn of(model: &Model) -> Self {
        let mut ids = FxHashMap::default();
        // Truth values come first, so their ids are 0 and 1.
        model.for_each_name(&mut |name| {
            if let Ok(next) = u32::try_from(ids.len()) {
                ids.entry(Box::from(name)).or_insert(next);
            }
        });
        Self(ids)
    }

    #[inline]
    pub(super) fn id(&self, name: &str) -> f64 {
        self.0.get(name).map_or(UNNAMED, |id| f64::from(*id))
    }
}

/// The categories of a test, beside all those of the feature that training saw.
#[derive(Debug)]
pub(super) struct CategorySet {
    /// The ids of the set.
    members: Box<[f64]>,
    /// The ids of the other known ones.
    others: Box<[f64]>,
}

impl CategorySet {
    /// Returns the set of these categories of the feature in this slot.
    pub(super) fn new(model: &Model, ids: &Categories, slot: usize, set: &[String]) -> Self {
        let others = model.categories[slot].iter().filter(|category| !set.contains(category));
        Self {
            members: set.iter().map(|category| ids.id(category)).collect(),
            others: others.map(|category| ids.id(category)).collect(),
        }
    }

    /// Returns true if the set is `True`, and training saw `False` too: a truth value is then whether it is in the set.
    pub(super) fn is_truth(&self) -> bool {
        *self.members == [1.0] && *self.others == [0.0]
    }

    /// Returns whether a category is in the set; `None` if it is undefined or training never saw it.
    #[inline]
    pub(super) fn contains(&self, category: f64) -> Option<bool> {
        let is_member = self.members.contains(&category);
        (is_member || self.others.contains(&category)).then_some(is_member)
    }
}
