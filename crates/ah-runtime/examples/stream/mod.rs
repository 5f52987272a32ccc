//! Timing a stream of inputs under several contenders, fairly: turn by turn, medians, one table.

use std::time::Instant;

/// The median milliseconds of each contender on each input, over so many rounds. All contenders take
/// their turn on an input before the next input comes, so a busy moment hits all of them.
pub fn time(
    contenders: usize,
    inputs: usize,
    rounds: usize,
    mut run: impl FnMut(usize, usize),
) -> Vec<Vec<f64>> {
    let mut samples = vec![vec![Vec::with_capacity(rounds); inputs]; contenders];
    for _ in 0..rounds {
        for input in 0..inputs {
            for (contender, samples) in samples.iter_mut().enumerate() {
                let begin = Instant::now();
                run(contender, input);
                samples[input].push(begin.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    let median = |s: Vec<f64>| ah_types::median(&s).unwrap_or(f64::NAN);
    samples.into_iter().map(|inputs| inputs.into_iter().map(median).collect()).collect()
}

/// Prints what dispatching (the last contender) gains over each single choice on a stream in
/// which input `i` comes `calls[i]` times. Returns whether it beats every one.
#[allow(clippy::cast_precision_loss)]
pub fn report(names: &[String], fallback: usize, calls: &[u32], ms: &[Vec<f64>]) -> bool {
    let total =
        |contender: &[f64]| contender.iter().zip(calls).map(|(ms, &n)| ms * f64::from(n)).sum::<f64>();
    let (singles, dispatched) = (&ms[..ms.len() - 1], &ms[ms.len() - 1]);
    let own = total(dispatched);
    let geometric = |contender: &[f64]| {
        let logs = contender.iter().zip(dispatched).map(|(single, own)| (single / own).ln());
        (logs.sum::<f64>() / calls.len() as f64).exp()
    };
    let mut order: Vec<usize> = (0..singles.len()).collect();
    order.sort_by(|&a, &b| total(&singles[a]).total_cmp(&total(&singles[b])));
    println!("{:<58} {:>10} {:>14} {:>16}", "always", "stream, ms", "dispatch gains", "geometric mean");
    for &choice in &order {
        let mark = if choice == fallback { " (fallback)" } else { "" };
        println!(
            "{:<58} {:>10.2} {:>13.2}x {:>15.2}x",
            format!("{}{mark}", names[choice]),
            total(&singles[choice]),
            total(&singles[choice]) / own,
            geometric(&singles[choice])
        );
    }
    println!("{:<58} {own:>10.2}", "dispatched");
    let best = |input: usize| singles.iter().map(|single| single[input]).fold(f64::INFINITY, f64::min);
    let oracle: f64 = calls.iter().enumerate().map(|(input, &n)| best(input) * f64::from(n)).sum();
    println!("{:<58} {oracle:>10.2} {:>13.2}x", "the fastest for each input (hindsight)", oracle / own);
    let beaten = total(&singles[order[0]]) > own;
    let verdict = if beaten { "beats" } else { "does not beat" };
    println!("dispatching {verdict} the best single choice, {}", names[order[0]]);
    beaten
}
