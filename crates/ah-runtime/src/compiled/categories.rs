//! The categories of a model as numbers.

use ah_types::Model;
use rustc_hash::FxHashMap;

/// The id of every category that the model does not name.
pub(super) const UNNAMED: f64 = -1.0;

/// The ids of all categories that the model [names](Model::names).
#[derive(Debug)]
pub(super) struct Categories(FxHashMap<Box<str>, u32>);

impl Categories {
    pub(super) fn of(model: &Model) -> Self {
        let mut ids = FxHashMap::default();
        let mut add = |name: &str| {
            if let Ok(next) = u32::try_from(ids.len()) {
                ids.entry(Box::from(name)).or_insert(next);
            }
        };
        // The ids of truth values are 0 and 1.
        ["False", "True"].into_iter().for_each(&mut add);
        model.categories.iter().flatten().for_each(|name| add(name));
        let derived = model.features.derived().iter().map(|(_, typed)| typed.expr());
        let expressions = derived.chain(model.precondition.iter().map(|p| p.typed.expr()));
        expressions.for_each(|expr| expr.for_each_text(&mut add));
        Self(ids)
    }

    #[inline]
    pub(super) fn id(&self, name: &str) -> f64 {
        self.0.get(name).map_or(UNNAMED, |id| f64::from(*id))
    }
}
