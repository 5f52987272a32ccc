//! Times a stream of inputs under several contenders, fairly: burst by burst, medians, one table.
//!
//! An input comes in bursts: a number of calls one after the other, then the next input. Its operands are in
//! the caches, as they are where another step of the program has just written them, and as they are while
//! kernels are measured. Where operands come from memory, other kernels win: measure there.

use std::time::{Duration, Instant};

/// The median milliseconds of each contender on each input. The last contender dispatches.
pub struct Timings {
    names: Vec<String>,
    fallback: usize,
    /// The calls of each input's burst.
    calls: Vec<u32>,
    /// By contender, then by input.
    ms: Vec<Vec<f64>>,
}

impl Timings {
    /// Runs the stream `rounds` times, every burst under each single choice and the dispatcher in turn, so that a busy
    /// moment hits all. The burst of input `i` has `calls[i]` calls.
    pub fn take(
        names: Vec<String>,
        fallback: usize,
        calls: Vec<u32>,
        rounds: usize,
        mut run: impl FnMut(usize, usize),
    ) -> Self {
        let contenders = names.len() + 1;
        let mut samples = vec![vec![Vec::new(); calls.len()]; contenders];
        for round in 0..rounds {
            for (input, &burst) in calls.iter().enumerate() {
                for contender in (0..contenders).map(|i| (i + input + round) % contenders) {
                    for _ in 0..burst {
                        let begin = Instant::now();
                        run(contender, input);
                        samples[contender][input].push(begin.elapsed().as_secs_f64() * 1e3);
                    }
                }
            }
        }
        let median = |s: Vec<f64>| ah_types::median(&s).unwrap_or(f64::NAN);
        let ms = samples.into_iter().map(|inputs| inputs.into_iter().map(median).collect()).collect();
        Self { names, fallback, calls, ms }
    }

    fn singles(&self) -> &[Vec<f64>] {
        &self.ms[..self.names.len()]
    }

    fn dispatched(&self) -> &[f64] {
        &self.ms[self.names.len()]
    }

    /// Milliseconds of the whole stream.
    fn total(&self, contender: &[f64]) -> f64 {
        contender.iter().zip(&self.calls).map(|(ms, &n)| ms * f64::from(n)).sum()
    }

    /// The fastest single choice for an input, in hindsight.
    fn fastest(&self, input: usize) -> usize {
        let time = |choice: &usize| self.singles()[*choice][input];
        (0..self.names.len()).min_by(|a, b| time(a).total_cmp(&time(b))).unwrap_or(self.fallback)
    }

    /// Prints the gain of dispatching over each single choice, and after how many streams it has earned back the `cost`
    /// of `cost_of`.
    /// Whether it beats every single choice.
    pub fn report(&self, cost_of: &str, cost: Duration) -> bool {
        let (own, dispatched) = (self.total(self.dispatched()), self.dispatched());
        let geometric = |contender: &[f64]| {
            let logs = contender.iter().zip(dispatched).map(|(single, own)| (single / own).ln());
            let mean = logs.sum::<f64>() / dispatched.len() as f64;
            mean.exp()
        };
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by(|&a, &b| self.total(&self.singles()[a]).total_cmp(&self.total(&self.singles()[b])));
        println!("{:<48} {:>10} {:>14} {:>16}", "always", "stream, ms", "dispatch gains", "geometric mean");
        for &choice in &order {
            let single = &self.singles()[choice];
            let mark = if choice == self.fallback { " (fallback)" } else { "" };
            let name = format!("{}{mark}", self.names[choice]);
            let (total, geometric) = (self.total(single), geometric(single));
            println!("{name:<48} {total:>10.2} {:>13.2}x {geometric:>15.2}x", total / own);
        }
        println!("{:<48} {own:>10.2}", "dispatched");
        let fastest: Vec<f64> = (0..self.calls.len()).map(|i| self.singles()[self.fastest(i)][i]).collect();
        let hindsight = self.total(&fastest);
        println!(
            "{:<48} {hindsight:>10.2} {:>13.2}x {:>15.2}x",
            "the fastest for each input, in hindsight",
            hindsight / own,
            geometric(&fastest)
        );
        let best = self.total(&self.singles()[order[0]]);
        let beats = own < best;
        println!(
            "dispatching {} the best single choice, {}",
            if beats { "beats" } else { "does not beat" },
            self.names[order[0]]
        );
        for (what, ms) in
            [("the best single choice", best), ("the fallback", self.total(&self.singles()[self.fallback]))]
        {
            let saved = ms - own;
            if saved > 0.0 {
                println!(
                    "{cost_of} took {cost:.1?}, once; beside {what} that is earned back after {:.0} such streams",
                    cost.as_secs_f64() * 1e3 / saved
                );
            }
        }
        beats
    }

    /// Prints for each input the fastest single choice in hindsight, its time, and the dispatcher's.
    pub fn by_input(&self, sizes: impl Iterator<Item = String>) {
        println!("\n{:<26} {:>12} {:>14} {:>7}  fastest", "size", "fastest, ns", "dispatched, ns", "");
        for (input, size) in sizes.enumerate() {
            let fastest = self.fastest(input);
            let (best, own) = (self.singles()[fastest][input] * 1e6, self.dispatched()[input] * 1e6);
            println!("{size:<26} {best:>12.0} {own:>14.0} {:>6.2}x  {}", best / own, self.names[fastest]);
        }
    }
}
