//! Any lines from a worker process: a failure in words, or measurements that the log can hold.
//!
//! The lines follow an honest first message; those of an input that starts with `!` do not.
#![no_main]
#![allow(dead_code)] // The collector's own files, of which this uses the doors.
use std::collections::VecDeque;
use std::sync::LazyLock;

use ah_measure::{Runner as _, measure, sampling};
use ah_types::{Cpu, Device, Optimization, Outcome, TimingPolicy};
use libfuzzer_sys::fuzz_target;
use protocol::Answer;

#[path = "../../crates/ah-collect/src/worker/parent.rs"]
mod parent;
#[path = "../../crates/ah-collect/src/worker/protocol.rs"]
mod protocol;

/// A process that is only what it says.
mod process {
    use super::VecDeque;
    use super::protocol::{Answer, Request, WireContext};
    use super::sampling::Rng;

    #[derive(Debug)]
    pub struct Link {
        pub answers: VecDeque<Answer>,
        pub input: Option<(WireContext, Rng)>,
    }

    impl Link {
        pub fn start(&mut self) -> Result<Answer, String> {
            self.answers.pop_front().ok_or_else(|| "crashed".to_owned())
        }
        pub fn ask(&mut self, request: &Request) -> Result<Answer, String> {
            let line = serde_json::to_string(request).expect("a line");
            assert!(!line.contains('\n') && serde_json::from_str::<Request>(&line).is_ok(), "{line}");
            self.start()
        }
        pub fn end(&mut self) {}
        pub fn unload(&mut self) {
            self.input = None;
        }
    }
}

static OPTIMIZATION: LazyLock<Optimization> = LazyLock::new(|| {
    let text = "name = 'x'\nfallback = ['a']\n[[feature]]\nname = 'n'\nkind = 'numerical'\n\
                [[choice]]\nname = 'b'\neligible = 'n > 1'\n";
    Optimization::from_toml(text).expect("a small optimization")
});

const POLICY: TimingPolicy = TimingPolicy {
    warmup_runs: 2,
    min_samples: 1,
    max_samples: 3,
    target_relative_error: 0.01,
    budget_ms: 200.0,
    min_sample_ms: 0.05,
    cold: false,
    early_stop_ratio: 3.0,
    burst: 2,
    repetitions: 2,
};

fn ready() -> Answer {
    let device = Cpu { model: "x".to_owned(), cores: 1, caches: Vec::new(), instruction_sets: Vec::new() };
    let choices = ["a", "b", "c"].map(str::to_owned).to_vec();
    Answer::Ready { device: Box::new(Device::Cpu(device)), choices, timing: POLICY }
}

fuzz_target!(|bytes: &[u8]| {
    let (ready, bytes) = match bytes.strip_prefix(b"!") {
        Some(lines) => (None, lines),
        None => (Some(ready()), bytes),
    };
    // A kernel may print too; its lines are no answers.
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let answers = ready.into_iter().chain(lines).collect();
    let link = process::Link { answers, input: None };
    let Ok(mut worker) = parent::Worker::over(link, OPTIMIZATION.clone()) else { return };
    let mut rng = sampling::rng(0, 0);
    let Ok(context) = worker.draw(&mut rng) else { return };
    let _ = (worker.accepts(&context), worker.label(&context));
    let Ok(measurement) = measure(&mut worker, &context, rng, &POLICY) else { return };
    assert_eq!(measurement.outcomes.len(), worker.subject().choices.len());
    for outcome in &measurement.outcomes {
        if let Outcome::Measured { feedback } = outcome {
            assert!(POLICY.rows(feedback).iter().all(|ms| *ms > 0.0), "{feedback:?}");
        }
    }
});
