//! A model's expressions and its tree as steps over registers.
//!
//! A register holds a number, the id of a category, or a truth value as 0 or 1; NaN is undefined. No operation has an effect, so
//! `and`, `or` and `if` compute all their operands and then choose. Only the tests of the tree jump.

use ah_types::expr::{Arithmetic, Comparison, NumberFunction};
use ah_types::{Scalar, goes_left};

use super::categories::{Categories, CategorySet, UNNAMED};

/// Registers that most models of one tree need at most.
pub(super) const FEW: usize = 64;

/// Registers that most models with boosters need at most.
pub(super) const MIDDLE: usize = 128;

/// The most registers that are on the stack. More cost an allocation.
pub(super) const MANY: usize = 256;

/// What a step computes from the registers that its operands name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// The id of the logged category in the slot of the last operand; if undefined, the first operand.
    Category,
    /// Whether a category is in the set of the last operand; undefined for one that training never saw.
    Member,
    Neg,
    Abs,
    Floor,
    Ceil,
    Log2,
    Ctz,
    Not,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    /// Whether two categories are the same; undefined if the model names neither.
    Same,
    And,
    Or,
    /// `if .0 then .1 else .2`
    If,
    /// Stops unless the operand is true.
    Must,
    /// Stops unless two numbers or categories are equal.
    MustEq,
    /// Stops unless the first number is not above the second one.
    MustLe,
    /// A split: goes on behind it if the operand is not above the threshold in the other operands, else at the step `to`. Stops
    /// if the operand is undefined.
    Test,
    /// Stops: all conditions hold, or a leaf is reached.
    End,
}

impl Op {
    /// Returns the number of its operands that are registers: the first ones.
    pub(super) fn registers(self) -> usize {
        match self {
            Self::End => 0,
            Self::Must | Self::Test | Self::Category | Self::Member | Self::Not => 1,
            Self::Neg | Self::Abs | Self::Floor | Self::Ceil | Self::Log2 | Self::Ctz => 1,
            Self::If => 3,
            _ => 2,
        }
    }

    /// Returns true if it computes a truth value.
    pub(super) fn is_truth(self) -> bool {
        matches!(
            self,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Same | Self::Not | Self::And | Self::Or
        )
    }
}

impl From<NumberFunction> for Op {
    fn from(function: NumberFunction) -> Self {
        match function {
            NumberFunction::Neg => Self::Neg,
            NumberFunction::Abs => Self::Abs,
            NumberFunction::Floor => Self::Floor,
            NumberFunction::Ceil => Self::Ceil,
            NumberFunction::Log2 => Self::Log2,
            NumberFunction::Ctz => Self::Ctz,
        }
    }
}

impl From<Arithmetic> for Op {
    fn from(op: Arithmetic) -> Self {
        match op {
            Arithmetic::Add => Self::Add,
            Arithmetic::Sub => Self::Sub,
            Arithmetic::Mul => Self::Mul,
            Arithmetic::Div => Self::Div,
            Arithmetic::Rem => Self::Rem,
            Arithmetic::Min => Self::Min,
            Arithmetic::Max => Self::Max,
        }
    }
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub op: Op,
    /// The register of the result. Of a test: the position of the step on the right.
    pub to: u32,
    pub operands: [u32; 3],
}

impl Step {
    /// Returns a test, whose step on the right is not known yet.
    pub(super) fn test(register: u32, threshold: f64) -> Self {
        let bits = threshold.to_bits();
        Self { op: Op::Test, to: 0, operands: [register, bits as u32, (bits >> u32::BITS) as u32] }
    }
}

/// What steps read beside registers.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    /// The values of the logged features, by slot.
    pub values: &'a [Scalar<'a>],
    pub categories: &'a Categories,
    pub sets: &'a [CategorySet],
}

/// The registers of a decision.
pub(super) enum Registers<'r> {
    Few(&'r mut [f64; FEW]),
    Middle(&'r mut [f64; MIDDLE]),
    Many(&'r mut [f64; MANY]),
    Heap(&'r mut Vec<f64>),
}

impl Registers<'_> {
    /// Calls `f` with at least `count` registers that are filled by `fill`.
    #[inline(always)]
    pub(super) fn with<T>(
        count: usize,
        fill: impl FnOnce(&mut [f64]),
        f: impl FnOnce(Registers<'_>) -> T,
    ) -> T {
        // Moved, they would be copied.
        if count <= FEW {
            let mut registers = [0.0; FEW];
            fill(&mut registers);
            f(Registers::Few(&mut registers))
        } else if count <= MIDDLE {
            let mut registers = [0.0; MIDDLE];
            fill(&mut registers);
            f(Registers::Middle(&mut registers))
        } else if count <= MANY {
            let mut registers = [0.0; MANY];
            fill(&mut registers);
            f(Registers::Many(&mut registers))
        } else {
            let mut registers = vec![0.0; count];
            fill(&mut registers);
            f(Registers::Heap(&mut registers))
        }
    }

    /// Returns all registers.
    #[inline(always)]
    pub(super) fn all(&self) -> &[f64] {
        match self {
            Self::Few(all) => *all,
            Self::Middle(all) => *all,
            Self::Many(all) => *all,
            Self::Heap(all) => all,
        }
    }

    /// Executes steps from a position on. Returns the position of the step that stops.
    #[inline(always)]
    pub(super) fn run(&mut self, steps: &[Step], start: usize, inputs: Inputs<'_>) -> usize {
        match self {
            Self::Few(all) => run(*all, steps, start, inputs),
            Self::Middle(all) => run(*all, steps, start, inputs),
            Self::Many(all) => run(*all, steps, start, inputs),
            Self::Heap(all) => run(*all, steps, start, inputs),
        }
    }
}

/// Numbered registers.
trait Bank {
    fn get_register(&self, at: u32) -> f64;
    fn set_register(&mut self, at: u32, x: f64);
}

/// `N` is a power of two. The remainder changes no position, and saves the check of it.
impl<const N: usize> Bank for [f64; N] {
    #[inline(always)]
    fn get_register(&self, at: u32) -> f64 {
        self[at as usize % N]
    }

    #[inline(always)]
    fn set_register(&mut self, at: u32, x: f64) {
        self[at as usize % N] = x;
    }
}

impl Bank for Vec<f64> {
    #[inline(always)]
    fn get_register(&self, at: u32) -> f64 {
        self[at as usize]
    }

    #[inline(always)]
    fn set_register(&mut self, at: u32, x: f64) {
        self[at as usize] = x;
    }
}

#[inline(never)]
fn run(registers: &mut impl Bank, steps: &[Step], start: usize, inputs: Inputs<'_>) -> usize {
    let mut rest = &steps[start..];
    while let [Step { op, to, operands: [a, b, c] }, behind @ ..] = rest {
        let (to, a, b, c) = (*to, *a, *b, *c);
        rest = behind;
        let at = |operand| registers.get_register(operand);
        let x = match op {
            Op::Category => inputs.category(c, at(a)),
            Op::Member => inputs.member(c, at(a)),
            Op::Neg => NumberFunction::Neg.apply(at(a)),
            Op::Abs => NumberFunction::Abs.apply(at(a)),
            Op::Floor => NumberFunction::Floor.apply(at(a)),
            Op::Ceil => NumberFunction::Ceil.apply(at(a)),
            Op::Log2 => NumberFunction::Log2.apply(at(a)),
            Op::Ctz => NumberFunction::Ctz.apply(at(a)),
            Op::Not => 1.0 - at(a),
            Op::Add => Arithmetic::Add.apply(at(a), at(b)),
            Op::Sub => Arithmetic::Sub.apply(at(a), at(b)),
            Op::Mul => Arithmetic::Mul.apply(at(a), at(b)),
            Op::Div => Arithmetic::Div.apply(at(a), at(b)),
            Op::Rem => Arithmetic::Rem.apply(at(a), at(b)),
            Op::Min => Arithmetic::Min.apply(at(a), at(b)),
            Op::Max => Arithmetic::Max.apply(at(a), at(b)),
            Op::Eq => truth(Comparison::Eq.holds(at(a), at(b))),
            Op::Ne => truth(Comparison::Ne.holds(at(a), at(b))),
            Op::Lt => truth(Comparison::Lt.holds(at(a), at(b))),
            Op::Le => truth(Comparison::Le.holds(at(a), at(b))),
            // Two categories that the model does not name share an id and may differ.
            Op::Same if at(a) == UNNAMED && at(b) == UNNAMED => f64::NAN,
            Op::Same => truth(Comparison::Eq.holds(at(a), at(b))),
            // What decides, or is undefined, stays.
            Op::And if at(a) == 1.0 => at(b),
            Op::Or if at(a) == 0.0 => at(b),
            Op::And | Op::Or => at(a),
            Op::If if at(a) == 1.0 => at(b),
            Op::If if at(a) == 0.0 => at(c),
            Op::If => f64::NAN,
            Op::Must if at(a) == 1.0 => continue,
            Op::MustEq if at(a) == at(b) => continue,
            Op::MustLe if at(a) <= at(b) => continue,
            Op::Test => {
                let (x, threshold) = (at(a), f64::from_bits(u64::from(b) | u64::from(c) << u32::BITS));
                if x.is_nan() {
                    break;
                }
                rest = if goes_left(x, threshold) { behind } else { &steps[to as usize..] };
                continue;
            }
            Op::Must | Op::MustEq | Op::MustLe | Op::End => break,
        };
        registers.set_register(to, x);
    }
    steps.len() - rest.len() - 1
}

#[inline(always)]
fn truth(holds: Option<bool>) -> f64 {
    holds.map_or(f64::NAN, f64::from)
}

impl Inputs<'_> {
    #[inline(always)]
    fn category(self, slot: u32, missing: f64) -> f64 {
        match self.values.get(slot as usize) {
            Some(Scalar::Bool(holds)) => f64::from(*holds),
            Some(Scalar::Category(name)) => self.categories.id(name),
            Some(Scalar::Number(_)) | None => missing,
        }
    }

    #[inline(always)]
    fn member(self, set: u32, category: f64) -> f64 {
        truth(self.sets[set as usize].contains(category))
    }
}
