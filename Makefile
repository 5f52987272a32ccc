# The names of PyTorch's AutoHeuristic pipeline: collect, train, use.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The pipeline's working folder; nothing outside it is written.
PIPELINE := target/pipeline
# Most inputs to learn from, and most fresh inputs to judge on. The seconds usually end the collecting.
SAMPLES ?= 12000
SECONDS_TO_COLLECT ?= 60
FRESH ?= 200
# pad_mm, mm or softmax; distinct: the three functions of the tutorial; auto: pad_mm on a GPU, else distinct.
NAME ?= auto
SEED ?= 1
# The share of inputs that may be more than 5 % slower than the fallback. The CPU's times are noisy: at the
# tools' default of 0.01 the heuristic would decline a quarter of the inputs.
MAX_RISK ?= 0.05
BACKEND ?= auto

.PHONY: completions help setup pipeline check test cases proofs lint bench check-generated examples package docs

help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: ## Fetch the dependencies and build the tools (the first time: some minutes)
	@echo "Building the tools with cargo, whose progress follows. The first time takes some minutes: 6 on two idle cores."
	cargo build --release --bins

pipeline: setup ## Measure, learn, generate, compile and consult a heuristic (about two minutes after the build)
	scripts/pipeline.sh $(PIPELINE) --name $(NAME) --samples $(SAMPLES) --seconds $(SECONDS_TO_COLLECT) --fresh $(FRESH) --seed $(SEED) --backend $(BACKEND) --max-risk $(MAX_RISK)

check: ## The quick part of the tests: format, unit tests, quick integration tests
	scripts/test.sh --quick

test: ## Formats, lints and tests everything; CI runs exactly this
	scripts/test.sh

proofs: ## Minutes of stress and simulation: kills, races, the promise where the truth is known, the wheel
	scripts/proofs.sh

cases: ## Tables and logs that were once misread: which are kept (needs ../shared/cases)
	cargo test -p ah-train --test it cases:: -- --nocapture

lint: ## Formats and lints, warnings denied
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	@# What the program of an own function and one that asks build; the workspace builds everything.
	cargo check -p ah-collect --no-default-features --quiet
	cargo check -p ah-runtime --no-default-features --quiet

bench: ## Speed and memory, beside peers where they are installed
	cargo bench --workspace
	if [ -d ../shared/data ]; then cargo build --release -p ah-train && scripts/losses.py target/release/ah-train; fi
	cargo build --release --bin ah-codegen && scripts/decision_time.py generated/mixed_mm_h200.model.json data/mixed_mm/h200.txt.gz

check-generated: ## Prove that generated/ and the heuristics of examples/ follow byte for byte from their logs
	scripts/generate.sh --check

examples: ## Build and test examples/, which need other crates than the tools do
	scripts/examples.sh

completions: ## Man pages, and completions of bash, zsh and fish, for all tools, into the wheel's folder of data
	cargo run --release --quiet -p ah-tools --example manual -- python/autoheuristic.data/data/share

package: ## Pack all crates as crates.io takes them, without building them again
	cargo package --workspace --no-verify

docs: ## The API's documentation, and the book where mdbook is installed (book/)
	cargo doc --workspace --no-deps
	if command -v mdbook > /dev/null; then mdbook build docs; fi
