//! Compiles a model: turns its expressions and its tree into steps, and its categories into numbers.

use std::collections::BTreeSet;

use ah_types::{ChoiceId, Ensemble, Model};

use super::categories::{Categories, CategorySet};
use super::decision::{Column, CompiledModel, Place};
use super::graph::{Graph, Value};
use super::program::{Op, Step};

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
    pub(super) fn compile_eagerly(model: &Model) -> Self {
        Self::compile(model, 0).unwrap_or_else(|| unreachable!("without a limit"))
    }

    /// Returns `None` if the paths of the tree have more steps than `most` of their own. If `most` is 0, all columns are computed
    /// before the tree.
    pub(super) fn compile(model: &Model, most: usize) -> Option<Self> {
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
        let mut emitter = Emitter::new(graph.values(), roots.chain(columns.iter().flatten().copied()));
        precondition.into_iter().for_each(|value| emitter.require(value));
        let places = match most {
            0 => columns.iter().map(|column| emitter.place(*column)).collect(),
            _ => Vec::new(),
        };
        let known = emitter.assigned.len();
        let tests = emitter.tree(&ensemble, &columns, most)?;
        let eligible = eligible.into_iter().map(|value| {
            emitter.forget(known);
            let start = emitter.steps.len();
            emitter.require(value?);
            emitter.end(0);
            Some(start)
        });
        let eligible = eligible.collect();
        let column = |slot: usize| Column { slot, missing: model.missing.contains(&slot) };
        let columns = ensemble.columns.iter().map(|c| column(c.slot)).collect();
        let Emitter { steps, constants, numbers, most, .. } = emitter;
        Some(Self {
            sets,
            steps,
            constants,
            numbers,
            registers: most,
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
    constants: Vec<f64>,
    /// The slots of the logged numbers, whose registers follow those of the constants.
    numbers: Vec<usize>,
    /// By value: its register, if it is known here.
    registers: Vec<Option<u32>>,
    /// The values that are computed here, in the order of their registers, which follow those of the numbers.
    assigned: Vec<u32>,
    /// The most registers so far.
    most: usize,
}

impl<'g> Emitter<'g> {
    /// Returns what writes steps for these roots of the graph.
    fn new(values: &'g [Value], roots: impl Iterator<Item = u32>) -> Self {
        let mut is_used = vec![false; values.len()];
        roots.for_each(|root| is_used[root as usize] = true);
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
        let mut registers = vec![None; values.len()];
        let loaded = constants.iter().map(|(at, _)| *at).chain(numbers.iter().map(|(at, _)| *at));
        loaded.zip(0..).for_each(|(at, register)| registers[at] = Some(register));
        Self {
            values,
            steps: Vec::new(),
            most: constants.len() + numbers.len(),
            constants: constants.into_iter().map(|(_, x)| x).collect(),
            numbers: numbers.into_iter().map(|(_, slot)| slot).collect(),
            registers,
            assigned: Vec::new(),
        }
    }

    /// Returns the register of a value; appends the steps that compute it, if it is not computed here.
    fn emit(&mut self, value: u32) -> u32 {
        let (mut needed, mut open) = (BTreeSet::new(), vec![value]);
        while let Some(next) = open.pop() {
            if self.registers[next as usize].is_none()
                && let Value::Computed(op, operands) = self.values[next as usize]
                && needed.insert(next)
            {
                open.extend(&operands[..op.registers()]);
            }
        }
        for next in needed {
            let Value::Computed(op, mut operands) = self.values[next as usize] else { continue };
            for operand in &mut operands[..op.registers()] {
                *operand = self.register(*operand);
            }
            let to = self.in_use() as u32;
            self.registers[next as usize] = Some(to);
            self.assigned.push(next);
            self.steps.push(Step { op, to, operands });
        }
        self.most = self.most.max(self.in_use());
        self.register(value)
    }

    /// Returns the number of registers that are in use.
    fn in_use(&self) -> usize {
        self.constants.len() + self.numbers.len() + self.assigned.len()
    }

    /// Returns the register of a value that is computed here.
    fn register(&self, value: u32) -> u32 {
        self.registers[value as usize].unwrap_or_else(|| unreachable!("operands come before results"))
    }

    /// Forgets all values but the first `known`: their registers are free.
    fn forget(&mut self, known: usize) {
        for value in self.assigned.drain(known..) {
            self.registers[value as usize] = None;
        }
    }

    /// Appends the steps of a condition that stop unless it holds. A chain of `and` holds where all its parts do.
    fn require(&mut self, condition: u32) {
        let mut open = vec![condition];
        while let Some(part) = open.pop() {
            let (op, operands) = match self.values[part as usize] {
                Value::Computed(Op::And, [a, b, _]) => {
                    open.extend([b, a]);
                    continue;
                }
                Value::Computed(Op::Eq, [a, b, _]) => (Op::MustEq, [self.emit(a), self.emit(b), 0]),
                Value::Computed(Op::Le, [a, b, _]) => (Op::MustLe, [self.emit(a), self.emit(b), 0]),
                _ => (Op::Must, [self.emit(part), 0, 0]),
            };
            self.steps.push(Step { op, to: 0, operands });
        }
    }

    fn end(&mut self, leaf: u32) {
        self.steps.push(Step { op: Op::End, to: leaf, operands: [0; 3] });
    }

    /// Returns where a column is, by its value and its feature; appends the steps that compute what is not computed here.
    fn place(&mut self, [value, feature]: [u32; 2]) -> Place {
        Place { value: self.emit(value), feature: self.emit(feature) }
    }

    /// Appends the steps of the model's own tree. Those of a node compute what is not computed above it. Returns the column of each
    /// test, and its place, by the test's position. `None` if there are more than `most` steps, unless it is 0.
    fn tree(
        &mut self,
        ensemble: &Ensemble,
        columns: &[[u32; 2]],
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
            let node = ensemble.nodes[at as usize];
            let Some(column) = columns.get(node.column as usize) else {
                self.end(node.rank);
                continue;
            };
            let place = self.place(*column);
            let test = self.steps.len();
            tests.push((test, node.column as usize, place));
            self.steps.push(Step::test(place.value, ensemble.threshold(at as usize)));
            if most > 0 && test > most {
                return None;
            }
            let known = self.assigned.len();
            open.extend([(node.left + 1, Some(test), known), (node.left, None, known)]);
        }
        Some(tests)
    }
}
