//! A model's expressions and its tree as steps over registers.
//!
//! A register holds a number, the id of a category, or a truth value as 0 or 1; NaN is undefined. No operation has an effect, so
//! `and`, `or` and `if` compute all their operands and then choose. Only the tests of the tree jump.

use std::slice;

use ah_types::expr::{Binary, Comparison, Unary};
use ah_types::{Scalar, goes_left};

use super::categories::{Categories, CategorySet, UNNAMED};

/// Numbers of registers that are on the stack. More cost an allocation.
pub(super) const SIZES: [usize; 3] = [64, 128, 256];

/// What a step computes from the registers that its operands name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Op {
    /// The same value.
    Copy,
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
    /// A split: goes on behind it if the operand is not above the threshold, else at the step `to`. Stops if the operand is
    /// undefined.
    Test,
    /// Stops: all conditions hold, or a leaf is reached.
    End,
}

impl Op {
    /// Returns the number of its operands that are registers: the first ones.
    pub(super) fn registers(self) -> usize {
        match self {
            Self::End => 0,
            Self::Must | Self::Test | Self::Copy | Self::Category | Self::Member | Self::Not => 1,
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

impl From<Unary> for Op {
    fn from(function: Unary) -> Self {
        match function {
            Unary::Neg => Self::Neg,
            Unary::Abs => Self::Abs,
            Unary::Floor => Self::Floor,
            Unary::Ceil => Self::Ceil,
            Unary::Log2 => Self::Log2,
            Unary::Ctz => Self::Ctz,
            Unary::Not => Self::Not,
        }
    }
}

impl From<Binary> for Op {
    fn from(op: Binary) -> Self {
        match op {
            Binary::Add => Self::Add,
            Binary::Sub => Self::Sub,
            Binary::Mul => Self::Mul,
            Binary::Div => Self::Div,
            Binary::Rem => Self::Rem,
            Binary::Min => Self::Min,
            Binary::Max => Self::Max,
            _ => unreachable!("a truth value"),
        }
    }
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub op: Op,
    /// The number of steps from this one on that have the same operation and need no result of each other. They run in a loop, which takes
    /// half the instructions of one step after the other.
    pub alike: u16,
    /// The register of the result. Of a test: the position of the step on the right.
    pub to: u32,
    pub operands: [u32; 3],
    /// What a test compares with.
    pub threshold: f64,
}

impl Step {
    pub(super) fn new(op: Op, to: u32, operands: [u32; 3]) -> Self {
        Self { op, alike: 1, to, operands, threshold: 0.0 }
    }

    /// Returns a test, whose step on the right is not known yet.
    pub(super) fn test(register: u32, threshold: f64) -> Self {
        Self { threshold, ..Self::new(Op::Test, 0, [register, 0, 0]) }
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

/// Returns the least of [`SIZES`] that is at least `registers`, if there is one.
pub(super) fn rounded(registers: usize) -> usize {
    SIZES.into_iter().find(|size| registers <= *size).unwrap_or(registers)
}

/// Calls `f` with registers that hold `initial`, whose number is [`rounded`].
#[inline(always)]
pub(super) fn with_registers<T>(initial: &[f64], f: impl FnOnce(&mut [f64]) -> T) -> T {
    let (mut few, mut middle, mut many, mut heap);
    f(if let Ok(initial) = <&[f64; SIZES[0]]>::try_from(initial) {
        few = *initial;
        &mut few
    } else if let Ok(initial) = <&[f64; SIZES[1]]>::try_from(initial) {
        middle = *initial;
        &mut middle
    } else if let Ok(initial) = <&[f64; SIZES[2]]>::try_from(initial) {
        many = *initial;
        &mut many
    } else {
        heap = initial.to_vec();
        &mut heap
    })
}

/// Executes steps from a position on. Returns the position of the step that stops. If `ALIKE`, steps that are alike run in a loop,
/// and there is no test among them.
#[inline]
pub(super) fn run<const ALIKE: bool>(
    registers: &mut [f64],
    steps: &[Step],
    start: usize,
    inputs: Inputs<'_>,
) -> usize {
    if let Ok(registers) = <&mut [f64; SIZES[0]]>::try_from(&mut *registers) {
        run_in::<ALIKE>(registers, steps, start, inputs)
    } else if let Ok(registers) = <&mut [f64; SIZES[1]]>::try_from(&mut *registers) {
        run_in::<ALIKE>(registers, steps, start, inputs)
    } else if let Ok(registers) = <&mut [f64; SIZES[2]]>::try_from(&mut *registers) {
        run_in::<ALIKE>(registers, steps, start, inputs)
    } else {
        run_in::<ALIKE>(registers, steps, start, inputs)
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

impl Bank for [f64] {
    #[inline(always)]
    fn get_register(&self, at: u32) -> f64 {
        self[at as usize]
    }

    #[inline(always)]
    fn set_register(&mut self, at: u32, x: f64) {
        self[at as usize] = x;
    }
}

/// Writes to each step's register what `f` makes of its operands.
#[inline(always)]
fn each<const N: usize>(registers: &mut (impl Bank + ?Sized), steps: &[Step], f: impl Fn([f64; N]) -> f64) {
    for step in steps {
        let x = f(std::array::from_fn(|i| registers.get_register(step.operands[i])));
        registers.set_register(step.to, x);
    }
}

#[inline(never)]
fn run_in<const ALIKE: bool>(
    registers: &mut (impl Bank + ?Sized),
    steps: &[Step],
    start: usize,
    inputs: Inputs<'_>,
) -> usize {
    let mut rest = &steps[start..];
    while let [step, behind @ ..] = rest {
        let at = |operand: usize| registers.get_register(step.operands[operand]);
        if !ALIKE && step.op == Op::Test {
            let x = at(0);
            if x.is_nan() {
                break;
            }
            rest = if goes_left(x, step.threshold) { behind } else { &steps[step.to as usize..] };
            continue;
        }
        let (alike, behind) =
            if ALIKE { rest.split_at(usize::from(step.alike)) } else { (slice::from_ref(step), behind) };
        match step.op {
            Op::Copy => each(registers, alike, |[a]| a),
            Op::Category => alike.iter().for_each(|step| {
                let x = inputs.category(step.operands[2], registers.get_register(step.operands[0]));
                registers.set_register(step.to, x);
            }),
            Op::Member => alike.iter().for_each(|step| {
                let x = inputs.member(step.operands[2], registers.get_register(step.operands[0]));
                registers.set_register(step.to, x);
            }),
            Op::Neg => each(registers, alike, |[a]| Unary::Neg.apply(a)),
            Op::Abs => each(registers, alike, |[a]| Unary::Abs.apply(a)),
            Op::Floor => each(registers, alike, |[a]| Unary::Floor.apply(a)),
            Op::Ceil => each(registers, alike, |[a]| Unary::Ceil.apply(a)),
            Op::Log2 => each(registers, alike, |[a]| Unary::Log2.apply(a)),
            Op::Ctz => each(registers, alike, |[a]| Unary::Ctz.apply(a)),
            Op::Not => each(registers, alike, |[a]| 1.0 - a),
            Op::Add => each(registers, alike, |[a, b]| Binary::Add.apply(a, b)),
            Op::Sub => each(registers, alike, |[a, b]| Binary::Sub.apply(a, b)),
            Op::Mul => each(registers, alike, |[a, b]| Binary::Mul.apply(a, b)),
            Op::Div => each(registers, alike, |[a, b]| Binary::Div.apply(a, b)),
            Op::Rem => each(registers, alike, |[a, b]| Binary::Rem.apply(a, b)),
            Op::Min => each(registers, alike, |[a, b]| Binary::Min.apply(a, b)),
            Op::Max => each(registers, alike, |[a, b]| Binary::Max.apply(a, b)),
            Op::Eq => each(registers, alike, |[a, b]| truth(Comparison::Eq.holds(a, b))),
            Op::Ne => each(registers, alike, |[a, b]| truth(Comparison::Ne.holds(a, b))),
            Op::Lt => each(registers, alike, |[a, b]| truth(Comparison::Lt.holds(a, b))),
            Op::Le => each(registers, alike, |[a, b]| truth(Comparison::Le.holds(a, b))),
            // Two categories that the model does not name share an id and may differ.
            Op::Same => each(registers, alike, |[a, b]| match a == UNNAMED && b == UNNAMED {
                true => f64::NAN,
                false => truth(Comparison::Eq.holds(a, b)),
            }),
            // What decides, or is undefined, stays.
            Op::And => each(registers, alike, |[a, b]| if a == 1.0 { b } else { a }),
            Op::Or => each(registers, alike, |[a, b]| if a == 0.0 { b } else { a }),
            Op::If => each(registers, alike, |[c, a, b]| match c {
                1.0 => a,
                0.0 => b,
                _ => f64::NAN,
            }),
            Op::Must if at(0) == 1.0 => {}
            Op::MustEq if at(0) == at(1) => {}
            Op::MustLe if at(0) <= at(1) => {}
            Op::Must | Op::MustEq | Op::MustLe | Op::Test | Op::End => break,
        }
        rest = behind;
    }
    steps.len() - rest.len()
}

#[inline(always)]
fn truth(holds: Option<bool>) -> f64 {
    holds.map_or(f64::NAN, f64::from)
}

impl Inputs<'_> {
    #[inline(always)]
    pub(super) fn category(self, slot: u32, missing: f64) -> f64 {
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
