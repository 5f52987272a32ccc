//! Compiles a model: turns its expressions and its tree into steps, and its categories into numbers.

use std::collections::{BTreeMap, BTreeSet};

use ah_types::{ChoiceId, Ensemble, Model};

use super::categories::{Categories, CategorySet};
use super::decision::{Column, CompiledModel, Place};
use super::graph::{Graph, Value};
use super::program::{Op, Step, rounded};

/// The most steps of a tree, in which each path has its own. A model that needs more computes all columns before its tree, which
/// are never more than its expressions have.
const MOST_STEPS: usize = 1 << 16;

impl CompiledModel {
    /// Compiles `model`, which must be valid. Boosters need every column, one tree those on its path.
    pub(crate) fn new(model: &Model) -> Self {
        let lazy = if model.boosters.is_empty() { Self::compile(model, MOST_STEPS) } else { None };
        lazy.unwrap_or_else(|| Self::compile_eagerly(model))
    }

    /// Compiles a model so that all columns are computed before the tree.
    fn compile_eagerly(model: &Model) -> Self {
        Self::compile(model, 0).unwrap_or_else(|| unreachable!("without a limit"))
    }

    /// Returns `None` if the paths of the tree have more steps than `most` of their own. If `most` is 0, all columns are computed
    /// before the tree.
    fn compile(model: &Model, most: usize) -> Option<Self> {
        let categories = Categories::of(model);
        let mut graph = Graph::new(model, &categories);
        let precondition = model.precondition.as_ref().map(|p| graph.truth(&p.typed));
        let condition = |choice| Some(graph.truth(&model.eligible.get(&choice)?.typed));
        let choices = (0..model.choices.len() as u32).map(ChoiceId);
        let eligible: Vec<Option<u32>> =
            if model.eligible.is_empty() { Vec::new() } else { choices.map(condition).collect() };
        let (ensemble, mut sets, mut columns) = (Ensemble::new(model), Vec::new(), Vec::new());
        for column in &ensemble.columns {
            let feature = graph.feature(column.slot);
            let value = match &column.categories {
                None => feature,
                Some(set) => {
                    let set = CategorySet::new(model, &categories, column.slot, set);
                    graph.member(feature, set, &mut sets)
                }
            };
            columns.push([value, feature]);
        }

        let roots = precondition.into_iter().chain(eligible.iter().copied().flatten());
        let first = if most == 0 { &*columns } else { &[] };
        let mut emitter = Emitter::new(graph.values(), first, roots.chain(columns.iter().flatten().copied()));
        let loaded = emitter.load(precondition.into_iter().chain(first.iter().flatten().copied()));
        precondition.into_iter().for_each(|value| emitter.require(value, 0));
        let places = emitter.columns(first);
        // The steps before the tree run in another loop.
        if most == 0 {
            emitter.end(0);
        }
        let start = if most == 0 { emitter.steps.len() } else { 0 };
        let known = emitter.assigned.len();
        let tests = emitter.tree(&ensemble, &columns, &eligible, most)?;
        let eligible = eligible.into_iter().map(|value| {
            emitter.forget(known);
            let start = emitter.steps.len();
            emitter.require(value?, 0);
            emitter.end(0);
            Some(start)
        });
        let eligible = eligible.collect();
        let column = |slot: usize| Column { slot, missing: model.missing.contains(&slot) };
        let columns = ensemble.columns.iter().map(|c| column(c.slot)).collect();
        let Emitter { steps, mut initial, first_number, numbers, most, .. } = emitter;
        initial.resize(rounded(most), 0.0);
        Some(Self {
            sets,
            steps,
            initial,
            first_number,
            numbers,
            loaded,
            start,
            tests,
            eligible,
            columns,
            places,
            ensemble,
            categories,
        })
    }
}

/// Writes the steps that compute values of a graph.
struct Emitter<'g> {
    values: &'g [Value],
    steps: Vec<Step>,
    /// What the registers hold before the steps: the constants, at their places.
    initial: Vec<f64>,
    /// The register of the first logged number; those of the others follow.
    first_number: usize,
    /// The slots of the logged numbers.
    numbers: Vec<usize>,
    /// By value: its register, if it is known here.
    registers: Vec<Option<u32>>,
    /// By value: the register of the column that it is.
    reserved: Vec<Option<u32>>,
    /// The values that are computed here, in the order of their steps.
    assigned: Vec<u32>,
    /// The next free register.
    next: u32,
    /// The most registers so far.
    most: usize,
}

impl<'g> Emitter<'g> {
    /// Returns what writes steps for these roots of the graph. The first registers are those of `columns`.
    fn new(values: &'g [Value], columns: &[[u32; 2]], roots: impl Iterator<Item = u32>) -> Self {
        let mut is_used = vec![false; values.len()];
        roots.for_each(|root| is_used[root as usize] = true);
        let mut reserved = vec![None; values.len()];
        columns.iter().zip(0..).for_each(|([value, _], register)| reserved[*value as usize] = Some(register));
        let (mut constants, mut numbers) = (Vec::new(), Vec::new());
        for (at, value) in values.iter().enumerate().rev() {
            match value {
                _ if !is_used[at] => {}
                Value::Constant(bits) => constants.push((at, f64::from_bits(*bits))),
                Value::Number(slot) => numbers.push((at, *slot)),
                Value::Computed(op, operands) => {
                    operands[..op.registers()].iter().for_each(|operand| is_used[*operand as usize] = true);
                }
            }
        }
        let first = columns.len() as u32;
        let loaded = constants.iter().map(|(at, _)| *at).chain(numbers.iter().map(|(at, _)| *at));
        let mut registers = vec![None; values.len()];
        loaded.zip(first..).for_each(|(at, register)| registers[at] = Some(register));
        let mut initial = vec![0.0; columns.len()];
        initial.extend(constants.into_iter().map(|(_, x)| x));
        let first_number = initial.len();
        let numbers: Vec<usize> = numbers.into_iter().map(|(_, slot)| slot).collect();
        initial.resize(first_number + numbers.len(), 0.0);
        let next = initial.len() as u32;
        let (steps, assigned, most) = (Vec::new(), Vec::new(), initial.len());
        Self { values, steps, initial, first_number, numbers, registers, reserved, assigned, next, most }
    }

    /// Returns the values that some values are computed from, with these, as far as they are not known here.
    fn needed(&self, roots: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
        let (mut needed, mut open) = (BTreeSet::new(), Vec::from_iter(roots));
        while let Some(next) = open.pop() {
            if self.registers[next as usize].is_none()
                && let Value::Computed(op, operands) = self.values[next as usize]
                && needed.insert(next)
            {
                open.extend(&operands[..op.registers()]);
            }
        }
        needed
    }

    /// Returns the steps that load the categories that some values are computed from. They run before all others, so that an input
    /// is read at once: the processor then waits for its memory once.
    fn load(&mut self, roots: impl IntoIterator<Item = u32>) -> Vec<Step> {
        let mut loaded = Vec::new();
        for next in self.needed(roots) {
            if let Value::Computed(op @ Op::Category, [missing, _, slot]) = self.values[next as usize] {
                self.registers[next as usize] = Some(self.next);
                loaded.push(Step::new(op, self.next, [self.register(missing), 0, slot]));
                self.next += 1;
            }
        }
        self.most = self.most.max(self.next as usize);
        loaded
    }

    /// Appends the steps that compute some values, if they are not computed here. Steps that are alike follow each other.
    fn emit(&mut self, roots: impl IntoIterator<Item = u32>) {
        let needed = self.needed(roots);
        let mut levels: BTreeMap<u32, u32> = BTreeMap::new();
        let mut order = Vec::new();
        for next in needed {
            let Value::Computed(op, operands) = self.values[next as usize] else { continue };
            let level = operands[..op.registers()].iter().filter_map(|operand| levels.get(operand)).max();
            let level = level.map_or(0, |level| level + 1);
            levels.insert(next, level);
            order.push((level, op, next, operands));
        }
        order.sort_unstable();
        for group in order.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            for (at, (_, op, next, mut operands)) in group.iter().copied().enumerate() {
                for operand in &mut operands[..op.registers()] {
                    *operand = self.register(*operand);
                }
                let to = self.reserved[next as usize].unwrap_or(self.next);
                self.next = self.next.max(to + 1);
                self.registers[next as usize] = Some(to);
                self.assigned.push(next);
                let alike = u16::try_from(group.len() - at).unwrap_or(u16::MAX);
                self.steps.push(Step { alike, ..Step::new(op, to, operands) });
            }
        }
        self.most = self.most.max(self.next as usize);
    }

    /// Returns the register of a value that is computed here.
    fn register(&self, value: u32) -> u32 {
        self.registers[value as usize].unwrap_or_else(|| unreachable!("operands come before results"))
    }

    /// Forgets all values but the first `known`: their registers are free.
    fn forget(&mut self, known: usize) {
        for value in self.assigned.drain(known..).rev() {
            if let Some(register) = self.registers[value as usize].take()
                && self.reserved[value as usize].is_none()
            {
                self.next = register;
            }
        }
    }

    /// Appends steps that stop unless a condition holds; `to` is a mark on each. A chain of `and` holds where all its parts do.
    fn require(&mut self, condition: u32, to: u32) {
        let mut open = vec![condition];
        while let Some(part) = open.pop() {
            let (op, [a, b]) = match self.values[part as usize] {
                Value::Computed(Op::And, [a, b, _]) => {
                    open.extend([b, a]);
                    continue;
                }
                Value::Computed(Op::Eq, [a, b, _]) => (Op::MustEq, [a, b]),
                Value::Computed(Op::Le, [a, b, _]) => (Op::MustLe, [a, b]),
                _ => (Op::Must, [part, part]),
            };
            self.emit([a, b]);
            self.steps.push(Step::new(op, to, [self.register(a), self.register(b), 0]));
        }
    }

    fn end(&mut self, leaf: u32) {
        self.steps.push(Step::new(Op::End, leaf, [0; 3]));
    }

    /// Appends the steps that compute all columns into the first registers. Returns their places.
    fn columns(&mut self, columns: &[[u32; 2]]) -> Vec<Place> {
        self.emit(columns.iter().flatten().copied());
        let all = columns
            .iter()
            .zip(0..)
            .map(|([value, feature], to)| (self.register(*value), to, self.register(*feature)));
        let all: Vec<(u32, u32, u32)> = all.collect();
        let copied: Vec<_> = all.iter().filter(|(at, to, _)| at != to).collect();
        for (before, (at, to, _)) in copied.iter().enumerate() {
            let alike = u16::try_from(copied.len() - before).unwrap_or(u16::MAX);
            self.steps.push(Step { alike, ..Step::new(Op::Copy, *to, [*at, 0, 0]) });
        }
        all.into_iter().map(|(_, value, feature)| Place { value, feature }).collect()
    }

    /// Returns where a column is, by its value and its feature; appends the steps that compute what is not computed here.
    fn place(&mut self, [value, feature]: [u32; 2]) -> Place {
        self.emit([value, feature]);
        Place { value: self.register(value), feature: self.register(feature) }
    }

    /// Appends the steps of the model's own tree. Those of a node compute what is not computed above it. Those of a leaf stop early,
    /// marked with the leaf's number plus 1, if its pick is not [eligible](Model::eligible). Returns the column of each test, and
    /// its place, by the test's position. `None` if there are more than `most` steps, unless it is 0.
    fn tree(
        &mut self,
        ensemble: &Ensemble,
        columns: &[[u32; 2]],
        eligible: &[Option<u32>],
        most: usize,
    ) -> Option<Vec<(usize, usize, Place)>> {
        let mut tests = Vec::new();
        // A node, the test that it is on the right of, and the number of values that are computed above it.
        let mut open: Vec<(u32, Option<usize>, usize)> = vec![(0, None, self.assigned.len())];
        while let Some((at, parent, known)) = open.pop() {
            self.forget(known);
            if let Some(parent) = parent {
                self.steps[parent].to = self.steps.len() as u32;
            }
            if most > 0 && self.steps.len() > most {
                return None;
            }
            let node = ensemble.nodes[at as usize];
            let Some(column) = columns.get(node.column as usize) else {
                let pick = ensemble.pick_of_leaf(node.rank as usize).filter(|_| !ensemble.has_boosters());
                if let Some(condition) = pick.and_then(|pick| *eligible.get(pick.index())?) {
                    self.require(condition, node.rank + 1);
                }
                self.end(node.rank);
                continue;
            };
            let place = self.place(*column);
            let test = self.steps.len();
            tests.push((test, node.column as usize, place));
            self.steps.push(Step::test(place.value, ensemble.threshold(at as usize)));
            let known = self.assigned.len();
            open.extend([(node.left + 1, Some(test), known), (node.left, None, known)]);
        }
        Some(tests)
    }
}
