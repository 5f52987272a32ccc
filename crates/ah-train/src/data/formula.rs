//! Formulas over logged features that may become derived features.

use std::collections::BTreeSet;
use std::iter;

use ah_model::DerivedFeature;

/// More trailing zero bits add no information: on PyTorch's logs a cap changes no figure.
const MAX_ZERO_BITS: u32 = 16;

/// A formula. Features are named by their slots; lists of slots are sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Formula {
    /// The product of some features over the product of others: `m * n / k`.
    Ratio(Vec<u16>, Vec<u16>),
    /// A product of features in tiles of some size (1: the feature itself): `ceil(m / 64) * n`.
    Tiles(Vec<(u16, u32)>),
    /// The least number of trailing zero bits of some whole numbers: products of features, or the greater of two (of two strides the
    /// leading dimension).
    ZeroBits(BTreeSet<Formula>),
    /// The lesser of two features.
    Min(u16, u16),
    /// The greater of two features.
    Max(u16, u16),
    /// `m * n / (m + n)`, of three `1 / (1 / m + 1 / n + 1 / k)`: work over traffic.
    Harmonic(Vec<u16>),
}

impl Formula {
    /// The quotient of two products, with common factors cancelled. A quotient and its
    /// inverse split alike, so only one of them is returned.
    pub fn ratio(mut over: Vec<u16>, mut under: Vec<u16>) -> Self {
        over.sort_unstable();
        under.sort_unstable();
        over.retain(|slot| under.iter().position(|u| u == slot).map(|at| under.remove(at)).is_none());
        if (over.len(), &under) < (under.len(), &over) {
            std::mem::swap(&mut over, &mut under);
        }
        Self::Ratio(over, under)
    }

    /// The derived feature of this formula. `names` are the features' names by slot, as the
    /// expression language writes them.
    pub fn derived(&self, names: &[String]) -> DerivedFeature {
        named(self.text(names))
    }

    /// The number of features, numbers and functions that people read.
    pub fn words(&self) -> usize {
        match self {
            Self::Ratio(over, under) => over.len() + under.len(),
            Self::Tiles(factors) => factors.iter().map(|(_, size)| if *size == 1 { 1 } else { 3 }).sum(),
            Self::ZeroBits(numbers) => 2 + numbers.iter().map(|number| 1 + number.words()).sum::<usize>(),
            Self::Min(..) | Self::Max(..) => 3,
            Self::Harmonic(slots) => 2 * slots.len(),
        }
    }

    fn text(&self, names: &[String]) -> String {
        let name = |slot: &u16| names[usize::from(*slot)].clone();
        let product = |slots: &[u16]| slots.iter().map(name).collect::<Vec<_>>().join(" * ");
        let tiled = |&(slot, size): &(u16, u32)| match size {
            1 => name(&slot),
            _ => format!("ceil({} / {size})", name(&slot)),
        };
        match self {
            Self::Ratio(over, under) => {
                let under: String = under.iter().map(|slot| format!(" / {}", name(slot))).collect();
                product(over) + &under
            }
            Self::Tiles(factors) => factors.iter().map(tiled).collect::<Vec<_>>().join(" * "),
            Self::ZeroBits(numbers) => {
                let count = |number: &Self| format!("ctz({})", number.text(names));
                format!("min({}, {MAX_ZERO_BITS})", numbers.iter().map(count).collect::<Vec<_>>().join(", "))
            }
            Self::Min(a, b) => format!("min({}, {})", name(a), name(b)),
            Self::Max(a, b) => format!("max({}, {})", name(a), name(b)),
            Self::Harmonic(slots) if slots.len() == 2 => {
                let a = name(&slots[0]);
                let b = name(&slots[1]);
                format!("{a} * {b} / ({a} + {b})")
            }
            Self::Harmonic(slots) => {
                let parts: Vec<String> = slots.iter().map(|slot| format!("1 / {}", name(slot))).collect();
                format!("1 / ({})", parts.join(" + "))
            }
        }
    }
}

/// The derived feature of an expression, which is its name.
pub fn named(expression: String) -> DerivedFeature {
    // A name in backquotes may hold spaces; without them it could become another's.
    let name = if expression.contains('`') { expression.clone() } else { expression.replace(' ', "") };
    DerivedFeature { name, expression }
}

/// The parts of formulas.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Slots of features whose values are whole numbers from 0 on.
    pub whole: Vec<u16>,
    /// Sizes of tiles.
    pub sizes: Vec<u32>,
}

/// Most factors of a ratio.
const MAX_FACTORS: usize = 8;
/// Most factors of a product that is cut into tiles.
const MAX_TILED: usize = 3;
/// Most numbers whose zero bits are compared.
const MAX_NUMBERS: usize = 3;

impl Vocabulary {
    /// The simplest formulas: of one or two features.
    pub fn simple(&self) -> BTreeSet<Formula> {
        let mut formulas = BTreeSet::new();
        for (i, &a) in self.whole.iter().enumerate() {
            formulas.insert(zero_bits([product(&[a])]));
            for &b in &self.whole[i + 1..] {
                formulas.extend([
                    Formula::ratio(vec![a, b], Vec::new()),
                    Formula::ratio(vec![a], vec![b]),
                    Formula::Min(a, b),
                    Formula::Max(a, b),
                    Formula::Harmonic(vec![a, b]),
                    zero_bits([product(&[a]), product(&[b])]),
                    zero_bits([product(&[a, b])]),
                    zero_bits([Formula::Max(a, b)]),
                ]);
            }
        }
        formulas
    }

    /// Formulas made of these and of the features.
    pub fn combined(&self, formulas: &[Formula]) -> BTreeSet<Formula> {
        let mut all = BTreeSet::new();
        let features = self.whole.iter().map(|&slot| product(&[slot]));
        let ratios = formulas.iter().filter(|f| matches!(f, Formula::Ratio(..))).cloned();
        let ratios: Vec<Formula> = features.chain(ratios).collect();
        for (i, first) in ratios.iter().enumerate() {
            for second in &ratios[i + 1..] {
                all.extend(quotients(first, second));
            }
        }
        for formula in formulas {
            match formula {
                Formula::Ratio(factors, under) if under.is_empty() => {
                    all.insert(zero_bits([formula.clone()]));
                    if factors.len() <= MAX_TILED {
                        all.extend(self.tiles(factors));
                        all.insert(Formula::Harmonic(factors.clone()));
                    }
                }
                Formula::ZeroBits(numbers) => all.extend(self.fewer_zero_bits(numbers, formulas)),
                _ => {}
            }
        }
        all
    }

    /// The product of these features with one or two of them in tiles.
    fn tiles(&self, factors: &[u16]) -> impl Iterator<Item = Formula> {
        let mut all: Vec<Vec<(u16, u32)>> = vec![Vec::new()];
        for &slot in factors {
            let sizes = || iter::once(1).chain(self.sizes.iter().copied());
            let with = |before: Vec<_>| sizes().map(move |size| [&before[..], &[(slot, size)]].concat());
            all = all.into_iter().flat_map(with).collect();
        }
        let tiled = |factors: &Vec<(u16, u32)>| factors.iter().filter(|(_, size)| *size > 1).count();
        all.into_iter().filter(move |factors| (1..=2).contains(&tiled(factors))).map(Formula::Tiles)
    }

    /// The least of these numbers' zero bits and those of another formula or feature.
    fn fewer_zero_bits(&self, numbers: &BTreeSet<Formula>, formulas: &[Formula]) -> Vec<Formula> {
        let features = self.whole.iter().map(|&slot| [product(&[slot])].into());
        let others = formulas.iter().filter_map(|formula| match formula {
            Formula::ZeroBits(numbers) => Some(numbers.clone()),
            _ => None,
        });
        let union = |other: BTreeSet<Formula>| numbers.union(&other).cloned().collect::<BTreeSet<_>>();
        let unions = features.chain(others).map(union).filter(|all| all.len() <= MAX_NUMBERS);
        unions.map(Formula::ZeroBits).collect()
    }
}

/// The product and the quotient of two ratios, without powers.
fn quotients(first: &Formula, second: &Formula) -> Vec<Formula> {
    let (Formula::Ratio(a, b), Formula::Ratio(c, d)) = (first, second) else { return Vec::new() };
    let join = |x: &[u16], y: &[u16]| [x, y].concat();
    let both = [Formula::ratio(join(a, c), join(b, d)), Formula::ratio(join(a, d), join(b, c))];
    let simple = |formula: &Formula| {
        let Formula::Ratio(over, under) = formula else { return false };
        let power = |slots: &[u16]| slots.windows(2).any(|pair| pair[0] == pair[1]);
        (2..=MAX_FACTORS).contains(&(over.len() + under.len())) && !power(over) && !power(under)
    };
    both.into_iter().filter(simple).collect()
}

/// A product of features, ascending.
fn product(slots: &[u16]) -> Formula {
    Formula::Ratio(slots.to_vec(), Vec::new())
}

fn zero_bits<const N: usize>(numbers: [Formula; N]) -> Formula {
    Formula::ZeroBits(numbers.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["m", "n", "k"].map(str::to_owned).to_vec()
    }

    #[test]
    fn ratios_cancel_and_do_not_stand_upside_down() {
        let text = |over: &[u16], under: &[u16]| Formula::ratio(over.to_vec(), under.to_vec()).text(&names());
        assert_eq!(text(&[1, 0], &[]), "m * n");
        assert_eq!(text(&[0, 1], &[1, 2]), "m / k");
        assert_eq!(text(&[2], &[0]), text(&[0], &[2]));
        assert_eq!(text(&[2], &[0, 1]), "m * n / k");
    }

    #[test]
    fn expressions_parse() {
        let words = Vocabulary { whole: vec![0, 1, 2], sizes: vec![16, 64] };
        let mut formulas: Vec<Formula> = words.simple().into_iter().collect();
        for _ in 0..2 {
            formulas = words.combined(&formulas).into_iter().collect();
            for formula in &formulas {
                let expression = formula.derived(&names()).expression;
                assert!(ah_model::expr::parse(&expression).is_ok(), "{expression}");
            }
        }
        let texts: BTreeSet<String> = formulas.iter().map(|f| f.text(&names())).collect();
        for expected in [
            "ceil(m / 64) * ceil(n / 16) * k",
            "min(ctz(m), ctz(n), ctz(k), 16)",
            "1 / (1 / m + 1 / n + 1 / k)",
        ] {
            assert!(texts.contains(expected), "{expected}");
        }
    }
}
