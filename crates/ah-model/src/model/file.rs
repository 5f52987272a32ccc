//! Reads and writes `model.json`. The file has names; memory has ids.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::booster_file::{self, BoostersFile};
use super::costs::CostsFile;
use super::data::{Model, Promise, Provenance};
use super::precondition::Precondition;
use super::purpose::Purpose;
use super::tree_file::{self, NodeFile, slot};
use crate::artefact;
use crate::choice::ChoiceId;
use crate::derived::{DerivedFeature, Features};
use crate::device::Device;
use crate::error::Error;
use crate::fault::Invalid;
use crate::feature::{Feature, Schema};
use crate::hash;
use crate::shown::{quoted, reason};

/// The only version that is read.
const VERSION: u32 = 11;

/// The largest file that is read: a tree of 20,000 leaves that each measured 300 choices takes 300 MiB.
const MAX_MIB: u64 = 1024;

/// The keys that are read first, so that a newer file is refused by its version and not by an unknown key.
#[derive(Deserialize)]
struct Header {
    format: String,
    version: u32,
}

/// `Tree` and `Boosters` are parsed where the file is read, and text where it is written: a node or a row has one line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile<Tree, Boosters> {
    format: String,
    version: u32,
    heuristic: String,
    optimization: String,
    features: Vec<Feature>,
    derived: Vec<DerivedFeature>,
    /// By feature name, for categorical features that a tree tests or a log has.
    categories: BTreeMap<String, Vec<String>>,
    /// The names of the numbers that training saw missing, in the order of the features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    precondition: Option<String>,
    device: Option<Device>,
    shared_memory: Option<u64>,
    device_capa: (u32, u32),
    choices: Vec<String>,
    fallback: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    eligible: BTreeMap<String, String>,
    promise: Option<Promise>,
    purpose: Purpose,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    costs: Option<CostsFile>,
    tree: Tree,
    #[serde(skip_serializing_if = "Option::is_none")]
    boosters: Option<Boosters>,
    provenance: Provenance,
}

impl Model {
    /// The value of the key `format`, which comes first in every `model.json`.
    pub const FORMAT: &str = "autoheuristic-model";

    /// Reads and checks a `model.json`.
    ///
    /// # Errors
    /// [`Error`] with the file and the mistake.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = artefact::read_text(path, MAX_MIB).map_err(Error::io(path, "read the model"))?;
        Self::parse(&text).map_err(invalid(path))
    }

    /// Reads and checks the text of a `model.json`.
    ///
    /// # Errors
    /// [`Invalid`] with the place and the mistake.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let model = from_json(text).and_then(resolve).map_err(Invalid)?;
        model.validate()?;
        Ok(model)
    }

    /// The text of the model's `model.json`; the same model gives the same bytes.
    pub fn to_json(&self) -> String {
        let slot_name = |slot: usize| self.features.all().features()[slot].name.clone();
        let choice = |id: ChoiceId| self.choice_name(id).to_owned();
        let categories = self.categories.iter().enumerate().filter(|(_, c)| !c.is_empty());
        let file = ModelFile {
            format: Self::FORMAT.to_owned(),
            version: VERSION,
            heuristic: self.heuristic.clone(),
            optimization: self.optimization.clone(),
            features: self.features.base().features().to_vec(),
            derived: self.features.derived().iter().map(|(d, _)| d.clone()).collect(),
            categories: categories.map(|(slot, c)| (slot_name(slot), c.clone())).collect(),
            missing: self.missing.iter().map(|&slot| slot_name(slot)).collect(),
            precondition: self.precondition.as_ref().map(|p| p.expression.clone()),
            device: self.device.clone(),
            shared_memory: self.shared_memory,
            device_capa: self.device_capa,
            choices: self.choices.clone(),
            fallback: self.fallback.map(choice),
            eligible: self.eligible.iter().map(|(id, c)| (choice(*id), c.expression.clone())).collect(),
            promise: self.promise.clone(),
            purpose: self.purpose.clone(),
            costs: self.costs.as_ref().map(|costs| costs.to_file(&self.choices)),
            tree: raw(tree_file::print(self)),
            boosters: (!self.boosters.is_empty()).then(|| raw(booster_file::print(self))),
            provenance: self.provenance.clone(),
        };
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// The model's version: 128 bits that identify its [`model.json`](Self::to_json) without the provenance, in hex. Two
    /// models of one version decide alike.
    pub fn version(&self) -> String {
        hash::identity(&Self { provenance: Provenance::default(), ..self.clone() }.to_json())
    }

    /// Writes `model.json`, packed with gzip if the name ends in `.gz`: readers see the old file or the new one, never
    /// a part.
    ///
    /// # Errors
    /// [`Error`] if the model is not valid or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        self.validate().map_err(invalid(path))?;
        let json = self.to_json().into_bytes();
        let is_packed = path.extension().is_some_and(|end| end == "gz");
        let bytes = if is_packed { artefact::packed(&json) } else { Ok(json) };
        bytes
            .and_then(|bytes| artefact::write_atomic(path, &bytes))
            .map_err(Error::io(path, "write the model"))
    }
}

fn invalid(path: &Path) -> impl FnOnce(Invalid) -> Error {
    move |problem| Error::Invalid(format!("{}: not a valid model: {problem}", path.display()))
}

fn from_json(text: &str) -> Result<ModelFile<Vec<NodeFile>, BoostersFile>, String> {
    let invalid = |e: serde_json::Error| {
        let text = e.to_string();
        let end = text.rfind(" at line ").unwrap_or(text.len());
        let not_json = if e.is_data() { "" } else { "not JSON: " };
        format!("line {}, column {}: {not_json}{}", e.line(), e.column(), reason(&text[..end]))
    };
    // A log is a line of JSON and then a table.
    let is_log = |line: &str| line.starts_with('{') && line.contains("\"numerical_features\"");
    if text.lines().next().is_some_and(is_log) {
        return Err(
            "it is a log of measurements; the model comes first, and `ah-train LOG` learns one".to_owned()
        );
    }
    let Header { format, version } = serde_json::from_str(text).map_err(invalid)?;
    if format != Model::FORMAT {
        return Err(format!("expected the format {:?}, found {}", Model::FORMAT, quoted(&format)));
    }
    let remedy = match version {
        VERSION => return serde_json::from_str(text).map_err(invalid),
        0..VERSION => "learn it again from its logs, which `provenance` names",
        _ => "use newer tools",
    };
    Err(format!("expected version {VERSION}, found {version}; {remedy}"))
}

/// JSON that is written as it is.
fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).unwrap_or_default()
}

fn resolve(file: ModelFile<Vec<NodeFile>, BoostersFile>) -> Result<Model, String> {
    let base = Schema::new(file.features).map_err(|e| e.to_string())?;
    let features = Features::new(base, &file.derived).map_err(|e| e.to_string())?;
    let names = file.choices.iter().map(String::as_str);
    let ids: HashMap<&str, ChoiceId> = names.zip((0..).map(ChoiceId)).collect();
    let choice = |name: &str| {
        let id = ids.get(name).copied();
        id.ok_or_else(|| format!("unknown choice {}", quoted(name)))
    };
    let mut categories = vec![Vec::new(); features.all().len()];
    for (name, values) in file.categories {
        categories[slot(&features, &name)?] = values;
    }
    let missing = file.missing.iter().map(|name| slot(&features, name)).collect::<Result<_, _>>();
    let condition = |what: &str, expression: String| {
        Precondition::new(expression, features.base()).map_err(|e| format!("{what}: {e}"))
    };
    let precondition = file.precondition.map(|text| condition("precondition", text));
    let eligible = file
        .eligible
        .into_iter()
        .map(|(name, text)| Ok((choice(&name)?, condition(&format!("eligible {}", quoted(&name)), text)?)));
    let eligible = eligible.collect::<Result<_, String>>()?;
    let fallback = file.fallback.map(|name| choice(&name).map_err(|e| format!("fallback: {e}")));
    let costs = file.costs.map(|costs| costs.resolve(features.base(), &file.choices)).transpose();
    let tree = tree_file::resolve(file.tree, &features)?;
    let boosters = file.boosters.unwrap_or_default();
    Ok(Model {
        heuristic: file.heuristic,
        optimization: file.optimization,
        fallback: fallback.transpose()?,
        precondition: precondition.transpose()?,
        categories,
        missing: missing.map_err(|problem| format!("missing: {problem}"))?,
        eligible,
        device: file.device,
        shared_memory: file.shared_memory,
        device_capa: file.device_capa,
        promise: file.promise,
        purpose: file.purpose,
        costs: costs.map_err(|problem| format!("costs: {problem}"))?,
        tree,
        boosters: boosters.resolve(&features).map_err(|problem| format!("boosters: {problem}"))?,
        unit: boosters.unit,
        margin: boosters.margin,
        provenance: file.provenance,
        choices: file.choices,
        features,
    })
}
