//! Timing a stream of inputs under several contenders, fairly: piece by piece, medians, one table.

use std::time::Instant;

/// Calls of one contender before the next has its turn: enough that its code is as warm as it is
/// in a program that has only this one, few enough that a busy moment hits all contenders.
const PIECE: usize = 64;

/// The median milliseconds of each contender on each input, over so many rounds of a stream in which
/// input `i` comes `calls[i]` times, shuffled.
pub fn time(
    contenders: usize,
    calls: &[u32],
    rounds: usize,
    mut run: impl FnMut(usize, usize),
) -> Vec<Vec<f64>> {
    let stream = shuffled(calls);
    let mut samples = vec![vec![Vec::new(); calls.len()]; contenders];
    for _ in 0..rounds {
        for (turn, piece) in stream.chunks(PIECE).enumerate() {
            for contender in (0..contenders).map(|i| (i + turn) % contenders) {
                for &input in piece {
                    let begin = Instant::now();
                    run(contender, input);
                    samples[contender][input].push(begin.elapsed().as_secs_f64() * 1e3);
                }
            }
        }
    }
    let median = |s: Vec<f64>| ah_types::median(&s).unwrap_or(f64::NAN);
    samples.into_iter().map(|inputs| inputs.into_iter().map(median).collect()).collect()
}

/// Every input as often as it is called, in an order that is the same each time (Fisher and Yates).
fn shuffled(calls: &[u32]) -> Vec<usize> {
    let mut stream: Vec<usize> =
        calls.iter().enumerate().flat_map(|(input, &n)| (0..n).map(move |_| input)).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for at in (1..stream.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        stream.swap(at, (state >> 33) as usize % (at + 1));
    }
    stream
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

/// Prints for each input the fastest single choice (by hindsight), its time, and what dispatching took.
pub fn by_input(sizes: impl Iterator<Item = String>, names: &[String], ms: &[Vec<f64>]) {
    let (singles, dispatched) = (&ms[..ms.len() - 1], &ms[ms.len() - 1]);
    println!("\n{:<20} {:>12} {:>14} {:>7}  fastest", "size", "fastest, ns", "dispatched, ns", "");
    for (input, size) in sizes.enumerate() {
        let fastest = (0..singles.len()).min_by(|&a, &b| singles[a][input].total_cmp(&singles[b][input]));
        let Some(fastest) = fastest else { return };
        let (best, own) = (singles[fastest][input] * 1e6, dispatched[input] * 1e6);
        println!("{size:<20} {best:>12.0} {own:>14.0} {:>6.2}x  {}", best / own, names[fastest]);
    }
}
