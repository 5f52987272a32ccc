//! `ah-train`: the command line around the library, and code generation as the last step.

mod cli;

use std::process::ExitCode;

use ah_train::{TrainError, report};
use ah_types::Model;
use clap::Parser;

use cli::{Cli, Command, EvaluateArgs, TrainArgs};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Some(Command::Evaluate(args)) => evaluate(args),
        None => train(&cli.train),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn train(args: &TrainArgs) -> Result<(), TrainError> {
    let params = args.raw().check()?;
    if let Some(threads) = params.threads {
        // Fails only where a pool exists already, and none does yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    let trained = ah_train::train(&params)?;
    warn(&trained.warnings);
    trained.model.write(&args.model)?;
    if args.json {
        println!(
            "{}",
            serde_json::json!({
                "parameters": trained.model.provenance.parameters,
                "metrics": trained.model.provenance.metrics,
            })
        );
    } else {
        print!("{}", report::trained(&trained));
    }
    eprintln!("wrote {}", args.model.display());
    Ok(())
}

fn evaluate(args: &EvaluateArgs) -> Result<(), TrainError> {
    let model = Model::read(&args.model)?;
    let evaluation = ah_train::evaluate(&model, &args.logs, args.skip_bad_rows)?;
    warn(&evaluation.warnings);
    if let Some(path) = &args.decisions {
        evaluation.write_decisions(path)?;
    }
    let (fallback, best) = (&evaluation.fallback, &evaluation.best_single);
    if args.json {
        println!(
            "{}",
            serde_json::json!({
                "model": evaluation.model,
                "always_fallback": { "choice": fallback.0, "metrics": fallback.1 },
                "best_single": { "choice": best.0, "metrics": best.1 },
            })
        );
    } else {
        let rows = ((fallback.0.as_str(), &fallback.1), (best.0.as_str(), &best.1));
        print!("{}", report::evaluated(&model.heuristic, &evaluation.model, rows.0, rows.1));
    }
    Ok(())
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}
