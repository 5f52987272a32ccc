//! A worker that misbehaves on purpose: its choices are slow, noisy, failing, wrong, hanging and crashing. With it, the tests
//! prove without a GPU that a run survives all of them, and a cluster's scripts are tried (`scripts/slurm/test.sh`).
//!
//! ```text
//! ah-collect --worker target/debug/examples/fake                # choices that hang or crash are not offered
//! ah-collect --worker "target/debug/examples/fake faults"       # they are, and do so on even sizes
//! ```
//!
//! Its clock is invented: a time depends on the input, the choice and the number of samples taken, so two
//! runs give the same log. `AH_FAKE_PACE_US` is the real duration of a sample in microseconds.

use std::time::Duration;

use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};
use ah_types::{ChoiceId, Context, Cpu, Device, Feature, Optimization, TimingPolicy};
use rand::Rng as _;

/// The behaviour of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Its time is proportional to the size.
    Steady,
    /// Faster below 1000 elements, slower above.
    SmallIsFast,
    /// Takes ten times as long.
    Slow,
    /// Takes up to 1.5 times as long.
    Noisy,
    /// Fails when it runs.
    Failing,
    /// Fails on the third sample.
    FailingLate,
    /// Gives a wrong result.
    Wrong,
    /// Never answers (on even sizes).
    Hanging,
    /// Ends the process (on even sizes).
    Crashing,
    /// Loses the device to the process (on even sizes).
    Losing,
}

const MANNERS: [(&str, Manner); 10] = [
    ("steady", Manner::Steady),
    ("small_is_fast", Manner::SmallIsFast),
    ("slow", Manner::Slow),
    ("noisy", Manner::Noisy),
    ("failing", Manner::Failing),
    ("failing_late", Manner::FailingLate),
    ("wrong", Manner::Wrong),
    ("hanging", Manner::Hanging),
    ("crashing", Manner::Crashing),
    ("losing", Manner::Losing),
];

/// The fake device.
struct Fake {
    experiment: Experiment,
    has_faults: bool,
    /// The real duration of a sample.
    pace: Duration,
}

/// An input of the fake device.
struct FakeInput {
    size: f64,
    noise: Rng,
    samples: [u32; MANNERS.len()],
}

fn main() -> std::io::Result<()> {
    let optimization = Optimization {
        description: "A device that misbehaves on purpose: it proves what ah-collect survives.".to_owned(),
        fallback: vec!["steady".to_owned()],
        features: vec![Feature { integer: true, ..Feature::numerical("size") }, Feature::categorical("kind")],
        ..Optimization::new("fake")
    };
    let device = Device::Cpu(Cpu { model: "fake".to_owned(), cores: 1, ..Cpu::default() });
    let choices = MANNERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    // Its times are invented, so a busy machine must not end the samples of a choice.
    let timing = TimingPolicy { max_samples: 10, budget_ms: 60_000.0, ..TimingPolicy::default() };
    let experiment = Experiment { simulated: true, ..Experiment::new(optimization, device, choices, timing) };
    let pace = std::env::var("AH_FAKE_PACE_US").ok().and_then(|us| us.parse().ok()).unwrap_or(20);
    let has_faults = std::env::args().nth(1).is_some_and(|argument| argument == "faults");
    ah_measure::serve(Ok::<_, String>(Fake { experiment, has_faults, pace: Duration::from_micros(pace) }))
}

impl Fake {
    /// Returns whether the faults happen on this input.
    fn faults(&self, input: &FakeInput) -> bool {
        self.has_faults && input.size % 2.0 == 0.0
    }
}

impl BenchmarkRunner for Fake {
    type Input = FakeInput;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let size = sampling::log_uniform(rng, 1, 100_000);
        Context::new().with("size", size).with("kind", *sampling::pick(rng, &["apples", "pears"]))
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        match context.number("size") {
            Some(size) if size >= 1.0 => Ok(()),
            _ => Err("size must be at least 1".to_owned()),
        }
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<FakeInput, Failure> {
        let size = context.number("size").unwrap_or(1.0);
        if size > 90_000.0 {
            return Err(Failure::skipped("out of memory: more than 90000 elements do not fit"));
        }
        Ok(FakeInput { size, noise: rng.clone(), samples: [0; MANNERS.len()] })
    }

    fn check(&mut self, input: &mut FakeInput, choice: ChoiceId) -> Result<(), Failure> {
        match MANNERS[choice.index()].1 {
            Manner::Hanging | Manner::Crashing | Manner::Losing if !self.has_faults => {
                Err(Failure::skipped("only with the argument `faults`"))
            }
            Manner::Wrong => Err(Failure::failed("wrong result: relative error 1 (at most 1e-6 expected)")),
            Manner::Crashing if self.faults(input) => std::process::abort(),
            _ => Ok(()),
        }
    }

    fn run_benchmark(
        &mut self,
        input: &mut FakeInput,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Times, Failure> {
        let manner = MANNERS[choice.index()].1;
        let mut times = Vec::new();
        for _ in 0..burst.samples {
            std::thread::sleep(self.pace);
            input.samples[choice.index()] += 1;
            let factor = match manner {
                Manner::SmallIsFast if input.size < 1000.0 => 0.5,
                Manner::SmallIsFast => 1.5,
                Manner::Slow => 10.0,
                Manner::Noisy => input.noise.random_range(1.0..1.5),
                Manner::Failing => return Err(Failure::failed("this choice always fails")),
                Manner::FailingLate if input.samples[choice.index()] > 3 => {
                    return Err(Failure::failed("this choice fails after a while"));
                }
                Manner::Hanging if self.faults(input) => loop {
                    std::thread::park();
                },
                Manner::Losing if self.faults(input) => {
                    return Err(Failure::DeviceLost("an illegal address was encountered".to_owned()));
                }
                _ => 1.0,
            };
            times.push(input.size * factor * 1e-3);
        }
        Ok(times)
    }
}
