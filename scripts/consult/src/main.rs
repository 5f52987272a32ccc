//! A program that uses a learned heuristic: it links the generated crate, asks it through `ah-runtime` on
//! fresh inputs, measures every choice there, and prints the gain.

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use ah_collect::Backend;
use ah_collect::evaluate::{self, References};
use ah_runtime::{AutoHeuristic, Role};

const USAGE: &str = "consult --name NAME --backend cpu|cuda --baseline CHOICE,... --num-samples N --seed N";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let (mut name, mut backend, mut baseline) = (String::new(), Backend::Cpu, Vec::new());
    let (mut samples, mut seed) = (24, 1001);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        match (flag.as_str(), value.as_str()) {
            ("--name", _) => name = value,
            ("--backend", "cpu") => backend = Backend::Cpu,
            ("--backend", "cuda") => backend = Backend::Cuda,
            ("--baseline", _) => baseline = value.split(',').map(str::to_owned).collect(),
            ("--num-samples", _) => samples = value.parse()?,
            ("--seed", _) => seed = value.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    let optimization = backend.optimization(&name)?;
    let mut runner = backend.open(optimization.clone(), 0, false)?;

    // What a program does once: the generated crate makes itself known, and a decision point binds to it.
    simple_heuristic::register();
    let heuristic = AutoHeuristic::builder(&name)
        .choices(&runner.subject().choices)
        .optimization(&optimization)
        .device(runner.subject().device.clone())
        .role(Role::Consult)
        .build()?;

    let inputs = evaluate::fresh(&*runner, seed, samples)?;
    let policy = runner.subject().timing;
    let fallback = optimization.fallback_among(heuristic.choices()).ok_or("there is no fallback here")?;
    let references = References { fallback: fallback.to_owned(), baseline };
    let evaluation = evaluate::evaluate(
        &mut *runner,
        inputs,
        &policy,
        &references,
        // What it does on every call.
        |context, _offered| {
            let answer = heuristic.choose_for(context);
            answer.is_learned().then(|| answer.choice.to_owned())
        },
        |input| eprintln!("  {}: {:.4} ms", input.label, input.ms),
    )?;
    println!("{}", evaluation.table());

    let inputs: Vec<_> = evaluation.inputs.iter().map(|input| heuristic.values(&input.context)).collect();
    let (rounds, begin) = (10_000, Instant::now());
    for _ in 0..rounds {
        for values in &inputs {
            black_box(heuristic.choose(black_box(values)));
        }
    }
    let decisions = f64::from(rounds) * inputs.len() as f64;
    println!("a decision takes {:.0} ns, which no time above contains", begin.elapsed().as_secs_f64() * 1e9 / decisions);
    Ok(())
}
