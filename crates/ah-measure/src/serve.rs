//! The worker's side: answers requests with a runner until standard input ends.

use std::io::{self, BufRead as _, Write as _};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use ah_model::{ChoiceId, Context, Schema};
use ah_types::Failure;
use serde_json::{Value, json};

use crate::measure::are_times;
use crate::protocol::{Description, Numbered, Request, WireCell, WireContext};
use crate::runner::BenchmarkRunner;
use crate::sampling::Seed;

/// The time between two signs of life, far below the least limit that a user would set.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);
/// Answers wait for the next ones at most this long, because each write wakes the other process up.
const LATEST: Duration = Duration::from_millis(1);

/// Serves one collector over standard input and output with the protocol of `docs/workers.md`: `ah-collect --worker PROGRAM`
/// measures the `runner`. Ends the process when standard input ends, even while a choice hangs.
///
/// # Errors
/// The other side is gone.
pub fn serve<R: BenchmarkRunner>(runner: R) -> io::Result<()> {
    let schema = runner.experiment().optimization.schema().unwrap_or_default();
    let mut session = Session { runner, schema, input: None, panicked: None };
    answer_all(|request, out| session.answer(request, out))
}

/// Serves one collector without a runner: tells it why there is none.
///
/// # Errors
/// As [`serve`].
pub fn refuse(reason: impl ToString) -> io::Result<()> {
    let failure = Failure::failed(reason);
    answer_all(|_, out| out.add(0, Err(failure.clone())))
}

fn answer_all(mut answer: impl FnMut(Request, &mut Answers) -> io::Result<()>) -> io::Result<()> {
    panic::set_hook(Box::new(|info| *lock(&LAST_PANIC) = info.to_string().replace('\n', " ")));
    for line in requests()? {
        let Numbered { id, request } = serde_json::from_str(&line)?;
        let mut out = Answers { id, text: String::new(), since: Instant::now() };
        // A panic may leave the runner in any state, so the collector starts another process.
        match catch_unwind(AssertUnwindSafe(|| answer(request, &mut out))) {
            Ok(sent) => sent?,
            Err(_) => out.add(0, Err(Failure::DeviceLost(std::mem::take(&mut *lock(&LAST_PANIC)))))?,
        }
        out.send()?;
    }
    Ok(())
}

/// Locks, and ignores poison: no code that can panic runs while the data is half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The message of the last panic, kept for the collector instead of printed.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// The answer to a request, or to one of its cells.
type Answer = Result<Value, Failure>;

/// The answers to one request, until they are sent.
struct Answers {
    id: u64,
    text: String,
    since: Instant,
}

impl Answers {
    fn add(&mut self, cell: usize, answer: Answer) -> io::Result<()> {
        let mut answer = answer.unwrap_or_else(|failure| json!(failure));
        answer["id"] = json!(self.id);
        answer["cell"] = json!(cell);
        // A kernel may have printed half a line, so an answer starts on a line of its own.
        self.text.push_str(&format!("\n{answer}\n"));
        if self.since.elapsed() > LATEST { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> io::Result<()> {
        self.since = Instant::now();
        write(&std::mem::take(&mut self.text))
    }
}

/// Writes whole lines.
fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Reads the lines of standard input on a separate thread: when the collector is gone, this process ends at
/// once, even while a choice hangs.
fn requests() -> io::Result<mpsc::Receiver<String>> {
    let (send, lines) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let _ = io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| send.send(line));
        std::process::exit(0);
    })?;
    Ok(lines)
}

/// A runner with the input that the next requests are about.
struct Session<R: BenchmarkRunner> {
    runner: R,
    schema: Schema,
    input: Option<R::Input>,
    /// The choice that panicked in this process.
    panicked: Option<ChoiceId>,
}

impl<R: BenchmarkRunner> Session<R> {
    /// Adds an answer for each cell, or the one answer.
    fn answer(&mut self, request: Request, out: &mut Answers) -> io::Result<()> {
        let answer = match request {
            Request::Check { cells } | Request::Time { cells } => return self.answer_cells(&cells, out),
            Request::Describe { .. } => Ok(json!(Description::of(self.runner.experiment()))),
            Request::Draw { seed } => {
                Ok(json!({ "context": WireContext::from(&self.runner.draw(&mut seed.rng())) }))
            }
            Request::Accept { context } => self
                .context(&context)
                .and_then(|context| self.runner.accepts(&context).map_err(Failure::Skipped))
                .map(done),
            Request::Prepare { context, seed } => self.prepare(&context, seed).map(done),
            Request::Compile { contexts } => {
                let contexts: Vec<_> = contexts.iter().filter_map(|wire| self.context(wire).ok()).collect();
                self.compile(&contexts, out.id);
                Ok(done(()))
            }
            Request::Release => self.release().map(done),
        };
        out.add(0, answer)
    }

    /// Times each cell that has a burst, and checks the others.
    fn answer_cells(&mut self, cells: &[WireCell], out: &mut Answers) -> io::Result<()> {
        for (at, WireCell { choice, burst }) in cells.iter().enumerate() {
            let known = self.runner.experiment().choices.iter().position(|known| known == choice);
            let id = known.and_then(|at| u32::try_from(at).ok()).map(ChoiceId);
            let answer = match (id, &mut self.input) {
                (None, _) => Err(Failure::failed(format!("{choice:?} is none of the choices"))),
                (_, None) => Err(Failure::failed("no input is prepared")),
                (Some(id), Some(input)) => {
                    let run = || match *burst {
                        None => self.runner.check(input, id).map(done),
                        // JSON has no NaN.
                        Some(burst) => {
                            Ok(json!({ "ms": are_times(self.runner.run_benchmark(input, id, burst)?)? }))
                        }
                    };
                    let result = catch_unwind(AssertUnwindSafe(run));
                    self.judge(id, result)
                }
            };
            let is_lost = matches!(answer, Err(Failure::DeviceLost(_)));
            out.add(at, answer)?;
            if is_lost {
                break;
            }
        }
        Ok(())
    }

    /// The result of a choice. A panic is a failure of the choice, and the process goes on; but if another choice
    /// panicked in it before, what that left behind may be the cause of a failure, so a new process decides.
    fn judge(&mut self, choice: ChoiceId, result: thread::Result<Answer>) -> Answer {
        let before = self.panicked;
        let result = result.unwrap_or_else(|panic| {
            if !self.runner.survives_panics() {
                panic::resume_unwind(panic);
            }
            self.panicked = Some(choice);
            Err(Failure::Failed(std::mem::take(&mut *lock(&LAST_PANIC))))
        });
        match (result, before) {
            (Err(Failure::Failed(reason)), Some(other)) if other != choice => {
                Err(Failure::DeviceLost(reason))
            }
            (result, _) => result,
        }
    }

    fn prepare(&mut self, context: &WireContext, seed: Seed) -> Result<(), Failure> {
        // The old operands are dropped first: both together may exceed the memory.
        self.release()?;
        let context = self.context(context)?;
        self.input = Some(self.runner.load(&context, &mut seed.rng())?);
        Ok(())
    }

    fn release(&mut self) -> Result<(), Failure> {
        let spoilt = |failure: Failure| Failure::DeviceLost(failure.reason().to_owned());
        self.input.take().map_or(Ok(()), |input| self.runner.unload(input).map_err(spoilt))
    }

    /// Compiles, with signs of life: hundreds of kernels on few cores take longer than an answer may.
    fn compile(&mut self, contexts: &[Context], id: u64) {
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            scope.spawn(move || {
                while is_done.recv_timeout(SIGN_OF_LIFE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    // A collector that is gone ends this process.
                    let _ = write(&format!("\n{}\n", json!({ "id": id, "working": "compiling" })));
                }
            });
            self.runner.compile_ahead(contexts);
            drop(done);
        });
    }

    fn context(&self, context: &WireContext) -> Result<Context, Failure> {
        context.context(&self.schema).map_err(Failure::Skipped)
    }
}

fn done((): ()) -> Value {
    json!({})
}

#[cfg(test)]
mod tests {
    use ah_model::Device;
    use ah_types::{Optimization, TimingPolicy};

    use super::*;
    use crate::{Burst, Experiment, Times};

    struct Unruly {
        experiment: Experiment,
    }

    impl BenchmarkRunner for Unruly {
        type Input = ();

        fn experiment(&self) -> &Experiment {
            &self.experiment
        }

        fn load(&mut self, _: &Context, _: &mut crate::sampling::Rng) -> Result<(), Failure> {
            Ok(())
        }

        fn check(&mut self, (): &mut (), _: ChoiceId) -> Result<(), Failure> {
            Ok(())
        }

        fn run_benchmark(&mut self, (): &mut (), _: ChoiceId, _: Burst) -> Result<Times, Failure> {
            Ok(vec![1.0])
        }

        fn survives_panics(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_panic_is_blamed_on_its_choice_and_on_no_other() {
        let names = ["a", "b"].map(str::to_owned).to_vec();
        let optimization = Optimization::new("unruly");
        let timing = TimingPolicy::default();
        let experiment = Experiment::new(optimization, Device::Cpu(ah_model::Cpu::default()), names, timing);
        let runner = Unruly { experiment };
        let mut session = Session { runner, schema: Schema::default(), input: Some(()), panicked: None };
        let panic = || catch_unwind(|| panic::resume_unwind(Box::new("on purpose")));
        let wrong = || Ok(Err(Failure::failed("wrong")));
        let [a, b] = [ChoiceId(0), ChoiceId(1)];
        assert!(matches!(session.judge(b, wrong()), Err(Failure::Failed(_))));
        // Each panics or fails again and again, and the process goes on.
        assert!(matches!(session.judge(a, panic()), Err(Failure::Failed(_))));
        assert!(matches!(session.judge(a, panic()), Err(Failure::Failed(_))));
        assert!(session.judge(b, Ok(Ok(json!({})))).is_ok());
        // What `a` left behind may be the cause.
        assert!(matches!(session.judge(b, wrong()), Err(Failure::DeviceLost(_))));
        assert!(matches!(session.judge(b, panic()), Err(Failure::DeviceLost(_))));
    }
}
