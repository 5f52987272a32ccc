//! The text, its words and its lines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most bytes of text.
const MOST: usize = 32 << 20;

/// Sources, their distinct words of 3 to 24 bytes and their distinct lines of 8 to 100 bytes.
pub struct Corpus {
    pub text: Vec<u8>,
    pub words: Vec<Vec<u8>>,
    pub lines: Vec<Vec<u8>>,
}

impl Corpus {
    /// Reads the Rust sources in cargo's folder of unpacked crates, in the order of their paths: one half of the crates, or the
    /// other one to judge.
    pub fn read(judge: bool) -> Self {
        let home = std::env::var("CARGO_HOME").map_or_else(
            |_| PathBuf::from(std::env::var("HOME").unwrap_or_default()).join(".cargo"),
            PathBuf::from,
        );
        let folder = home.join("registry/src");
        let mut files = Vec::new();
        sources(&folder, &mut files);
        files.retain(|file| is_for_judging(file.strip_prefix(&folder).unwrap_or(file)) == judge);
        files.sort();
        let mut text = Vec::new();
        for file in files {
            if text.len() < MOST {
                text.extend(std::fs::read(file).unwrap_or_default());
            }
        }
        assert!(
            text.len() > 20 << 20,
            "expected 20 MiB of Rust sources below {}, found {}",
            folder.display(),
            text.len()
        );
        let distinct = |parts: BTreeSet<&[u8]>| parts.into_iter().map(<[u8]>::to_vec).collect();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let words = text.split(|byte| !is_word(byte)).filter(|word| (3..=24).contains(&word.len()));
        let lines = text
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| (8..=100).contains(&line.len()));
        Self { words: distinct(words.collect()), lines: distinct(lines.collect()), text }
    }
}

/// Whether a file's crate is in the half that judges: by the sum of its folder's bytes, whatever else is unpacked.
fn is_for_judging(file: &Path) -> bool {
    let krate = file.components().nth(1).map_or(&[][..], |part| part.as_os_str().as_encoded_bytes());
    krate.iter().map(|byte| u32::from(*byte)).sum::<u32>() % 2 == 1
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
