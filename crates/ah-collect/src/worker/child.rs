//! The child: answers requests until its standard input ends.

use std::io::{self, BufRead as _, Write as _};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use ah_types::{ChoiceId, Context};

use super::protocol::{Answer, Request};
use ah_measure::{Failure, Runner};

/// Serves `runner` over standard input and output. The parent reports an `Err`.
pub fn serve<E: ToString>(runner: Result<Box<dyn Runner>, E>) -> io::Result<()> {
    // Kernels may print, so the stream is locked for one answer at a time, and an answer starts on a line
    // of its own.
    let say = |answer: &Answer| {
        let line = serde_json::to_string(answer)?;
        let mut out = io::stdout().lock();
        write!(out, "\n{line}\n")?;
        out.flush()
    };
    let mut runner = match runner {
        Ok(runner) => runner,
        Err(reason) => return say(&Answer::Unable { reason: reason.to_string() }),
    };
    let requests = match requests() {
        Ok(requests) => requests,
        Err(e) => return say(&Answer::Unable { reason: format!("cannot start a thread: {e}") }),
    };
    say(&Answer::Ready {
        device: Box::new(runner.subject().device.clone()),
        choices: runner.subject().choices.clone(),
        timing: runner.subject().timing,
    })?;
    let panics = PanicMessage::keep();
    for line in requests {
        let request = serde_json::from_str(&line)?;
        let answer = catch_unwind(AssertUnwindSafe(|| answer(runner.as_mut(), request)));
        // A panic may leave the runner in any state, so the parent starts another process.
        say(&answer.unwrap_or_else(|_| Answer::DeviceLost { reason: panics.take() }))?;
    }
    Ok(())
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
    std::thread::Builder::new().spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
        std::process::exit(0);
    })?;
    Ok(lines)
}

fn answer(runner: &mut dyn Runner, request: Request) -> Answer {
    let done = |result: Result<(), Failure>| result.map_or_else(Answer::from, |()| Answer::Done);
    match request {
        Request::Draw { mut rng } => match runner.draw(&mut rng) {
            Ok(context) => Answer::Drawn { context: (&context).into(), rng },
            Err(failure) => failure.into(),
        },
        Request::Accepts { context } => match runner.accepts(&context.into()) {
            Ok(()) => Answer::Done,
            Err(reason) => Answer::Refused { reason },
        },
        Request::Label { context } => Answer::Label { text: runner.label(&context.into()) },
        Request::Load { context, rng } => done(runner.load(&Context::from(context), rng)),
        Request::Check { choice } => done(runner.check(ChoiceId(choice))),
        Request::Run { choice, burst } => match runner.run(ChoiceId(choice), burst) {
            Ok(ms) => Answer::Times { ms },
            Err(failure) => failure.into(),
        },
        Request::Unload => {
            runner.unload();
            Answer::Done
        }
    }
}
