//! A worker that misbehaves on purpose: its choices are slow, noisy, failing, wrong, hanging and crashing. With it, the tests
//! prove without a GPU that a run survives all of them, and a cluster's scripts are tried (`scripts/slurm/test.sh`).
//!
//! ```text
//! ah-collect --worker target/debug/examples/fake                # choices that hang or crash are not offered
//! ah-collect --worker "target/debug/examples/fake faults"       # they are, and do so on even sizes
//! ah-collect --worker "target/debug/examples/fake nan"          # the slow choice takes no number of milliseconds
//! ah-collect --worker "target/debug/examples/fake busy"         # the machine is at fault on some inputs and choices
//! ```
//!
//! Its clock is invented: a time depends on the input, the choice and the number of samples taken, so two
//! runs give the same log. `AH_FAKE_PACE_US` is the real duration of a sample in microseconds.

use std::time::Duration;

use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};
use ah_model::{ChoiceId, Context, Cpu, Device, Feature};
use ah_types::{Optimization, TimingPolicy};
use rand::Rng as _;

/// The behaviour of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
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

const BEHAVIOURS: [(&str, Behaviour); 10] = [
    ("steady", Behaviour::Steady),
    ("small_is_fast", Behaviour::SmallIsFast),
    ("slow", Behaviour::Slow),
    ("noisy", Behaviour::Noisy),
    ("failing", Behaviour::Failing),
    ("failing_late", Behaviour::FailingLate),
    ("wrong", Behaviour::Wrong),
    ("hanging", Behaviour::Hanging),
    ("crashing", Behaviour::Crashing),
    ("losing", Behaviour::Losing),
];

/// The fake device.
struct Fake {
    experiment: Experiment,
    has_faults: bool,
    is_busy: bool,
    /// How many times longer the slow choice takes.
    slow: f64,
    /// The real duration of a sample.
    pace: Duration,
}

/// An input of the fake device.
struct FakeInput {
    size: f64,
    noise: Rng,
    samples: [u32; BEHAVIOURS.len()],
}

fn main() -> std::io::Result<()> {
    let optimization = Optimization {
        description: "A device that misbehaves on purpose: it proves what ah-collect survives.".to_owned(),
        fallback: vec!["steady".to_owned()],
        features: vec![Feature { integer: true, ..Feature::numerical("size") }, Feature::categorical("kind")],
        ..Optimization::new("fake")
    };
    let device = Device::Cpu(Cpu { model: "fake".to_owned(), cores: 1, ..Cpu::default() });
    let choices = BEHAVIOURS.iter().map(|(name, _)| (*name).to_owned()).collect();
    // Its times are invented, so a busy machine must not end the samples of a choice.
    let timing = TimingPolicy { max_samples: 10, budget_ms: 60_000.0, ..TimingPolicy::default() };
    let experiment = Experiment { simulated: true, ..Experiment::new(optimization, device, choices, timing) };
    let pace = std::env::var("AH_FAKE_PACE_US").ok().and_then(|us| us.parse().ok()).unwrap_or(20);
    let is_asked = |argument| std::env::args().nth(1).is_some_and(|given| given == argument);
    let slow = if is_asked("nan") { f64::NAN } else { 10.0 };
    ah_measure::serve(Fake {
        experiment,
        has_faults: is_asked("faults"),
        is_busy: is_asked("busy"),
        slow,
        pace: Duration::from_micros(pace),
    })
}

impl Fake {
    /// Whether the faults happen on this input.
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
        if self.is_busy && size % 7.0 == 0.0 {
            return Err(Failure::Unmeasured("another program holds the memory".to_owned()));
        }
        Ok(FakeInput { size, noise: rng.clone(), samples: [0; BEHAVIOURS.len()] })
    }

    fn check(&mut self, input: &mut FakeInput, choice: ChoiceId) -> Result<(), Failure> {
        match BEHAVIOURS[choice.index()].1 {
            Behaviour::Hanging | Behaviour::Crashing | Behaviour::Losing if !self.has_faults => {
                Err(Failure::skipped("only with the argument `faults`"))
            }
            Behaviour::Noisy if self.is_busy && input.size % 3.0 == 0.0 => {
                Err(Failure::Unmeasured("the card is throttled".to_owned()))
            }
            Behaviour::Wrong => {
                Err(Failure::failed("wrong result: relative error 1 (at most 1e-6 expected)"))
            }
            Behaviour::Crashing if self.faults(input) => std::process::abort(),
            _ => Ok(()),
        }
    }

    fn run_benchmark(
        &mut self,
        input: &mut FakeInput,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Times, Failure> {
        let behaviour = BEHAVIOURS[choice.index()].1;
        let mut times = Vec::new();
        for _ in 0..burst.samples {
            std::thread::sleep(self.pace);
            input.samples[choice.index()] += 1;
            let factor = match behaviour {
                Behaviour::SmallIsFast if input.size < 1000.0 => 0.5,
                Behaviour::SmallIsFast => 1.5,
                Behaviour::Slow => self.slow,
                Behaviour::Noisy => input.noise.random_range(1.0..1.5),
                Behaviour::Failing => return Err(Failure::failed("this choice always fails")),
                Behaviour::FailingLate if input.samples[choice.index()] > 3 => {
                    return Err(Failure::failed("this choice fails after a while"));
                }
                Behaviour::Hanging if self.faults(input) => loop {
                    std::thread::park();
                },
                Behaviour::Losing if self.faults(input) => {
                    return Err(Failure::DeviceLost("an illegal address was encountered".to_owned()));
                }
                _ => 1.0,
            };
            times.push(input.size * factor * 1e-3);
        }
        Ok(times)
    }
}
