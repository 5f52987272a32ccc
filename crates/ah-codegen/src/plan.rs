//! A model prepared for printing: branches or tables, the features that the code reads, and the helpers that it calls.

use std::collections::{BTreeMap, BTreeSet};

use ah_types::{ChoiceId, Leaf, Model, RankedChoice, Tables, Tree, contains};

use crate::body::{Builder, Outcome, Step, feature, walk, without_unread};
use crate::code::Code;
use crate::facts::Facts;
use crate::language::Language;
use crate::names::Names;
use crate::page::about;
use crate::target::Plan;

/// More leaves become tables: compilers take minutes for thousands of branches.
const MOST_LEAVES: usize = 256;
/// Deeper branches become tables: nobody follows more levels.
const DEEPEST: usize = 12;

/// The code of a model in one language.
#[derive(Default)]
pub struct Planned {
    /// The steps of `choose`, or with tables those that decline.
    pub body: Vec<Step>,
    /// With rankings: the steps that find the ranking.
    pub leaf: Vec<Step>,
    /// The distinct rankings of leaves: choices, best first, with whether the promise allows them.
    pub rankings: Vec<Vec<(ChoiceId, bool)>>,
    pub helpers: BTreeSet<&'static str>,
    /// The logged features that the code reads.
    pub read: BTreeSet<usize>,
    /// The logged features that are truth values of the language.
    pub truths: BTreeSet<usize>,
    /// Whether some inputs have no choice.
    pub declines: bool,
    pub leaves: usize,
    pub tables: Option<TableCode>,
    /// The steps before the conditions, and by condition its code and the choices that need it.
    pub conditions: (Vec<Step>, Vec<(Code, Vec<ChoiceId>)>),
}

impl Planned {
    /// Returns whether the answer is one choice on all inputs. A model that reads its input may decline after the next training, so
    /// its signature says so from the first one on.
    pub fn is_certain(&self) -> bool {
        self.read.is_empty() && !self.declines
    }
}

impl Planned {
    /// Returns what a file says of its model: sentences behind `before`, with `between`.
    pub fn about(&self, model: &Model, before: &str, between: &str) -> String {
        let is_constant = self.tables.is_none() && self.leaves < 2;
        let lines = about(model, is_constant);
        lines.iter().map(|line| format!("{before}{line}")).collect::<Vec<_>>().join(between)
    }

    /// Returns what a caller gives.
    pub fn signature(&self, names: &Names) -> Vec<(usize, String)> {
        self.read.iter().map(|slot| (*slot, names.feature(*slot).to_owned())).collect()
    }
}

/// The tables of a model, and the code of their columns.
pub struct TableCode {
    pub tables: Tables,
    pub columns: Vec<Code>,
}

/// Returns by slot which features trees and conditions read, themselves or through derived features.
pub fn used(model: &Model) -> Vec<bool> {
    let mut used = vec![false; model.features.all().len()];
    let tests = model.tree.tests().chain(model.boosters.iter().flat_map(Tree::tests));
    tests.for_each(|test| used[test.slot()] = true);
    for condition in model.precondition.iter().chain(model.eligible.values()) {
        condition.typed.for_each_feature(&mut |slot| used[slot.index] = true);
    }
    // A derived feature uses only features before it.
    let base = model.features.base().len();
    for (i, (_, typed)) in model.features.derived().iter().enumerate().rev() {
        if used[base + i] {
            typed.for_each_feature(&mut |slot| used[slot.index] = true);
        }
    }
    used
}

impl Plan<'_> {
    /// Builds the code of a language.
    pub fn built<S: Language>(&self, syntax: &S, names: &Names) -> Planned {
        let model = self.request.model;
        let mut planned = Planned::default();
        let mut is_small = model.boosters.is_empty();
        if is_small {
            planned.body = Builder::new(model, syntax, names, &mut planned.helpers).function();
            walk(&planned.body, 0, &mut |step, around| {
                is_small &= around <= DEEPEST;
                match step {
                    Step::Return(Outcome::Decline, _) => planned.declines = true,
                    Step::Return(..) => planned.leaves += 1,
                    _ => {}
                }
            });
        }
        if !is_small || planned.leaves > MOST_LEAVES {
            planned.helpers.clear();
            self.with_tables(syntax, names, &mut planned);
        } else if self.ranked {
            let numbers;
            (planned.rankings, numbers) = distinct_rankings(model);
            let mut builder = Builder::new(model, syntax, names, &mut planned.helpers);
            builder.rankings = &numbers;
            planned.leaf = builder.function();
        }
        if self.ranked || planned.tables.is_some() {
            self.with_conditions(syntax, names, &mut planned);
        }
        self.count(syntax, names, &mut planned);
        planned
    }

    /// Lays the tables out, and prints the columns that they compare.
    fn with_tables<S: Language>(&self, syntax: &S, names: &Names, planned: &mut Planned) {
        let model = self.request.model;
        let tables = Tables::new(model);
        let mut builder = Builder::new(model, syntax, names, &mut planned.helpers);
        let mut facts = Facts::new(model, S::IS_TYPED);
        builder.precondition(&mut facts);
        let mut columns = Vec::new();
        for column in &tables.columns {
            let slot = column.slot;
            let (defined, value) = builder.feature(slot, &facts);
            let known = &model.categories[slot];
            let nan = Code::atom(syntax.float(f64::NAN));
            columns.push(match &column.categories {
                None => {
                    let range = facts.range(&feature(model, slot));
                    let value = if value.is_integer { syntax.to_float(&value) } else { value };
                    match range.nan && model.missing.contains(&slot) {
                        false => value,
                        true => {
                            let least = Code::atom(syntax.float(f64::NEG_INFINITY));
                            syntax.conditional(&syntax.is_nan(&value), &least, &value)
                        }
                    }
                }
                Some(set) => {
                    let (inside, others): (Vec<&str>, Vec<&str>) =
                        known.iter().map(String::as_str).partition(|text| contains(set, text));
                    let [inside, outside] =
                        [&inside, &others].map(|texts| builder.is_in(slot, &value, texts, &facts));
                    let [one, zero] = [1.0, 0.0].map(|x| Code::atom(syntax.float(x)));
                    let is_known =
                        facts.possible(slot).is_some_and(|all| all.iter().all(|text| known.contains(text)));
                    let rest = match (is_known, others.is_empty()) {
                        (true, _) => zero,
                        (false, true) => nan.clone(),
                        (false, false) => syntax.conditional(&outside, &zero, &nan),
                    };
                    let all = syntax.conditional(&inside, &one, &rest);
                    match defined {
                        None => all,
                        Some(defined) => syntax.conditional(&defined, &all, &nan),
                    }
                }
            });
        }
        let mut read: BTreeSet<String> = columns.iter().flat_map(|code| code.reads.iter().cloned()).collect();
        planned.body = without_unread(builder.taken(), &mut read);
        planned.leaves = model.tree.leaves().count();
        planned.tables = Some(TableCode { tables, columns });
    }

    /// Prints the conditions on choices.
    fn with_conditions<S: Language>(&self, syntax: &S, names: &Names, planned: &mut Planned) {
        let model = self.request.model;
        let mut builder = Builder::new(model, syntax, names, &mut planned.helpers);
        let facts = Facts::new(model, S::IS_TYPED);
        let mut all: Vec<(Code, Vec<ChoiceId>)> = Vec::new();
        for (choice, condition) in &model.eligible {
            let (defined, value) = builder.condition(&condition.typed, &facts);
            let code = defined.map_or(value.clone(), |defined| builder.and(&defined, &value));
            match all.iter_mut().find(|(other, _)| other.text == code.text) {
                Some((_, choices)) => choices.push(*choice),
                None => all.push((code, vec![*choice])),
            }
        }
        let mut read: BTreeSet<String> =
            all.iter().flat_map(|(code, _)| code.reads.iter().cloned()).collect();
        planned.conditions = (without_unread(builder.taken(), &mut read), all);
    }

    /// Finds the logged features that the code reads, and whether it may decline.
    fn count<S: Language>(&self, syntax: &S, names: &Names, planned: &mut Planned) {
        let model = self.request.model;
        let facts = Facts::new(model, S::IS_TYPED);
        let mut reads = BTreeSet::new();
        for steps in [&planned.body, &planned.leaf, &planned.conditions.0] {
            walk(steps, 0, &mut |step, _| match step {
                Step::Let { value: code, .. } | Step::If { condition: code, .. } => {
                    reads.extend(code.reads.iter().cloned());
                }
                Step::Return(..) => {}
            });
        }
        let columns = planned.tables.iter().flat_map(|tables| &tables.columns);
        let codes = columns.chain(planned.conditions.1.iter().map(|(code, _)| code));
        codes.for_each(|code| reads.extend(code.reads.iter().cloned()));
        for slot in 0..model.features.base().len() {
            if self.used[slot] && reads.contains(&syntax.logged(model, names, slot).text) {
                planned.read.insert(slot);
                if facts.is_truth(slot) {
                    planned.truths.insert(slot);
                }
            }
        }
        planned.declines |= planned.tables.is_some();
    }
}

/// Returns distinct rankings, and by leaf the number of its ranking. The fallback is always allowed.
fn distinct_rankings(model: &Model) -> (Vec<Vec<(ChoiceId, bool)>>, Vec<usize>) {
    let entry =
        |ranked: &RankedChoice| (ranked.choice, ranked.allowed || Some(ranked.choice) == model.fallback);
    let mut distinct: Vec<Vec<_>> = Vec::new();
    let mut numbers = BTreeMap::new();
    let mut number = |leaf: &Leaf| {
        let ranking: Vec<_> = leaf.ranking.iter().map(entry).collect();
        *numbers.entry(ranking.clone()).or_insert_with(|| {
            distinct.push(ranking);
            distinct.len() - 1
        })
    };
    let of = model.tree.leaves().map(|(_, leaf)| number(leaf)).collect();
    (distinct, of)
}
