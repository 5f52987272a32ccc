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
