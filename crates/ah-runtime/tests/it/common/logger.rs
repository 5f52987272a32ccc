//! Keeps the lines that this process logs.

use std::sync::{Mutex, Once};

pub static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// What the logger does once.
pub static AT_LINE: Mutex<Option<Action>> = Mutex::new(None);

pub struct Action {
    /// It runs at the first line that contains this text.
    pub text: String,
    pub run: Box<dyn FnOnce() + Send>,
}

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let line = format!("{}: {}", record.level(), record.args());
        let action = AT_LINE.lock().unwrap().take_if(|action| line.contains(&action.text));
        LINES.lock().unwrap().push(line);
        if let Some(action) = action {
            (action.run)();
        }
    }

    fn flush(&self) {}
}

pub fn start() {
    static START: Once = Once::new();
    START.call_once(|| {
        log::set_logger(&Logger).unwrap();
        log::set_max_level(log::LevelFilter::Info);
    });
}
