//! A worker: the automata of aho-corasick, each built once for a list of words or lines and then run over a text. ah-collect
//! measures it; the protocol is in docs/workers.md.
//!
//! `aho_corasick_kind [judge]`: with `judge`, inputs are drawn from crates that no other input comes from.

mod corpus;
mod random;

use std::io::{BufRead as _, Write as _};

use aho_corasick::{AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use corpus::Corpus;
use cpu_time::ThreadTime;
use random::Random;
use serde_json::{Value, json};

/// The choices. `auto` is what the crate chooses itself.
const KINDS: [(&str, Option<AhoCorasickKind>); 4] = [
    ("auto", None),
    ("noncontiguous", Some(AhoCorasickKind::NoncontiguousNFA)),
    ("contiguous", Some(AhoCorasickKind::ContiguousNFA)),
    ("dfa", Some(AhoCorasickKind::DFA)),
];

/// The bytes that a program searches with one automaton: from a source file to a repository.
const LENGTHS: [usize; 2] = [1 << 16, 1 << 24];

/// A list of patterns, and the text to run over.
struct Input<'a> {
    patterns: Vec<&'a [u8]>,
    text: &'a [u8],
}

fn main() {
    let corpus = Corpus::read(std::env::args().nth(1).is_some_and(|word| word == "judge"));
    let mut input = Input::draw(&corpus, 0, 0);
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.expect("a line")).expect("a request in JSON");
        let answer = |mut fields: Value| {
            fields["id"] = request["id"].clone();
            println!("{fields}");
            std::io::stdout().flush().expect("an open pipe");
        };
        let drawn = || {
            let seed = |at: usize| request["seed"][at].as_u64().expect("two whole numbers");
            Input::draw(&corpus, seed(0), seed(1))
        };
        let cells = || request["cells"].as_array().into_iter().flatten().enumerate();
        match request["request"].as_str() {
            Some("describe") => answer(json!({
                "protocol": 1, "name": "aho_corasick_kind", "choices": KINDS.map(|(name, _)| name),
                "fallback": ["auto"], "can": ["draw", "check"], "timing": { "budget_ms": 60 },
                "features": [feature("patterns"), feature("states")],
            })),
            Some("draw") => answer(json!({ "context": drawn().context() })),
            Some("prepare") => {
                input = drawn();
                answer(json!({}));
            }
            Some("check") => cells().for_each(|(at, cell)| {
                let same = input.search(kind(cell)) == input.search(None);
                let failed = json!({ "cell": at, "failed": "other matches than auto's" });
                answer(if same { json!({ "cell": at }) } else { failed });
            }),
            Some("time") => cells().for_each(|(at, cell)| {
                let (samples, runs) =
                    (cell["samples"].as_u64().unwrap_or(1), cell["runs"].as_u64().unwrap_or(1));
                let sample = |_| {
                    // Processor time of this thread: other programs on the machine disturb it least.
                    let start = ThreadTime::now();
                    for _ in 0..runs {
                        std::hint::black_box(input.search(kind(cell)));
                    }
                    start.elapsed().as_secs_f64() * 1e3 / runs as f64
                };
                answer(json!({ "cell": at, "ms": (0..samples).map(sample).collect::<Vec<_>>() }));
            }),
            _ => {}
        }
    }
}

fn feature(name: &str) -> Value {
    json!({ "name": name, "kind": "numerical", "integer": true })
}

fn kind(cell: &Value) -> Option<AhoCorasickKind> {
    KINDS.iter().find(|(name, _)| cell["choice"] == *name).and_then(|(_, kind)| *kind)
}

impl<'a> Input<'a> {
    /// Draws 2 to 5000 words or lines that occur in the corpus, and a text. A program does not know the text when it builds the
    /// automaton, so its length is no feature.
    fn draw(corpus: &'a Corpus, run: u64, position: u64) -> Self {
        let mut random = Random::new(run, position);
        let length = random.log_uniform(LENGTHS[0], LENGTHS[1]);
        let start = random.below(corpus.text.len() - length);
        let from = if random.below(10) < 7 { &corpus.words } else { &corpus.lines };
        let count = random.log_uniform(2, 5000);
        let patterns = (0..count).map(|_| &*from[random.below(from.len())]).collect();
        Self { patterns, text: &corpus.text[start..start + length] }
    }

    /// The features: what the crate knows when it chooses, too. The states are the nodes of the patterns' trie, and four
    /// that every automaton has.
    fn context(&self) -> Value {
        let mut sorted = self.patterns.clone();
        sorted.sort_unstable();
        let common = |pair: &[&[u8]]| pair[0].iter().zip(pair[1]).take_while(|(a, b)| a == b).count();
        let bytes: usize = sorted.iter().map(|pattern| pattern.len()).sum();
        let shared: usize = sorted.windows(2).map(common).sum();
        json!({ "patterns": self.patterns.len(), "states": bytes - shared + 4 })
    }

    /// Builds the automaton, finds all matches, and returns their number and a hash of their places.
    fn search(&self, kind: Option<AhoCorasickKind>) -> (u64, u64) {
        let mut builder = AhoCorasickBuilder::new();
        let automaton = builder.match_kind(MatchKind::LeftmostFirst).kind(kind).build(&self.patterns);
        automaton.expect("patterns that fit").find_iter(self.text).fold((0, 0), |(count, hash), at| {
            (count + 1, hash.wrapping_mul(31) ^ at.start() as u64 ^ (at.pattern().as_u64() << 32))
        })
    }
}
