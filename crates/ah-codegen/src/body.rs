//! The body of a function that decides: a tree as conditions with early returns.
//!
//! A feature is computed where a path first needs it. A split that the path has decided is not printed, and neither is one whose
//! sides do the same. What remains declines exactly where the model declines.

use ah_model::math::{exp, ln};
use std::collections::{BTreeSet, HashMap};

use ah_model::expr::{Binary, Comparison, Expr, Slot, Type};
use ah_model::{Leaf, Model, Node, RankedChoice};

use crate::code::Code;
use crate::facts::Facts;
use crate::language::{Language, Outcome};
use crate::names::Names;

/// What training saw on the paths that end here.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    /// The training inputs.
    inputs: u64,
    /// Those for which the figures are.
    pub timed: u64,
    /// The sum over `timed`.
    log_slowdown: f64,
    worst: f64,
}

impl Evidence {
    /// The evidence for a choice, and the number of a leaf's inputs that it is from. The leaf's figures are those of all its inputs.
    fn new(leaf: &Leaf, ranked: &RankedChoice, inputs: u64) -> Self {
        if inputs != leaf.samples {
            return Self { inputs, timed: 0, log_slowdown: 0.0, worst: 1.0 };
        }
        let log_slowdown = ln(ranked.slowdown) * inputs as f64;
        Self { inputs, timed: inputs, log_slowdown, worst: ranked.worst }
    }

    fn pooled(self, other: Self) -> Self {
        Self {
            inputs: self.inputs + other.inputs,
            timed: self.timed + other.timed,
            log_slowdown: self.log_slowdown + other.log_slowdown,
            worst: self.worst.max(other.worst),
        }
    }

    /// The statement in words; the first of a file says what the numbers are. `untested` is what the promise does without an input.
    pub fn words(self, is_first: bool, untested: &str) -> String {
        if self.inputs == 0 {
            return format!("no training input here{untested}");
        }
        let [inputs, of_best, at_worst] =
            if is_first { [" inputs", " of the best time", "at worst "] } else { [""; 3] };
        let mut text = format!("{}{inputs}", self.inputs);
        let slowdown = exp(self.log_slowdown / self.timed as f64);
        if slowdown.is_finite() {
            text += &format!(", {slowdown:.3}{of_best}");
            if self.worst.is_finite() {
                text += &format!(", {at_worst}{:.3}", self.worst);
            }
        }
        text
    }
}

/// A part of a body.
#[derive(Clone, Debug)]
pub enum Step {
    /// A variable gets a value; `slot` is the feature that it holds.
    Let {
        name: String,
        slot: Option<usize>,
        ty: Type,
        value: Code,
    },
    /// The steps inside always return.
    If {
        condition: Code,
        then: Vec<Step>,
    },
    Return(Outcome, Option<Evidence>),
}

/// True for steps that do the same, whatever training saw on their paths.
fn do_the_same(some: &[Step], others: &[Step]) -> bool {
    let is_same = |pair: (&Step, &Step)| match pair {
        (Step::Return(a, _), Step::Return(b, _)) => a == b,
        (Step::If { condition, then }, Step::If { condition: other, then: steps }) => {
            condition == other && do_the_same(then, steps)
        }
        (Step::Let { name, value, .. }, Step::Let { name: other, value: same, .. }) => {
            name == other && value == same
        }
        _ => false,
    };
    some.len() == others.len() && some.iter().zip(others).all(is_same)
}

/// The steps of one function.
#[derive(Default)]
pub struct Body {
    pub steps: Vec<Step>,
    /// The variables of logged features that they read, and with `()` the helpers that they call.
    pub reads: BTreeSet<String>,
}

impl Body {
    /// Whether they read a feature of the input.
    pub fn reads_input(&self) -> bool {
        self.reads.iter().any(|name| !name.ends_with("()"))
    }
}

/// Builds the body of one function.
pub struct BodyBuilder<'a, 'm> {
    pub model: &'m Model,
    pub syntax: &'a Language,
    pub names: &'a Names,
    /// By leaf the number of its ranking, if paths end in rankings instead of choices.
    rankings: &'a [usize],
    pub known: Known,
    pub steps: Vec<Step>,
}

/// The variables of a path.
#[derive(Clone, Default)]
pub struct Known {
    /// Features, and numbers that are read twice.
    pub parts: HashMap<Expr, Code>,
    /// The number of variables for parts of expressions.
    count: usize,
}

impl BodyBuilder<'_, '_> {
    /// The value of a feature.
    pub fn feature(&mut self, slot: usize, facts: &Facts<'_>) -> Code {
        let expr = feature(self.model, slot);
        if let Some(known) = self.known.parts.get(&expr) {
            return known.clone();
        }
        let name = self.names.feature(slot);
        let facts = facts.outside();
        let value = match facts.derived(slot) {
            Some(derived) => {
                let value = self.value(derived, facts);
                // `k % 2 == 0` needs no name.
                let is_short = derived.ty() == Type::Bool && value.text.len() <= SHORT;
                let value = if is_short { value } else { self.assign(name, Some(slot), derived.ty(), value) };
                self.known.parts.insert(derived.clone(), value.clone());
                value
            }
            None => {
                let given = self.syntax.logged(self.model, self.names, slot);
                let converted = (self.syntax.converted)(self.model, slot, &given);
                converted.map_or(given, |value| self.assign(name, Some(slot), expr.ty(), value))
            }
        };
        self.known.parts.insert(expr, value.clone());
        value
    }

    /// The slot of the derived feature that computes exactly this, if code may name it.
    pub fn derived_slot(&self, expr: &Expr) -> Option<usize> {
        let is_operation = !matches!(expr, Expr::Feature(_) | Expr::Number(_));
        let at =
            self.model.features.derived().iter().position(|(_, derived)| is_operation && derived == expr)?;
        let slot = self.model.features.base().len() + at;
        (!self.names.feature(slot).is_empty()).then_some(slot)
    }

    /// Gives a part of an expression a variable, and returns it.
    pub fn hoist(&mut self, ty: Type, value: Code) -> Code {
        self.known.count += 1;
        self.assign(&format!("part_{}", self.known.count), None, ty, value)
    }
}

/// A feature as an expression.
pub fn feature(model: &Model, slot: usize) -> Expr {
    Expr::Feature(Slot { index: slot, kind: model.features.all().features()[slot].kind })
}

/// The condition that a category is one of these.
pub fn is_in(model: &Model, slot: usize, texts: &[&String]) -> Expr {
    let same = |text: &&String| Expr::binary(Binary::Same, feature(model, slot), Expr::Text((*text).clone()));
    texts.iter().map(same).reduce(|a, b| Expr::binary(Binary::Or, a, b)).unwrap_or(Expr::Bool(false))
}

impl<'a, 'm> BodyBuilder<'a, 'm> {
    pub fn new(model: &'m Model, syntax: &'a Language, names: &'a Names) -> Self {
        Self { model, syntax, names, rankings: &[], known: Known::default(), steps: Vec::new() }
    }

    /// Gives a variable a value, and returns it.
    pub fn assign(&mut self, name: &str, slot: Option<usize>, ty: Type, value: Code) -> Code {
        let variable =
            Code { is_product: value.is_product, is_integer: value.is_integer, ..Code::variable(name) };
        self.steps.push(Step::Let { name: name.to_owned(), slot, ty, value });
        variable
    }

    /// The whole function. Its paths end in choices, or with `rankings` in the numbers that leaves have there.
    pub fn function(mut self, rankings: &'a [usize]) -> Body {
        self.rankings = rankings;
        if let Some(facts) = self.inside_precondition() {
            self.node(0, &facts);
        }
        self.taken(BTreeSet::new())
    }

    /// Declines unless the condition holds. Returns false if it never holds.
    fn decline_unless(&mut self, condition: &Code) -> bool {
        let decline = Step::Return(Outcome::Decline, None);
        match self.syntax.literal(condition) {
            Some(true) => {}
            Some(false) => self.steps.push(decline),
            None => self.steps.push(Step::If { condition: self.syntax.not(condition), then: vec![decline] }),
        }
        self.syntax.literal(condition) != Some(false)
    }

    /// Declines where the precondition does not hold. Returns what holds behind it; `None` if it never holds.
    pub fn inside_precondition(&mut self) -> Option<Facts<'m>> {
        let mut facts = Facts::new(self.model, self.syntax.is_typed);
        let condition = self.model.precondition.as_ref();
        condition.is_none_or(|condition| self.require(&condition.typed, &mut facts)).then_some(facts)
    }

    fn require(&mut self, condition: &Expr, facts: &mut Facts<'_>) -> bool {
        if let Expr::Binary(Binary::And, a, b) = condition {
            return self.require(a, facts) && self.require(b, facts);
        }
        let truth = facts.range(condition);
        if truth.decided() == Some(true) {
            return true;
        }
        let runs = if truth.has(1.0) { self.runs(condition, facts) } else { self.syntax.truth(false) };
        facts.learn(condition, true);
        self.decline_unless(&runs)
    }

    /// Adds the steps of a node below what is known.
    fn node(&mut self, at: usize, facts: &Facts<'_>) {
        let (test, children) = match &self.model.tree.nodes[at] {
            Node::Leaf(_) if !self.rankings.is_empty() => {
                let leaf = self.model.tree.leaves().position(|(index, _)| index == at).expect("a leaf");
                return self.steps.push(Step::Return(Outcome::Ranking(self.rankings[leaf]), None));
            }
            Node::Leaf(leaf) => return self.leaf(leaf, facts),
            Node::Split { test, right } => (test, [at + 1, *right as usize]),
        };
        let slot = test.column.slot;
        let Some(categories) = &test.column.categories else {
            let above = Binary::Compare(Comparison::Gt);
            let above = Expr::binary(above, feature(self.model, slot), Expr::Number(test.threshold));
            return self.split(&above, self.model.missing.contains(&slot), facts, |this, is_above, facts| {
                this.node(children[usize::from(is_above)], facts);
            });
        };
        let possible = facts.possible(slot);
        let mut facts = facts.clone();
        let known: Vec<&String> =
            possible.iter().flatten().filter(|text| self.model.knows(slot, text)).collect();
        let is_safe = known.len() == possible.len() && !facts.range(&feature(self.model, slot)).nan;
        if !is_safe && !self.require(&is_in(self.model, slot, &known), &mut facts) {
            return;
        }
        let (inside, outside): (Vec<&String>, _) =
            known.into_iter().partition(|text| categories.contains(text));
        let is_short = inside.len() <= outside.len();
        let test = is_in(self.model, slot, if is_short { &inside } else { &outside });
        self.split(&test, false, &facts, |this, is_named, facts| {
            this.node(children[usize::from(is_named == is_short)], facts);
        });
    }

    /// Adds the steps of both sides of a test. Where it is undefined, it is false or the path declines.
    fn split(
        &mut self,
        test: &Expr,
        undefined_is_false: bool,
        facts: &Facts<'_>,
        side: impl Fn(&mut Self, bool, &Facts<'_>),
    ) {
        let mut facts = facts.clone();
        if facts.range(test).nan && !undefined_is_false {
            let [_, defined] = self.truth(test, &facts);
            if !self.decline_unless(&defined) {
                return;
            }
            facts.learn_range(test, 0.0, 1.0, false);
        }
        let truth = facts.range(test);
        if truth.low == truth.high && !(truth.nan && truth.low == 1.0) {
            return side(self, truth.low == 1.0, &facts);
        }
        let code = self.runs(test, &facts);
        let mut no = facts.clone();
        let mut yes = facts;
        no.learn_range(test, 0.0, 0.0, true);
        yes.learn(test, true);
        match self.syntax.literal(&code) {
            Some(true) => return side(self, true, &yes),
            Some(false) => return side(self, false, &no),
            None => {}
        }
        let [left, right] =
            [(false, no), (true, yes)].map(|(value, facts)| self.apart(|this| side(this, value, &facts)));
        self.steps.extend(joined([self.syntax.not(&code), code], left, right));
    }

    /// The steps that `add` adds, without a trace of their variables.
    fn apart(&mut self, add: impl FnOnce(&mut Self)) -> Vec<Step> {
        let known = self.known.clone();
        let before = std::mem::take(&mut self.steps);
        add(self);
        self.known = known;
        std::mem::replace(&mut self.steps, before)
    }

    /// Adds the steps of a leaf: a condition for each choice that may not run here, as far as it changes the pick.
    fn leaf(&mut self, leaf: &Leaf, facts: &Facts<'_>) {
        let model = self.model;
        let mut asked = None;
        let mut lacking = BTreeSet::new();
        let picked = leaf.choose(model.fallback, |choice| {
            let Some(condition) = model.eligible.get(&choice).map(|condition| &condition.typed) else {
                return true;
            };
            let truth = facts.range(condition);
            let is_true = truth.decided() == Some(true);
            if !is_true && truth.has(1.0) && !facts.rules_out(condition) {
                asked.get_or_insert(condition);
            } else if !is_true {
                lacking.insert(choice);
            }
            is_true
        });
        if let Some(condition) = asked {
            return self.split(condition, true, facts, |this, _, facts| this.leaf(leaf, facts));
        }
        let inputs = leaf.inputs_without(|choice| lacking.contains(&choice));
        let evidence = picked.map(|ranked| Evidence::new(leaf, ranked, inputs));
        let outcome = picked.map_or(Outcome::Decline, |ranked| Outcome::Choice(ranked.choice));
        self.steps.push(Step::Return(outcome, evidence));
    }

    /// The condition that a condition is defined and holds.
    pub fn runs(&mut self, condition: &Expr, facts: &Facts<'_>) -> Code {
        let [value, defined] = self.truth(condition, facts);
        let both = self.and(&defined, &value);
        match condition {
            // False where an operand is NaN.
            Expr::Binary(Binary::Compare(op), ..) if *op != Comparison::Ne && value.opposite.is_some() => {
                Code { opposite: both.opposite, ..value }
            }
            _ => both,
        }
    }

    /// Takes the steps, without variables that neither later steps nor the code after them reads: `reads` is what that code reads.
    pub fn taken(&mut self, mut reads: BTreeSet<String>) -> Body {
        let steps = std::mem::take(&mut self.steps);
        Body { steps: self.tidied(steps, &mut reads), reads }
    }

    /// Leaves out variables that no later step reads (`read` has those that one does), and joins neighbouring conditions with one
    /// result.
    fn tidied(&self, steps: Vec<Step>, read: &mut BTreeSet<String>) -> Vec<Step> {
        let mut needed: Vec<Step> = Vec::with_capacity(steps.len());
        for step in steps.into_iter().rev() {
            match step {
                Step::Let { ref name, ref value, .. } => {
                    if read.remove(name) {
                        read.extend(value.reads.iter().cloned());
                        needed.push(step);
                    }
                }
                Step::If { condition, then } => {
                    let mut inside = BTreeSet::new();
                    let then = self.tidied(then, &mut inside);
                    read.extend(inside.into_iter().chain(condition.reads.iter().cloned()));
                    needed.push(Step::If { condition, then });
                }
                other => needed.push(other),
            }
        }
        let mut kept: Vec<Step> = Vec::with_capacity(needed.len());
        for step in needed.into_iter().rev() {
            if let Step::If { condition: next, then } = &step
                && matches!(then[..], [Step::Return(..)])
                && let Some(Step::If { condition, then: other }) = kept.last_mut()
                && do_the_same(then, other)
                && self.read_better_joined(condition, next)
            {
                *condition = self.or(condition, next);
                *other = pooled(std::mem::take(other), then.clone());
                continue;
            }
            kept.push(step);
        }
        kept
    }

    /// False for two conditions that read better apart: wide ones, and two limits of one number.
    fn read_better_joined(&self, a: &Code, b: &Code) -> bool {
        let [first, second] = [a, b].map(|code| code.text.split(' ').next());
        let as_one_character = a.text.replace(&format!(" {} ", self.syntax.or), "|");
        first != second && as_one_character.len() + b.text.len() < JOINED
    }
}

/// The widest condition that stands where it is tested instead of in a variable.
const SHORT: usize = 40;

/// The widest condition that several are joined to, where an `or` counts as one character.
const JOINED: usize = 76;

/// Joins the steps of both sides of a condition. Each ends with a return, so only the shorter one is inside of an `if`.
fn joined(conditions: [Code; 2], left: Vec<Step>, right: Vec<Step>) -> Vec<Step> {
    if do_the_same(&left, &right) {
        return pooled(left, right);
    }
    let size = |steps: &[Step]| {
        let mut count = 0;
        walk(steps, 0, &mut |_, _| count += 1);
        count
    };
    let [at_left, at_right] = conditions;
    let (condition, then, rest) =
        if size(&left) <= size(&right) { (at_left, left, right) } else { (at_right, right, left) };
    let mut steps = vec![Step::If { condition, then }];
    steps.extend(rest);
    steps
}

/// Equal steps as one, with the evidence of both.
fn pooled(steps: Vec<Step>, others: Vec<Step>) -> Vec<Step> {
    let pool = |pair| match pair {
        (Step::Return(outcome, Some(a)), Step::Return(_, Some(b))) => {
            Step::Return(outcome, Some(a.pooled(b)))
        }
        (Step::If { condition, then }, Step::If { then: other, .. }) => {
            Step::If { condition, then: pooled(then, other) }
        }
        (step, _) => step,
    };
    steps.into_iter().zip(others).map(pool).collect()
}

/// Calls `visit` with every step, and with the number of conditions around it.
pub fn walk<'s>(steps: &'s [Step], around: usize, visit: &mut impl FnMut(&'s Step, usize)) {
    for step in steps {
        visit(step, around);
        if let Step::If { then, .. } = step {
            walk(then, around + 1, visit);
        }
    }
}
