//! The parent's side of a worker process.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ah_types::{ChoiceId, Context, Optimization};

use super::process::Link;
use super::protocol::{Answer, Request, WireContext};
use ah_measure::sampling::Rng;
use ah_measure::{Bench, Burst, Failure, Runner, Subject, Times};

/// A runner in a process of its own; see the [module](super).
#[derive(Debug)]
pub struct Worker {
    subject: Subject,
    /// Behind a lock, because drawing and labelling take `&self`.
    link: Mutex<Link>,
}

impl Worker {
    /// Starts the process of `link`.
    pub(super) fn over(mut link: Link, optimization: Optimization) -> Result<Self, String> {
        match link.start()? {
            Answer::Ready { device, choices, timing } => {
                let subject = Subject { optimization, device: *device, choices, timing };
                Ok(Self { subject, link: Mutex::new(link) })
            }
            Answer::Unable { reason } => Err(reason),
            other => Err(format!("the worker began with {other:?}")),
        }
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and returns the answer. If the worker is lost, the request has failed.
    fn ask(&self, request: &Request) -> Result<Answer, Failure> {
        self.ask_once(request).map_err(|failure| match failure {
            Failure::DeviceLost(reason) => Failure::Failed(reason),
            other => other,
        })
    }

    /// Sends a request and returns the answer, or [`Failure::DeviceLost`] if the worker is lost.
    fn ask_once(&self, request: &Request) -> Result<Answer, Failure> {
        let mut link = self.link();
        let reason = match link.ask(request) {
            Ok(Answer::DeviceLost { reason }) => reason,
            Ok(Answer::Skipped { reason }) => return Err(Failure::Skipped(reason)),
            Ok(Answer::Failed { reason }) => return Err(Failure::Failed(reason)),
            Ok(answer) => return Ok(answer),
            Err(reason) => reason,
        };
        link.end();
        Err(Failure::DeviceLost(reason))
    }
}

impl Bench for Worker {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        self.ask(&Request::Check { choice: choice.0 }).map(|_| ())
    }
    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        match self.ask(&Request::Run { choice: choice.0, burst })? {
            Answer::Times { ms } => Ok(ms),
            other => Err(Failure::failed(format!("the worker answered {other:?}"))),
        }
    }
}

impl Runner for Worker {
    fn subject(&self) -> &Subject {
        &self.subject
    }
    fn draw(&self, rng: &mut Rng) -> Result<Context, Failure> {
        let drawn = self.ask_once(&Request::Draw { rng: rng.clone() });
        match drawn.map_err(|failure| match failure {
            // The functions panicked on this input. The next one may be drawn.
            Failure::DeviceLost(reason) => Failure::Skipped(reason),
            other => other,
        })? {
            Answer::Drawn { context, rng: after } => {
                *rng = after;
                Ok(context.into())
            }
            other => Err(Failure::failed(format!("the worker answered {other:?}"))),
        }
    }
    fn accepts(&self, context: &Context) -> Result<(), String> {
        match self.ask(&Request::Accepts { context: context.into() }) {
            Ok(Answer::Refused { reason }) => Err(reason),
            Ok(_) => Ok(()),
            Err(failure) => Err(failure.to_string()),
        }
    }
    fn label(&self, context: &Context) -> String {
        match self.ask(&Request::Label { context: context.into() }) {
            Ok(Answer::Label { text }) => text,
            _ => context.to_string(),
        }
    }
    fn load(&mut self, context: &Context, rng: Rng) -> Result<(), Failure> {
        let context = WireContext::from(context);
        self.link().input = Some((context.clone(), rng.clone()));
        self.ask(&Request::Load { context, rng }).map(|_| ()).map_err(|failure| match failure {
            // The input failed, not a choice.
            Failure::Failed(reason) => Failure::Skipped(reason),
            other => other,
        })
    }
    fn unload(&mut self) {
        self.link().unload();
    }
}
