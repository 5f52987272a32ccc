//! The alignment of a size: a kernel may take several times as long where 16 does not divide the length of a row.
//!
//! GPUs load 16 bytes at once from aligned rows alone, and Triton compiles a kernel for each of the two kinds. Coefficients of
//! their own for unaligned inputs overfit (docs/laboratory.md), so each choice has one factor.

use ah_model::Row;
use ah_model::expr::{Binary, Comparison, Expr};
use ah_model::math::exp;
use ah_types::median;

use crate::data::Dataset;
use crate::data::threshold::rounded;

/// This divides aligned sizes.
const ALIGNMENT: f64 = 16.0;
/// Alignment counts if the errors of the formula fall to this share.
const MOST_LEFT: f64 = 0.8;
/// The fewest times of a choice with aligned sizes, and with unaligned ones, to estimate its factor.
const MIN_TIMES: usize = 4;

/// The digits of a factor or a coefficient that mean something.
pub const DIGITS: usize = 5;

/// A feature whose alignment matters.
#[derive(Clone, Debug)]
pub struct Alignment {
    /// The name of the logged feature.
    pub feature: String,
    /// By choice, how many times as long an unaligned input takes.
    pub factors: Vec<f64>,
}

/// The log errors of a choice, with their inputs.
pub type ErrorsOfChoice = Vec<(u32, f64)>;

impl Alignment {
    /// The feature, among those of these slots, whose alignment explains most of a formula's errors, with the factors that
    /// explain them; `None` if no feature explains enough. Further rounds of factors and formulas lose more on Triton's 18
    /// configurations: 5.5 instead of 4.1 % of 60 inputs.
    pub fn find(
        dataset: &Dataset,
        slots: impl Iterator<Item = usize>,
        errors: &[ErrorsOfChoice],
    ) -> Option<Self> {
        let plain =
            |errors: &ErrorsOfChoice| spread(&errors.iter().map(|(_, error)| *error).collect::<Vec<f64>>());
        let all: f64 = errors.iter().map(plain).sum();
        // By choice, the errors on aligned inputs, and those on the others.
        let split = |slot: usize| -> Vec<[Vec<f64>; 2]> {
            let is_aligned = |input: u32| dataset.table.values(input).number(slot) % ALIGNMENT == 0.0;
            let of = |errors: &ErrorsOfChoice, aligned: bool| {
                let part = errors.iter().filter(|(input, _)| is_aligned(*input) == aligned);
                part.map(|(_, error)| *error).collect()
            };
            errors.iter().map(|errors| [true, false].map(|aligned| of(errors, aligned))).collect()
        };
        let left = |slot: &usize| split(*slot).iter().flatten().map(|errors| spread(errors)).sum::<f64>();
        let slot =
            slots.min_by(|a, b| left(a).total_cmp(&left(b))).filter(|slot| left(slot) <= MOST_LEFT * all)?;
        let change = |[aligned, unaligned]: &[Vec<f64>; 2]| {
            let is_enough = aligned.len().min(unaligned.len()) >= MIN_TIMES;
            is_enough.then(|| Some(median(unaligned)? - median(aligned)?)).flatten()
        };
        let changes: Vec<Option<f64>> = split(slot).iter().map(change).collect();
        // A choice with few times has the usual factor.
        let usual = median(&changes.iter().copied().flatten().collect::<Vec<f64>>())?;
        let factors = changes.iter().map(|change| rounded(exp(change.unwrap_or(usual)), DIGITS)).collect();
        Some(Self { feature: dataset.features.base().features()[slot].name.clone(), factors })
    }

    /// The factor as an expression over the feature and a parameter of the choice.
    pub fn expression(&self, parameter: String) -> Expr<String> {
        let size = Expr::Feature(self.feature.clone());
        let rest = Expr::binary(Binary::Rem, size, Expr::Number(ALIGNMENT));
        let is_aligned = Expr::binary(Binary::Compare(Comparison::Eq), rest, Expr::Number(0.0));
        Expr::If(Box::new(is_aligned), Box::new(Expr::Number(1.0)), Box::new(Expr::Feature(parameter)))
    }
}

/// The sum of the distances from the median.
fn spread(errors: &[f64]) -> f64 {
    let middle = median(errors).unwrap_or(0.0);
    errors.iter().map(|error| (error - middle).abs()).sum()
}
