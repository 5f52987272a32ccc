//! A program that uses a learned heuristic: it links the generated crate, asks it through
//! `ah-runtime` on fresh inputs, measures every choice there, and prints what that gained.

use std::error::Error;
use std::process::ExitCode;

use ah_collect::backend::{self, Backend};
use ah_collect::{cli, judge};
use ah_runtime::{AutoHeuristic, Role};

const USAGE: &str = "consult --backend auto|cpu|cuda --num-samples N --seed N";

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
    let (mut chosen, mut samples, mut seed) = ("auto".to_owned(), 24, 1001);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        match flag.as_str() {
            "--backend" => chosen = value,
            "--num-samples" => samples = value.parse()?,
            "--seed" => seed = value.parse()?,
            _ => return Err(USAGE.into()),
        }
    }
    let backend = match chosen.as_str() {
        "auto" => Backend::auto().0,
        "cpu" => Backend::Cpu,
        "cuda" => Backend::Cuda,
        _ => return Err(USAGE.into()),
    };

    let optimization = backend::optimization("pad_mm", backend)?;
    let mut runner = backend::open(optimization.clone(), backend, 0, false)?;

    // What a program does once: the generated crate makes itself known, and a decision point binds to it.
    simple_heuristic::register();
    let pad_mm = AutoHeuristic::builder("pad_mm")
        .choices(&runner.subject().choices)
        .optimization(&optimization)
        .device(runner.subject().device.clone())
        .role(Role::Consult)
        .build()?;

    let inputs = judge::fresh(&*runner, seed, samples)?;
    let policy = runner.subject().timing;
    let fallback = optimization.fallback_among(pad_mm.choices()).ok_or("pad_mm has no fallback here")?;
    let judgement = judge::judge(
        &mut *runner,
        inputs,
        &policy,
        fallback,
        // What it does on every call.
        |context, _offered| {
            let answer = pad_mm.choose_for(context);
            answer.is_learned().then(|| answer.choice.to_owned())
        },
        |judged| eprintln!("  {}: {:.4} ms", judged.label, judged.ms),
    )?;
    println!("{}", cli::judgement_table(&judgement));
    Ok(())
}
