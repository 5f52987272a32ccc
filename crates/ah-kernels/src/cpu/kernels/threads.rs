//! One thread, or all of them.

/// The number of threads that a choice uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threads {
    /// The calling one.
    One,
    /// All of the current rayon pool.
    All,
}

impl Threads {
    /// Returns the number's part of a choice's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::All => "all",
        }
    }
}
