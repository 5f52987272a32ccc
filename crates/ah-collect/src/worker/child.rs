//! The child: answers requests until its standard input ends.

use std::io::{self, BufRead as _, Write as _};
use std::sync::mpsc;

use ah_types::{ChoiceId, Context};

use super::protocol::{Answer, Request};
use ah_measure::{Failure, Runner};

/// Serves `runner` over standard input and output. The parent reports an `Err`.
///
/// # Errors
/// The parent is gone.
pub fn serve<E: ToString>(runner: Result<Box<dyn Runner>, E>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut say = |answer: &Answer| {
        let line = serde_json::to_string(answer)?;
        writeln!(out, "{line}")?;
        out.flush()
    };
    let mut runner = match runner {
        Ok(runner) => runner,
        Err(reason) => return say(&Answer::Unable { reason: reason.to_string() }),
    };
    say(&Answer::Ready {
        device: Box::new(runner.subject().device.clone()),
        choices: runner.subject().choices.clone(),
        timing: runner.subject().timing,
    })?;
    for line in requests() {
        let request = serde_json::from_str(&line)?;
        say(&answer(runner.as_mut(), request))?;
    }
    Ok(())
}

/// Reads the lines of standard input on a thread of its own: when the parent is gone, this process ends at
/// once, even while a kernel hangs.
fn requests() -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    lines
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
