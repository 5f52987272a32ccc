//! The level of each input and the effect of each choice: log time = level + effect, by alternating means. In a sparse table
//! each input is timed with other choices, so its mean time alone says little about its level.

/// One timing: of a choice on an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The position of the input.
    pub input: u32,
    /// The position of the choice.
    pub choice: u32,
    /// `ln(milliseconds)`; infinite where the choice failed.
    pub log_time: f64,
}

/// Rounds of alternating means; on 25 of 300 choices, the effects move by less than 0.001 after 10.
const ROUNDS: usize = 15;

/// The effect of each choice; 0 for one without a timing. The timings did not fail.
pub fn effects(timings: &[Timing], inputs: usize, choices: usize) -> Vec<f64> {
    let mut effects = vec![0.0; choices];
    for _ in 0..ROUNDS {
        let levels = means(timings, inputs, |t| t.input, |t| t.log_time - effects[t.choice as usize]);
        effects = means(timings, choices, |t| t.choice, |t| t.log_time - levels[t.input as usize]);
    }
    effects
}

fn means(
    timings: &[Timing],
    count: usize,
    key: impl Fn(&Timing) -> u32,
    value: impl Fn(&Timing) -> f64,
) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0_f64); count];
    for timing in timings {
        let (sum, count) = &mut sums[key(timing) as usize];
        *sum += value(timing);
        *count += 1.0;
    }
    sums.into_iter().map(|(sum, count)| sum / count.max(1.0)).collect()
}

/// The rank of each effect; of equal ones, the first is less.
pub fn ranks(effects: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..effects.len()).collect();
    order.sort_by(|&a, &b| effects[a].total_cmp(&effects[b]).then(a.cmp(&b)));
    let mut ranks = vec![0.0; effects.len()];
    order.iter().enumerate().for_each(|(rank, &at)| ranks[at] = rank as f64);
    ranks
}
