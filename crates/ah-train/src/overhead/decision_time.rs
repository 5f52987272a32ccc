//! The time of one decision, by target and by the parts of the model that its path visits.
//!
//! The unit is a *small decision*: a call and eight comparisons on four numbers. The log has its time on the machine of
//! the log, in each language (`decision_ns`), so a line of constants holds on fast and slow machines alike. Without it,
//! [`Parts`] has ours.

use std::collections::BTreeMap;

use ah_model::{Target, Timing};

/// The features that a call passes, where the log does not say what reading them takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arguments {
    /// All features, with those of a known time.
    pub all: f64,
    /// Numbers of an unknown time.
    pub numbers: f64,
    /// Categories of an unknown time.
    pub categories: f64,
}

/// The parts of a model that one path visits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VisitedParts {
    /// Splits of the readable tree.
    pub splits: f64,
    /// Derived features that are computed; beside boosted trees all that any tree tests.
    pub derived: f64,
    /// Columns that boosted trees test, once for each block of trees whose masks are merged.
    pub columns: f64,
    /// Rows of boosted trees, each as often as it has parts of [`ah_model::LANES`] choices.
    pub rows: f64,
    /// Terms of the formula under the trees, of all choices.
    pub terms: f64,
    /// Logarithms of the formula's costs, one for each choice, which boosted trees add to.
    pub logarithms: f64,
}

/// The time of each part in small decisions.
struct Parts {
    /// The language of that decision, and its nanoseconds on the machine of these times, for logs that do not have them.
    language: &'static str,
    small_ns: f64,
    call: f64,
    /// An argument, which is passed by its name.
    argument: f64,
    /// Reading a number off an object, and a category with its text.
    number: f64,
    category: f64,
    split: f64,
    derived: f64,
    /// The call of a model with boosted trees.
    boosted: f64,
    column: f64,
    row: f64,
    /// A term of a choice, and the logarithm of its cost.
    term: f64,
    logarithm: f64,
}

/// A generated function, `if` by `if`, on varied inputs, measured on one core of a Xeon at 2.8 GHz (24 November 2026): 1.1 ns with
/// one split, 2.7 with four, 4.9 with eight, where a small decision takes 2.5 ns. Boosted trees are those of `scripts/decision_time.py`
/// (25 November 2026): softmax, mixed_mm and mm take 176, 335 and 384 ns, 24 trees of 28 columns for SpMV 307.
/// Arguments are fields of a struct. On a core of an AMD EPYC that is 1.4 times as slow, 28 November 2026, a formula for 19 choices and 8
/// leaves takes 217 ns (priced 155 without that factor), 48 boosted trees on a formula for 8 choices 706 ns (priced 501),
/// 130 of them for the logarithms.
const RUST: Parts = Parts {
    language: "rust",
    small_ns: 2.5,
    call: 0.2,
    argument: 0.0,
    number: 0.0,
    category: 0.0,
    split: 0.22,
    derived: 0.5,
    boosted: 29.0,
    column: 3.2,
    row: 0.2,
    term: 0.8,
    logarithm: 6.0,
};
/// The same with gcc, which uses narrower vectors: 362, 810, 1,077 and 440 ns.
const C: Parts = Parts { language: "c", boosted: 56.0, column: 4.6, row: 1.0, ..RUST };
/// A generated Python function, called by `choose(m=a.shape[0], …)`, and the look-up of its pick. CPython 3.11 on a Xeon (28 November 2026),
/// where a small decision takes 95 ns: `a.shape[0]` 50 ns, `a.size` 18, the kept text of a numpy `dtype` 125, a keyword 9, the look-up 14.
/// Five generated trees take 1.5 to 5.8 small decisions by position, and 5 to 25 % more by these numbers. Boosted trees take 14 to 35 µs.
const PYTHON: Parts = Parts {
    language: "python",
    // Three machines took 78, 84 and 95.
    small_ns: 84.0,
    call: 0.6,
    argument: 0.1,
    number: 0.55,
    category: 1.4,
    split: 0.2,
    derived: 0.9,
    boosted: 13.3,
    column: 1.0,
    row: 2.8,
    term: 2.0,
    logarithm: 1.0,
};
/// `ah-runtime` executes the model file. Its unit is the small decision in Rust. Boosted trees take 296, 719, 866 and 675 ns.
const MODEL_FILE: Parts =
    Parts { call: 25.0, split: 0.5, derived: 7.0, boosted: 40.0, column: 3.9, row: 0.6, term: 10.0, ..RUST };

/// The times of the parts for a target; `None` for one that asks once and keeps the answer, so that no run waits for it.
fn parts(target: Target) -> Option<&'static Parts> {
    match target.timing() {
        Timing::Rust => Some(&RUST),
        Timing::C => Some(&C),
        Timing::Python => Some(&PYTHON),
        Timing::ModelFile => Some(&MODEL_FILE),
        Timing::Once => None,
    }
}

/// The nanoseconds of a small decision in this language, by the log. C takes as long as Rust.
fn logged_ns(language: &str, logged: &BTreeMap<String, f64>) -> Option<f64> {
    let of = |language: &str| logged.get(language).copied().filter(|ns| ns.is_finite() && *ns > 0.0);
    of(language).or_else(|| of("rust").filter(|_| language == "c"))
}

/// The targets whose decisions are priced by our table, because the log lacks the time of one in their language.
pub fn by_our_table(targets: &[Target], logged: &BTreeMap<String, f64>) -> Vec<Target> {
    let is_ours =
        |target: &Target| parts(*target).is_some_and(|parts| logged_ns(parts.language, logged).is_none());
    targets.iter().copied().filter(is_ours).collect()
}

/// The milliseconds of a decision with these arguments, where the log has these times of a small one. A model of one leaf
/// without boosted trees needs no decision: a program names that choice.
pub fn milliseconds(
    target: Target,
    arguments: &Arguments,
    visited: &VisitedParts,
    logged: &BTreeMap<String, f64>,
) -> f64 {
    let Some(parts) = parts(target) else { return 0.0 };
    let VisitedParts { splits, derived, columns, rows, terms, logarithms } = visited;
    if *splits == 0.0 && *rows == 0.0 && *terms == 0.0 {
        return 0.0;
    }
    let call = if *rows > 0.0 { parts.boosted } else { parts.call };
    let small = call
        + parts.argument * arguments.all
        + parts.number * arguments.numbers
        + parts.category * arguments.categories
        + parts.split * splits
        + parts.derived * derived
        + parts.column * columns
        + parts.row * rows
        + parts.term * terms
        + parts.logarithm * logarithms;
    1e-6 * small * logged_ns(parts.language, logged).unwrap_or(parts.small_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_scale_with_the_machine_of_the_log() {
        let parts = VisitedParts { splits: 4.0, derived: 2.0, ..VisitedParts::default() };
        let ns = |target, logged: &[(&str, f64)]| {
            let logged = logged.iter().map(|(name, ns)| ((*name).to_owned(), *ns)).collect();
            1e6 * milliseconds(target, &Arguments::default(), &parts, &logged)
        };
        // Sixteen leaves: some nanoseconds in Rust, a third of a microsecond in Python.
        assert!((4.0..8.0).contains(&ns(Target::Rust, &[])), "{}", ns(Target::Rust, &[]));
        assert!((250.0..400.0).contains(&ns(Target::Python, &[])), "{}", ns(Target::Python, &[]));
        assert_eq!(ns(Target::Rust, &[("rust", 5.0)]), 2.0 * ns(Target::Rust, &[]));
        assert_eq!(ns(Target::C, &[("rust", 5.0)]), 2.0 * ns(Target::C, &[]));
        assert_eq!(ns(Target::Python, &[("rust", 4.6), ("python", 0.0)]), ns(Target::Python, &[]));
        assert_eq!(ns(Target::Triton, &[("rust", 4.6)]), 0.0);
        let logged = [("rust".to_owned(), 3.0)].into();
        assert_eq!(by_our_table(&[Target::Rust, Target::C, Target::Go, Target::Pytorch], &logged), []);
        assert_eq!(by_our_table(&[Target::Python, Target::Go], &[].into()), [Target::Python, Target::Go]);
    }

    #[test]
    fn formulas_are_priced_as_they_were_measured() {
        let ns = |parts| 1e6 * milliseconds(Target::Rust, &Arguments::default(), &parts, &BTreeMap::new());
        let leaves = VisitedParts { splits: 3.0, terms: 76.0, ..VisitedParts::default() };
        let boosted = VisitedParts {
            columns: 28.0,
            rows: 48.0,
            terms: 32.0,
            logarithms: 8.0,
            ..VisitedParts::default()
        };
        // That machine is 1.4 times as slow as the one of the table.
        for (parts, measured) in [(leaves, 217.0 / 1.4), (boosted, 706.0 / 1.4)] {
            let over = ns(parts) / measured;
            assert!((0.98..1.25).contains(&over), "{over}");
        }
    }

    #[test]
    fn a_call_in_python_pays_for_what_it_passes() {
        let parts = VisitedParts { splits: 3.0, derived: 1.0, ..VisitedParts::default() };
        let ns = |target, arguments| 1e6 * milliseconds(target, &arguments, &parts, &BTreeMap::new());
        // `choose(batch=a.shape[0], m=a.shape[1], k=a.shape[2], n=b.shape[2], dtype=a.dtype)` takes 0.56 to 0.6 µs.
        let shapes = Arguments { all: 5.0, numbers: 4.0, categories: 1.0 };
        assert!((500.0..650.0).contains(&ns(Target::Python, shapes)), "{}", ns(Target::Python, shapes));
        // Numbers that a program has, and the log says so.
        let known = Arguments { all: 4.0, ..Arguments::default() };
        assert!((200.0..300.0).contains(&ns(Target::Python, known)), "{}", ns(Target::Python, known));
        assert_eq!(ns(Target::Rust, shapes), ns(Target::Rust, Arguments::default()));
    }
}
