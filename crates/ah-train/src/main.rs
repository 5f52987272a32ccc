//! `ah-train`: the command line around the library, and code generation as the last step.

mod cli;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ah_cli::{exit, stderr, stdout};
use ah_train::{NamedLog, TrainError, report};
use ah_types::Model;
use clap::Parser;

use cli::{Cli, Command, EvaluateArgs, TrainArgs};

/// What ends the command.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Model(#[from] ah_types::ModelError),
    #[error(transparent)]
    Codegen(#[from] ah_codegen::CodegenError),
    #[error(transparent)]
    Output(#[from] ah_cli::OutputError),
}

impl ah_cli::Failure for Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Train(e) => e.exit_code(),
            Self::Model(e) => e.exit_code(),
            Self::Codegen(e) => e.exit_code(),
            Self::Output(e) => e.exit_code(),
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Some(Command::Evaluate(args)) => evaluate(args),
        None => train(&cli.train),
    };
    ah_cli::finish(done.map(|()| exit::SUCCESS))
}

fn train(args: &TrainArgs) -> Result<(), Failure> {
    let params = args.raw().check()?;
    if let Some(threads) = args.threads {
        if threads == 0 {
            return Err(Failure::Train(TrainError::Parameter {
                flag: "--threads",
                expected: "1 or more".to_owned(),
                found: "0".to_owned(),
            }));
        }
        // Fails only where a pool exists already, and none does yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    }
    let trained = ah_train::train(&params)?;
    warn(&trained.warnings);
    trained.model.write(&args.model)?;
    if args.json {
        stdout(&format!(
            "{}\n",
            serde_json::json!({
                "parameters": trained.model.provenance.parameters,
                "metrics": trained.model.provenance.metrics,
            })
        ))?;
    } else {
        stdout(&report::trained(&trained))?;
    }
    stderr(&format!("wrote {}\n", args.model.display()));
    if let Some(path) = &args.save_dot {
        report::dot::write(&trained.model, path)?;
        stderr(&format!("wrote {}\n", path.display()));
    }
    if !args.no_codegen {
        generate(&trained.model, args)?;
    }
    for NamedLog { name, path } in &cli::named(&args.data) {
        judge(&trained.model, std::slice::from_ref(path), name, args.skip_bad_rows, args.json, None)?;
    }
    Ok(())
}

/// The last step of the one command that learns and generates.
fn generate(model: &Model, args: &TrainArgs) -> Result<(), Failure> {
    let report = ah_codegen::generate(&ah_codegen::Request {
        model,
        targets: &[&ah_codegen::Rust],
        out: &args.out,
        mode: ah_codegen::WriteMode::Write,
        templates: None,
        runtime_path: args.runtime_path.as_deref(),
    })?;
    stderr(&report.to_string());
    Ok(())
}

fn evaluate(args: &EvaluateArgs) -> Result<(), Failure> {
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
) -> Result<(), Failure> {
    let evaluation = ah_train::evaluate(model, logs, skip_bad_rows)?;
    warn(&evaluation.warnings);
    if let Some(path) = decisions {
        evaluation.write_decisions(path)?;
    }
    let (fallback, best) = (&evaluation.fallback, &evaluation.best_single);
    if json {
        stdout(&format!(
            "{}\n",
            serde_json::json!({
                "name": name,
                "model": evaluation.model,
                "always_fallback": { "choice": fallback.0, "metrics": fallback.1 },
                "best_single": { "choice": best.0, "metrics": best.1 },
            })
        ))?;
    } else {
        stdout(&report::evaluated(name, &evaluation.model, (&fallback.0, &fallback.1), (&best.0, &best.1)))?;
    }
    Ok(())
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        stderr(&format!("warning: {warning}\n"));
    }
}
