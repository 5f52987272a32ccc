//! A model prepared for printing: branches or tables, the features that the code reads, and the helpers that it calls.

use std::collections::BTreeSet;
use std::fmt::Display;

use ah_decide::LEAF;
use ah_model::expr::Expr;
use ah_model::{ChoiceId, Column, Leaf, Model, Tables, contains};

use crate::body::{Body, BodyBuilder, Step, feature, is_in, walk};
use crate::code::Code;
use crate::costs::CostCode;
use crate::facts::Facts;
use crate::language::{Language, Outcome};
use crate::names::Names;
use crate::page::wrapped;
use crate::target::Request;

/// More leaves become tables: compilers take minutes for thousands of branches.
const MOST_LEAVES: usize = 256;
/// Deeper branches become tables: nobody follows more levels.
const DEEPEST: usize = 12;

/// The caller gives a feature that the code does not read, so that the next training does not change the call, unless computing it takes
/// this many milliseconds: ten times a field of a struct that is written and not read.
pub const PRICE_MS: f64 = 1e-5;

/// The choices of a leaf, best first, with whether the promise allows them.
pub type Ranking = Vec<(ChoiceId, bool)>;

/// The code of a model in one language.
#[derive(Default)]
pub struct Planned {
    /// `choose`, or with tables the steps that decline and those of the columns.
    pub body: Body,
    /// With rankings or factors: the function that finds their number.
    pub leaf: Body,
    /// The distinct rankings of leaves.
    pub rankings: Vec<Ranking>,
    /// The logged features that the code reads.
    pub read: BTreeSet<usize>,
    /// The logged features that the caller gives.
    pub given: BTreeSet<usize>,
    /// Whether it takes one choice at most.
    pub is_constant: bool,
    pub tables: Option<TableCode>,
    /// The distinct factors of leaves, one for each choice, where a loop over a cost formula decides: infinite for a choice that is not
    /// taken there.
    pub factors: Vec<Vec<f64>>,
    /// The cost formula.
    pub costs: Option<CostCode>,
    /// The steps before the conditions on choices.
    pub before_conditions: Body,
    /// The conditions on choices.
    pub conditions: Vec<Condition>,
}

/// A condition on choices.
pub struct Condition {
    pub code: Code,
    /// The choices that need it.
    pub choices: Vec<ChoiceId>,
}

impl Planned {
    /// The arguments of the caller.
    pub fn signature(&self, names: &Names) -> Vec<(usize, String)> {
        self.given.iter().map(|slot| (*slot, names.feature(*slot).to_owned())).collect()
    }

    /// Whether the file reads the library of mathematics, where these helpers of it do.
    pub fn needs_math(&self, helpers: &[&str]) -> bool {
        let has_infinity = |code: &TableCode| code.tables.nodes.iter().any(|node| !node.1.is_finite());
        let is_called = |name: &&str| *name == "math" || helpers.contains(name);
        self.helpers().iter().any(is_called)
            || self.is_boosted()
            || self.tables.as_ref().is_some_and(has_infinity)
    }

    /// Whether the file adds up trees.
    pub fn is_boosted(&self) -> bool {
        self.tables.as_ref().is_some_and(|code| !code.tables.boosters.first_rows.is_empty())
    }

    /// Whether the loop over a cost formula reads a feature of the input.
    pub fn loop_reads_input(&self) -> bool {
        let costs_read = self.costs.as_ref().is_some_and(CostCode::reads_input);
        costs_read || self.leaf.reads_input() || self.before_conditions.reads_input()
    }

    /// The variables of logged features that the code reads, and its helpers with `()`.
    fn reads(&self) -> BTreeSet<&str> {
        let of_costs = self.costs.iter().flat_map(CostCode::bodies);
        let bodies = [&self.body, &self.leaf, &self.before_conditions].into_iter().chain(of_costs);
        bodies.flat_map(|body| &body.reads).map(String::as_str).collect()
    }

    /// The helpers that the code calls.
    pub fn helpers(&self) -> Vec<&str> {
        self.reads().into_iter().filter_map(|name| name.strip_suffix("()")).collect()
    }
}

/// The tables of a model, and the code of their columns.
pub struct TableCode {
    pub tables: Tables,
    columns: Vec<Code>,
}

impl Request<'_> {
    /// Builds the code of a language. A person writes the call (`gives_all`), or the target finds the features that the code reads.
    pub(crate) fn built(&self, syntax: &Language, names: &Names, gives_all: bool) -> Planned {
        let model = self.model;
        let builder = || BodyBuilder::new(model, syntax, names);
        let always_declines = builder().inside_precondition().is_none();
        let is_on_formula = model.costs.is_some() && !always_declines;
        let mut is_small = always_declines || model.boosters.is_empty() && !is_on_formula;
        let mut planned = Planned::default();
        if is_small {
            planned.body = builder().function(&[]);
            let mut leaves = 0;
            walk(&planned.body.steps, 0, &mut |step, around| {
                is_small &= around <= DEEPEST;
                let is_choice = matches!(step, Step::Return(outcome, _) if *outcome != Outcome::Decline);
                leaves += usize::from(is_choice);
            });
            is_small &= leaves <= MOST_LEAVES;
            planned.is_constant = is_small && leaves < 2;
        }
        // A program that asks for rankings, and a condition on the fallback, which always runs, need tables.
        let has_condition = model.fallback.is_some_and(|fallback| model.eligible.contains_key(&fallback));
        let has_factors = is_on_formula && model.boosters.is_empty() && !self.ranked && !has_condition;
        if has_factors {
            let tables = Tables::new(model);
            planned.factors = factors(&tables, model.choices.len());
            planned.leaf = builder().function(&tables.numbers);
        } else if !is_small {
            let mut builder = builder();
            let facts = builder.inside_precondition().expect("code that always declines is small");
            let tables = Tables::new(model);
            let columns: Vec<Code> =
                tables.columns.iter().map(|column| builder.column(column, &facts)).collect();
            planned.body = builder.taken(columns.iter().flat_map(|code| code.reads.clone()).collect());
            planned.tables = Some(TableCode { tables, columns });
        } else if self.ranked {
            let numbers;
            (planned.rankings, numbers) = distinct_rankings(model);
            planned.leaf = builder().function(&numbers);
        }
        if is_on_formula {
            planned.costs = CostCode::new(model, syntax, names);
        }
        if self.ranked || planned.tables.is_some() || has_factors {
            (planned.before_conditions, planned.conditions) = conditions(builder());
        }
        let reads = planned.reads();
        let is_read = |slot: &usize| reads.contains(&*syntax.logged(model, names, *slot).text);
        let logged = 0..model.features.base().len();
        let read: BTreeSet<usize> = logged.clone().filter(is_read).collect();
        let ms = &model.purpose.feature_ms;
        let features = model.features.base().features();
        let has_price = |slot: &usize| ms.get(&features[*slot].name).is_some_and(|ms| *ms >= PRICE_MS);
        planned.given = logged.filter(|slot| read.contains(slot) || gives_all && !has_price(slot)).collect();
        planned.read = read;
        planned
    }
}

/// By leaf and choice, the factors of a tree on a formula.
fn factors(tables: &Tables, choices: usize) -> Vec<Vec<f64>> {
    let mut start = 0;
    let of_leaf = |end: &usize| {
        let mut factors = vec![f64::INFINITY; choices];
        for ranked in tables.rankings[start..*end].iter().filter(|ranked| ranked.expected) {
            factors[ranked.choice as usize] = ranked.score;
        }
        start = *end;
        factors
    };
    tables.ends.iter().map(of_leaf).collect()
}

/// The conditions on choices, and the steps before them.
fn conditions(mut builder: BodyBuilder<'_, '_>) -> (Body, Vec<Condition>) {
    let facts = Facts::new(builder.model, builder.syntax.is_typed);
    let mut all: Vec<Condition> = Vec::new();
    for (choice, condition) in &builder.model.eligible {
        let code = builder.runs(&condition.typed, &facts);
        match all.iter_mut().find(|other| other.code == code) {
            Some(other) => other.choices.push(*choice),
            None => all.push(Condition { code, choices: vec![*choice] }),
        }
    }
    (builder.taken(all.iter().flat_map(|condition| condition.code.reads.clone()).collect()), all)
}

impl BodyBuilder<'_, '_> {
    /// The value of a column of tables.
    fn column(&mut self, column: &Column, facts: &Facts<'_>) -> Code {
        let slot = column.slot;
        let Some(set) = &column.categories else {
            let value = self.feature(slot, facts);
            let value = self.float(value);
            if !facts.range(&feature(self.model, slot)).nan || !self.model.missing.contains(&slot) {
                return value;
            }
            let least = Code::atom(self.syntax.float(f64::NEG_INFINITY));
            return self.syntax.conditional.with(&[&self.syntax.is_nan(&value), &least, &value]);
        };
        // 1 in the set, and 0 outside of it.
        let (inside, others): (Vec<&String>, Vec<&String>) =
            self.model.categories[slot].iter().partition(|text| contains(set, text));
        let [inside, others] = [inside, others].map(|texts| is_in(self.model, slot, &texts));
        let [one, zero, nan] = [1.0, 0.0, f64::NAN].map(|x| Box::new(Expr::Number(x)));
        let others = Expr::If(Box::new(others), zero, nan);
        self.number(&Expr::If(Box::new(inside), one, Box::new(others)), facts)
    }
}

/// Distinct rankings, and by leaf the number of its ranking. The fallback is always allowed.
fn distinct_rankings(model: &Model) -> (Vec<Ranking>, Vec<usize>) {
    let mut distinct: Vec<Ranking> = Vec::new();
    let number = |leaf: &Leaf| {
        let ranking = leaf.ranking.iter().map(|r| (r.choice, r.ranked(model.fallback).allowed)).collect();
        distinct.iter().position(|other| *other == ranking).unwrap_or_else(|| {
            distinct.push(ranking);
            distinct.len() - 1
        })
    };
    let numbers = model.tree.leaves().map(|(_, leaf)| leaf).map(number).collect();
    (distinct, numbers)
}

impl TableCode {
    /// Inserts the tables as rows of a language.
    pub fn insert(&self, syntax: &Language, values: &mut tera::Context) {
        let tables = &self.tables;
        let boosters = &self.tables.boosters;
        let [node, ranked, split, pair, end] = syntax.rows;
        let row = |start: &str, fields: &[&dyn Display]| {
            let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
            format!("{start}{}{end}", fields.join(", "))
        };
        let float = |x: f64| syntax.float(x);
        let truth = |value: bool| syntax.truth(value).text;
        let node = |n: &ah_decide::Node| match n.0 {
            // Its ranking in the place of its number.
            LEAF => row(node, &[&syntax.leaf, &float(n.1), &tables.numbers[n.2 as usize]]),
            column => row(node, &[&column, &float(n.1), &n.2]),
        };
        let entry = |r: &ah_decide::Ranked| {
            row(ranked, &[&r.choice, &float(r.score), &truth(r.allowed), &truth(r.expected)])
        };
        let split = |s: &ah_decide::Split| row(split, &[&s.0, &s.1, &s.2, &s.3]);
        let column = |column: &(u16, u16)| row(pair, &[&column.0, &column.1]);
        let mut insert = |key: &str, rows: Vec<String>| {
            values.insert(format!("{key}_count"), &rows.len());
            values.insert(key, &wrapped(rows, "    "));
        };
        let masks = boosters.borrow().masks;
        insert("nodes", tables.nodes.iter().map(node).collect());
        insert("ends", tables.ends.iter().map(ToString::to_string).collect());
        insert("entries", tables.rankings.iter().map(entry).collect());
        insert("boosted_columns", boosters.columns.iter().map(column).collect());
        insert("thresholds", boosters.thresholds.iter().map(|x| syntax.float(*x)).collect());
        insert("splits", boosters.splits.iter().map(split).collect());
        insert("masks", masks.iter().flat_map(|m| m.0).map(|mask| format!("0x{mask:x}")).collect());
        insert("first_rows", boosters.first_rows.iter().map(ToString::to_string).collect());
        insert("rows", boosters.rows.iter().map(|row| (syntax.lanes)(&row.0)).collect());
        values.insert("columns", &self.columns.iter().map(|code| &code.text).collect::<Vec<_>>());
        values.insert("lanes", &ah_decide::LANES);
        values.insert("mask_rows", &masks.len());
        values.insert("blocks", &boosters.borrow().thresholds.len());
        values.insert("block", &ah_decide::BLOCK);
        values.insert("unit", &syntax.float(tables.rule.unit));
        values.insert("margin", &tables.rule.margin.map(|margin| syntax.float(margin)));
        values.insert("rule", &format!("{:?}", tables.rule));
    }
}
