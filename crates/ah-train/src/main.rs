//! `ah-train`: the command line around the library, and code generation as the last step.

mod cli;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ah_codegen::{CodegenError, Mode, Request, Target};
use ah_train::{NamedLog, TrainError, report};
use ah_types::{Model, ModelError};
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
        Err(Failed { message, exit_code }) => {
            eprintln!("error: {message}");
            ExitCode::from(exit_code)
        }
    }
}

/// Why a command ended: a sentence and its exit code, from whichever library it came.
struct Failed {
    message: String,
    exit_code: u8,
}

macro_rules! failed_from {
    ($($error:ty),*) => {
        $(impl From<$error> for Failed {
            fn from(error: $error) -> Self {
                Self { message: error.to_string(), exit_code: error.exit_code() }
            }
        })*
    };
}
failed_from!(TrainError, CodegenError, ModelError);

fn train(args: &TrainArgs) -> Result<(), Failed> {
    let params = args.raw().check()?;
    if let Some(threads) = args.threads {
        if threads == 0 {
            return Err(TrainError::Parameter {
                flag: "--threads",
                expected: "1 or more".to_owned(),
                found: "0".to_owned(),
            }
            .into());
        }
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
    if !args.no_codegen {
        let report = ah_codegen::generate(&Request {
            model: &trained.model,
            targets: &[Target::Rust],
            out: &args.out,
            mode: Mode::Write,
            templates: None,
            runtime_path: args.runtime_path.as_deref(),
        })?;
        eprint!("{report}");
    }
    if let Some(path) = &args.save_dot {
        report::dot::write(&trained.model, path)?;
        eprintln!("wrote {}", path.display());
    }
    for NamedLog { name, path } in &cli::named(&args.data) {
        judge(&trained.model, std::slice::from_ref(path), name, args.skip_bad_rows, args.json, None)?;
    }
    Ok(())
}

fn evaluate(args: &EvaluateArgs) -> Result<(), Failed> {
    let model = Model::read(&args.model)?;
    judge(&model, &args.logs, &model.heuristic, args.skip_bad_rows, args.json, args.decisions.as_deref())
}

/// Judges a model on logs and prints its figures under this name.
fn judge(
    model: &Model,
    logs: &[PathBuf],
    name: &str,
    skip_bad_rows: bool,
    json: bool,
    decisions: Option<&Path>,
) -> Result<(), Failed> {
    let evaluation = ah_train::evaluate(model, logs, skip_bad_rows)?;
    warn(&evaluation.warnings);
    if let Some(path) = decisions {
        evaluation.write_decisions(path)?;
    }
    let (fallback, best) = (&evaluation.fallback, &evaluation.best_single);
    if json {
        println!(
            "{}",
            serde_json::json!({
                "name": name,
                "model": evaluation.model,
                "always_fallback": { "choice": fallback.0, "metrics": fallback.1 },
                "best_single": { "choice": best.0, "metrics": best.1 },
            })
        );
    } else {
        print!(
            "{}",
            report::evaluated(name, &evaluation.model, (&fallback.0, &fallback.1), (&best.0, &best.1))
        );
    }
    Ok(())
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
}
