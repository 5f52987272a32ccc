//! Crossovers: inputs that were never measured. Each has the features of one input, some of them replaced by
//! those of another, so it is a plausible input.

use super::random;
use super::table::Table;

/// Crossovers of a fit. With 2,000 a tree learned from them costs 24 more on triton_mm and 31 more on
/// mm TIMM, with 10,000 2 and 18 more (1e-4 of log slowdown).
const COUNT: u64 = 5000;
/// The share of the features that come from the second input. With 0.15 a tree costs 32 more on
/// triton_mm and on mm TIMM, 2 less on flex attention, 7 less on pad_mm.
const SHARE: f64 = 0.3;

/// Appends crossovers of `inputs` to the table. Returns the table, and for each crossover its row and the
/// input that gave most of its features.
pub fn crossed(table: &Table, inputs: &[u32], seed: u64) -> (Table, Vec<(u32, u32)>) {
    let parents = |number: u64| {
        let seed = random::mix(seed, number);
        let pick = |index| inputs[(random::fraction(seed, index) * inputs.len() as f64) as usize];
        (pick(0), pick(1))
    };
    let rows = table.inputs.len() as u32;
    let first = (0..COUNT).map(|number| parents(number).0);
    let mut crossed = table.part(&(0..rows).chain(first).collect::<Vec<u32>>());
    let mut made = Vec::new();
    for number in 0..COUNT {
        let (first, second) = parents(number);
        let row = rows + number as u32;
        let values = &mut crossed.inputs[row as usize].values;
        for (slot, value) in values.iter_mut().enumerate() {
            if random::fraction(random::mix(seed, number), 2 + slot as u64) < SHARE {
                value.clone_from(&table.inputs[second as usize].values[slot]);
            }
        }
        made.push((row, first));
    }
    (crossed, made)
}
