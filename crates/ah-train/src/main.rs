//! `ah-train`: the command line around the library, with code generation as the last step.

mod cli;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ah_cli::{exit, stderr, stdout};
use ah_train::import::{self, ImportError};
use ah_train::{TrainError, TrainedModel, report};
use ah_types::Model;
use clap::Parser;
use serde_json::json;

use cli::{Cli, Command, EvaluateArgs, ImportArgs, TrainArgs};

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Model(#[from] ah_types::ModelError),
    #[error(transparent)]
    Codegen(#[from] ah_codegen::CodegenError),
    #[error(transparent)]
    Output(#[from] ah_cli::OutputError),
}

impl ah_cli::FatalError for Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Train(e) => e.exit_code(),
            Self::Import(e) => e.exit_code(),
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
        Some(Command::Import(args)) => import(args),
        None => train(&cli.train),
    };
    ah_cli::finish(done.map(|()| exit::SUCCESS))
}

fn import(args: &ImportArgs) -> Result<(), Failure> {
    let report = import::import(&args.params())?;
    warn(&report.warnings);
    stderr(&report.to_string());
    match args.training() {
        Some(training) => train(&training),
        None if args.train.json => Ok(stdout(&format!("{}\n", json!(report)))?),
        None => Ok(()),
    }
}

fn train(args: &TrainArgs) -> Result<(), Failure> {
    let params = args.params()?.check()?;
    if let Some(threads) = args.threads {
        // Fails only where a pool exists already, and none does yet.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
    }
    let trained = ah_train::train(&params)?;
    warn(&trained.warnings);
    trained.model.write(&args.model)?;
    print(&trained, args.json)?;
    stderr(&format!("wrote {}\n", args.model.display()));
    if let Some(path) = &args.save_dot {
        report::dot::write(&trained.model, path)?;
        stderr(&format!("wrote {}\n", path.display()));
    }
    if !args.no_codegen {
        generate(&trained.model, args)?;
    }
    for (name, log) in &cli::named(&args.data) {
        judge(&trained.model, std::slice::from_ref(log), name, params.skip_bad_rows, args.json, None)?;
    }
    Ok(())
}

fn print(trained: &TrainedModel, json: bool) -> Result<(), Failure> {
    let record = &trained.model.provenance;
    Ok(stdout(&if json {
        format!("{}\n", json!({ "parameters": record.parameters, "metrics": record.metrics }))
    } else {
        report::trained(trained)
    })?)
}

/// The last step of the one command that learns and generates.
fn generate(model: &Model, args: &TrainArgs) -> Result<(), Failure> {
    let report = ah_codegen::generate(&ah_codegen::Request {
        model,
        targets: &[&ah_codegen::Rust],
        out: &args.out,
        detail: ah_codegen::Detail::default(),
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
    let comparison = &evaluation.comparison;
    Ok(stdout(&if json {
        let mut figures = json!(comparison);
        figures["name"] = name.into();
        format!("{figures}\n")
    } else {
        report::evaluated(name, comparison)
    })?)
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        stderr(&format!("warning: {warning}\n"));
    }
}
