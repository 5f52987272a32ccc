//! The child: a worker in Rust, which answers requests with a runner until its standard input ends.

use std::collections::HashSet;
use std::io::{self, BufRead as _, Write as _};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use ah_measure::{Burst, Failure, Planned, Runner};
use ah_types::{ChoiceId, Schema};
use serde_json::{Map, Value, json};

use super::protocol::{Answer, Description, Numbered, Request, WireCell, WireContext, WireGroup};

/// The time between two signs of life, far below the least limit that a user would set.
const SIGN_OF_LIFE: Duration = Duration::from_millis(500);

/// Serves `runner` over standard input and output. The parent reports an `Err`.
pub fn serve<E: ToString>(runner: Result<Box<dyn Runner>, E>) -> io::Result<()> {
    let mut runner = runner.map_err(Failure::failed);
    let panics = PanicMessage::keep();
    for line in requests()? {
        let Numbered { id, request } = serde_json::from_str(&line)?;
        let answers = match &mut runner {
            Ok(runner) => {
                let answers = catch_unwind(AssertUnwindSafe(|| answers(runner.as_mut(), id, request)));
                // A panic may leave the runner in any state, so the parent starts another process.
                answers.unwrap_or_else(|_| vec![Failure::DeviceLost(panics.take()).into()])
            }
            Err(reason) => vec![reason.clone().into()],
        };
        for (cell, Answer(mut fields)) in answers.into_iter().enumerate() {
            fields.insert("id".to_owned(), json!(id));
            fields.insert("cell".to_owned(), json!(cell));
            send(&Value::Object(fields))?;
        }
    }
    Ok(())
}

/// Sends one line.
fn send(line: &Value) -> io::Result<()> {
    // Kernels may print, so the stream is locked for one answer at a time, and an answer starts on a line of its own.
    let mut out = io::stdout().lock();
    write!(out, "\n{line}\n")?;
    out.flush()
}

/// The message of the last panic, kept for the parent instead of printed.
struct PanicMessage(Arc<Mutex<String>>);

impl PanicMessage {
    fn keep() -> Self {
        let message = Arc::new(Mutex::new(String::new()));
        let hook = Arc::clone(&message);
        panic::set_hook(Box::new(move |info| {
            *hook.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string().replace('\n', " ");
        }));
        Self(message)
    }

    fn take(&self) -> String {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads the lines of standard input on a separate thread: when the parent is gone, this process ends at
/// once, even while a kernel hangs.
fn requests() -> io::Result<mpsc::Receiver<String>> {
    let (send, lines) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
        std::process::exit(0);
    })?;
    Ok(lines)
}

/// Returns an answer for each cell, or the one answer.
fn answers(runner: &mut dyn Runner, number: u64, request: Request) -> Vec<Answer> {
    let fields = |fields: Value| Answer(fields.as_object().cloned().unwrap_or_default());
    let done = |result: Result<(), Failure>| result.map_or_else(Answer::from, |()| Answer(Map::new()));
    let schema: Schema = runner.subject().optimization.schema().unwrap_or_default();
    vec![match request {
        Request::Describe { .. } => fields(json!(Description::of(runner))),
        Request::Draw { seed } => match runner.draw(seed) {
            Ok(context) => fields(json!({ "context": WireContext::from(&context) })),
            Err(failure) => failure.into(),
        },
        Request::Accept { context } => done(match context.context(&schema) {
            Ok(context) => runner.accepts(&context).map_err(Failure::Skipped),
            Err(mistake) => Err(Failure::Skipped(mistake)),
        }),
        Request::Label { context } => match context.context(&schema) {
            Ok(context) => fields(json!({ "label": runner.label(&context) })),
            Err(mistake) => Failure::Skipped(mistake).into(),
        },
        Request::Prepare { context, seed } => done(match context.context(&schema) {
            Ok(context) => runner.load(&context, seed),
            Err(mistake) => Err(Failure::Skipped(mistake)),
        }),
        Request::Compile { groups } => {
            let planned: Vec<Planned> =
                groups.iter().map(|group| planned(&runner.subject().choices, &schema, group)).collect();
            compile(runner, &planned, number);
            done(Ok(()))
        }
        Request::Release => {
            runner.unload();
            done(Ok(()))
        }
        Request::Check { cells } => {
            return cells.iter().map(|cell| done(id(runner, cell).and_then(|id| runner.check(id)))).collect();
        }
        Request::Time { cells } => {
            let time = |cell: &WireCell| {
                let burst = cell.burst.unwrap_or(Burst { samples: 1, runs: 1, cold: false });
                match id(runner, cell).and_then(|id| runner.run(id, burst)) {
                    Ok(ms) => fields(json!({ "ms": ms })),
                    Err(failure) => failure.into(),
                }
            };
            return cells.iter().map(time).collect();
        }
    }]
}

/// Returns the inputs and choices of a group that are known here.
fn planned(choices: &[String], schema: &Schema, group: &WireGroup) -> Planned {
    let ids = |names: &Vec<String>| {
        let names: HashSet<&String> = names.iter().collect();
        (0..).map(ChoiceId).zip(choices).filter(|(_, name)| names.contains(name)).map(|(id, _)| id).collect()
    };
    Planned {
        contexts: group.contexts.iter().filter_map(|context| context.context(schema).ok()).collect(),
        choices: group.choices.as_ref().map(ids),
    }
}

/// Compiles, with signs of life: hundreds of kernels on few cores take longer than an answer may.
fn compile(runner: &mut dyn Runner, planned: &[Planned], number: u64) {
    thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        scope.spawn(move || {
            while is_done.recv_timeout(SIGN_OF_LIFE) == Err(mpsc::RecvTimeoutError::Timeout) {
                // A parent that is gone ends this process.
                let _ = send(&json!({ "id": number, "working": "compiling" }));
            }
        });
        runner.compile_ahead(planned);
        drop(done);
    });
}

fn id(runner: &dyn Runner, cell: &WireCell) -> Result<ChoiceId, Failure> {
    let id = runner.subject().choices.iter().position(|choice| *choice == cell.choice);
    let id = id.and_then(|id| u32::try_from(id).ok()).map(ChoiceId);
    id.ok_or_else(|| Failure::failed(format!("{:?} is none of the choices", cell.choice)))
}

#[cfg(test)]
mod tests {
    use ah_measure::sampling::Seed;
    use ah_measure::{Bench, Subject, Times, this_cpu};
    use ah_types::{Context, Feature, Optimization, TimingPolicy};

    use super::*;

    /// A runner that only notes what it is told to compile.
    struct Compiler {
        subject: Subject,
        planned: Vec<Planned>,
    }

    impl Bench for Compiler {
        fn check(&mut self, _: ChoiceId) -> Result<(), Failure> {
            Err(Failure::failed("runs nothing"))
        }
        fn run(&mut self, _: ChoiceId, _: Burst) -> Result<Times, Failure> {
            Err(Failure::failed("runs nothing"))
        }
    }

    impl Runner for Compiler {
        fn subject(&self) -> &Subject {
            &self.subject
        }
        fn draw(&self, _: Seed) -> Result<Context, Failure> {
            Err(Failure::failed("draws nothing"))
        }
        fn accepts(&self, _: &Context) -> Result<(), String> {
            Ok(())
        }
        fn label(&self, context: &Context) -> String {
            context.to_string()
        }
        fn load(&mut self, _: &Context, _: Seed) -> Result<(), Failure> {
            Ok(())
        }
        fn unload(&mut self) {}
        fn look_ahead(&self) -> usize {
            10
        }
        fn compile_ahead(&mut self, planned: &[Planned]) {
            self.planned.extend_from_slice(planned);
        }
    }

    #[test]
    fn a_runner_that_compiles_says_so_and_gets_the_inputs_and_choices_of_each_group() {
        let optimization =
            Optimization { features: vec![Feature::numerical("n")], ..Optimization::new("compiled") };
        let subject = Subject {
            optimization,
            device: this_cpu(),
            choices: ["a", "b", "c"].map(str::to_owned).into(),
            timing: TimingPolicy::default(),
        };
        let mut runner = Compiler { subject, planned: Vec::new() };
        assert!(Description::of(&runner).can.contains("compile"));
        let request = r#"{"request":"compile","groups":[
            {"contexts":[{"n":1},{"n":2},{"m":3}],"choices":["c","a","unknown"]},{"contexts":[{"n":4}]}]}"#;
        let answers = answers(&mut runner, 7, serde_json::from_str(request).unwrap());
        assert_eq!(answers, [Answer(Map::new())]);
        let with = |n: u32| Context::new().with("n", n);
        assert_eq!(
            runner.planned,
            [
                Planned { contexts: vec![with(1), with(2)], choices: Some(vec![ChoiceId(0), ChoiceId(2)]) },
                Planned { contexts: vec![with(4)], choices: None },
            ]
        );
    }
}
