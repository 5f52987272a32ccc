//! Choices: named candidates.

/// A choice's position in the sorted list of names of one log or model. Only
/// names are stable across files; an id never leaves memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChoiceId(pub u32);

impl ChoiceId {
    /// The choice of this name among sorted names.
    pub fn find(names: &[String], name: &str) -> Option<Self> {
        let position = names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        u32::try_from(position).ok().map(Self)
    }

    /// The position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
