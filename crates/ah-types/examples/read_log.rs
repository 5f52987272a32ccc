//! Reads logs and prints their contents and the speed of reading: `cargo run --release --example read_log LOG...`
use std::time::Instant;

fn main() {
    for path in std::env::args().skip(1) {
        let start = Instant::now();
        match ah_types::log::read(&[&path]) {
            Ok(log) => println!(
                "{path}: {} {} inputs, {} choices, {} samples, {} blank lines, {:.0} ms",
                log.metadata.name,
                log.inputs.len(),
                log.choices.len(),
                log.samples.len(),
                log.irregularities.blank_lines,
                start.elapsed().as_secs_f64() * 1e3
            ),
            Err(error) => println!("error: {error}"),
        }
    }
}
