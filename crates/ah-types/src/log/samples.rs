//! The rows of one file: each becomes an input, a choice and a feedback.

use super::LogError;
use super::file::{Column, File, shown};
use super::intern::Interned;
use super::merger::Merger;
use super::reader::{Input, Sample};
use super::rows;
use crate::choice::ChoiceId;
use crate::context::Value;
use crate::feature::FeatureKind;

pub(super) const SKIP_HINT: &str = "mend the row, or pass over such rows with --skip-bad-rows";

pub(super) struct Rows<'f, 'a> {
    pub(super) file: &'f File<'a>,
    pub(super) columns: &'f [Column],
    pub(super) prefix: bool,
    pub(super) inputs: Interned<'a>,
    pub(super) choices: Interned<'a>,
    pub(super) fields: Vec<std::ops::Range<usize>>,
}

impl<'a> Rows<'_, 'a> {
    pub(super) fn row(&mut self, line: u64, text: &'a [u8], merger: &mut Merger) -> Result<(), LogError> {
        let tail = (self.prefix && memchr::memchr(b'"', text).is_none()).then(|| {
            let second = memchr::memrchr(b',', text)?;
            let first = memchr::memrchr(b',', &text[..second])?;
            Some((&text[..first], &text[first + 1..second], &text[second + 1..], second + 1))
        });
        let (input, choice, feedback, column) = match tail.flatten() {
            Some((prefix, choice, feedback, column)) => {
                // A prefix seen before has the right number of fields; a new one is split and checked.
                let hasher = merger.hasher;
                let input = self.inputs.get(prefix, hasher, || {
                    self.file.input(self.columns, line, text, &mut self.fields, merger)
                })?;
                (input, choice, feedback, column)
            }
            None => {
                let input = self.file.input(self.columns, line, text, &mut self.fields, merger)?;
                let field = |wanted: fn(&Column) -> bool| {
                    let i = self.columns.iter().position(wanted).unwrap_or_default();
                    self.fields[i].clone()
                };
                let (c, f) =
                    (field(|c| matches!(c, Column::Choice)), field(|c| matches!(c, Column::Feedback)));
                (input, &text[c], &text[f.clone()], f.start)
            }
        };
        let feedback = self.file.feedback(line, column, feedback)?;
        let hasher = merger.hasher;
        let choice = self.choices.get(choice, hasher, || self.file.choice(line, choice, merger))?;
        merger.samples.push(Sample { input, choice: ChoiceId(choice), feedback });
        Ok(())
    }
}

impl File<'_> {
    pub(super) fn choice(&self, line: u64, raw: &[u8], merger: &mut Merger) -> Result<u32, LogError> {
        let name = rows::unquote(raw);
        let name = std::str::from_utf8(&name).map_err(|_| {
            self.malformed(
                line,
                0,
                "a choice's name in UTF-8",
                format!("{:?}", String::from_utf8_lossy(raw)),
                SKIP_HINT,
            )
        })?;
        if name.is_empty() {
            return Err(self.malformed(line, 0, "a choice's name", "nothing", SKIP_HINT));
        }
        if let Some(id) = merger.choice_ids.get(name) {
            return Ok(*id);
        }
        let id = count(merger.choices.len());
        merger.choices.push(name.to_owned());
        merger.choice_ids.insert(name.to_owned(), id);
        Ok(id)
    }

    pub(super) fn feedback(&self, line: u64, column: usize, raw: &[u8]) -> Result<f64, LogError> {
        let text = rows::unquote(raw);
        let value = std::str::from_utf8(&text).ok().and_then(|t| t.trim().parse::<f64>().ok());
        match value {
            Some(x) if x > 0.0 => Ok(x),
            _ => Err(self.malformed(
                line,
                column + 1,
                "a time in milliseconds above 0, or inf",
                shown(raw, "nothing"),
                SKIP_HINT,
            )),
        }
    }

    /// The id of the input in this row; its features are parsed when it is new.
    pub(super) fn input(
        &self,
        columns: &[Column],
        line: u64,
        text: &[u8],
        fields: &mut Vec<std::ops::Range<usize>>,
        merger: &mut Merger,
    ) -> Result<u32, LogError> {
        rows::split(text, fields).map_err(|at| {
            self.malformed(line, at + 1, "a closed quote", shown(&text[at..], "nothing"), SKIP_HINT)
        })?;
        if fields.len() != columns.len() {
            return Err(self.malformed(
                line,
                0,
                format!("{} fields", columns.len()),
                fields.len().to_string(),
                SKIP_HINT,
            ));
        }
        let mut values: Vec<Option<Value>> = vec![None; merger.schema.len()];
        let mut raw: Vec<&[u8]> = vec![b""; merger.schema.len()];
        for (column, range) in columns.iter().zip(fields.iter()) {
            let Column::Feature { slot, kind } = *column else { continue };
            let field = rows::unquote(&text[range.clone()]);
            let name = || &merger.schema.features()[slot].name;
            let field = std::str::from_utf8(&field).map_err(|_| {
                self.malformed(
                    line,
                    range.start + 1,
                    format!("{} in UTF-8", name()),
                    shown(&text[range.clone()], "nothing"),
                    SKIP_HINT,
                )
            })?;
            values[slot] = Some(match kind {
                FeatureKind::Categorical => Value::from(field),
                FeatureKind::Numerical => match field.trim().parse::<f64>() {
                    Ok(x) if !x.is_nan() => Value::Number(x),
                    _ => {
                        return Err(self.malformed(
                            line,
                            range.start + 1,
                            format!("a number for {}", name()),
                            shown(field.as_bytes(), "nothing"),
                            SKIP_HINT,
                        ));
                    }
                },
            });
            raw[slot] = &text[range.clone()];
        }
        // In the order of the first file's header, so that files with other orders agree.
        let key =
            raw.iter().map(|r| String::from_utf8_lossy(r)).collect::<Vec<_>>().join(",").into_boxed_str();
        if let Some(id) = merger.input_ids.get(&key) {
            return Ok(*id);
        }
        let id = count(merger.inputs.len());
        merger.input_ids.insert(key.clone(), id);
        merger.inputs.push(Input { values: values.into_iter().flatten().collect(), text: key });
        Ok(id)
    }
}

/// Ids are u32: a log of 2^32 inputs would not fit into memory.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
