//! What the templates of every target print: the lowered model in the words of a language.

use std::collections::BTreeSet;

use ah_types::expr::{LOG2_COEFFICIENTS, LOG2_LARGEST};
use ah_types::fields::{FieldValue, fields};
use ah_types::tree::LeafUnsure;
use ah_types::{Device, Leaf, Ranked, Test};
use serde::Serialize;

use crate::lower::{Argument, Condition, Event, Form, LoweredModel, Row, votes};
use crate::printing::evidence::{evidence, leaf_comment};
use crate::printing::expression::Printer;
use crate::printing::language::{Language, ValueKind};
use crate::printing::paths::paths;
use crate::printing::text::{code, number, shown};

/// What the templates of every target print.
#[derive(Debug, Serialize)]
pub struct ModelView {
    generator: &'static str,
    version: &'static str,
    heuristic: NameView,
    optimization: NameView,
    device: Option<DeviceView>,
    capability: (u32, u32),
    shared_memory: Option<u64>,
    promise: Option<PromiseView>,
    provenance: ProvenanceView,
    /// The logged features.
    features: Vec<FeatureView>,
    /// The derived features that are needed.
    derived: Vec<DerivedView>,
    precondition: Option<PreconditionView>,
    choices: Vec<ChoiceView>,
    fallback: Option<ChoiceView>,
    /// The names of all derived features, as string literals.
    derived_names: Vec<String>,
    /// The literals of all categories that code tells apart, sorted by name.
    categories: Vec<String>,
    /// The literals of the categories `True` and `False`.
    yes: String,
    no: String,
    /// True where categories are compared by their codes.
    codes: bool,
    /// The helpers that expressions call, and those that these call.
    helpers: BTreeSet<&'static str>,
    log2: Log2View,
    leaves: Vec<LeafView>,
    /// True where every ranked choice of every leaf is allowed.
    all_allowed: bool,
    /// The number of trees; more than one vote.
    count: usize,
    votes: bool,
    /// The most choices that trees that vote can rank.
    most: usize,
    /// True where the trees are `rows` and `roots`, not `trees`.
    table: bool,
    trees: Vec<Vec<LineView>>,
    rows: Vec<RowView>,
    roots: Vec<usize>,
}

/// A name from the model, which may be anything.
#[derive(Clone, Debug, Serialize)]
pub struct NameView {
    /// As inline code of documentation.
    text: String,
    /// Inside a comment.
    shown: String,
    /// As a string literal.
    string: String,
}

#[derive(Debug, Serialize)]
struct DeviceView {
    text: String,
    #[serde(flatten)]
    guard: GuardView,
}

/// What the guard compares: string literals and numbers.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum GuardView {
    Cpu { model: String, cores: u32, instruction_sets: Vec<String> },
    Cuda { name: String, multiprocessors: u32 },
}

#[derive(Debug, Serialize)]
struct PromiseView {
    target: String,
    confidence: String,
    limit: String,
    mode: NameView,
    inputs: u64,
    groups: u64,
    violations: u64,
    threshold: Option<String>,
}

#[derive(Debug, Serialize)]
struct ProvenanceView {
    tool: String,
    seed: u64,
    logs: Vec<LogView>,
    /// Held-out figures: name and value.
    metrics: Vec<(String, String)>,
}

#[derive(Debug, Serialize)]
struct LogView {
    file: NameView,
    blake3: NameView,
    rows: u64,
}

#[derive(Debug, Serialize)]
struct FeatureView {
    slot: usize,
    identifier: String,
    #[serde(flatten)]
    name: NameView,
    /// Its name, description and unit.
    doc: String,
    kind: ValueKind,
    r#type: String,
    /// True where the identifier is not the name.
    renamed: bool,
    /// True where the tree, the precondition or a derived feature needs it.
    used: bool,
    /// True where the tree tests it.
    tested: bool,
    /// The categories that code tells apart.
    variants: Vec<VariantView>,
    /// The literals of the categories that training saw.
    seen: Vec<String>,
}

#[derive(Debug, Serialize)]
struct VariantView {
    identifier: String,
    #[serde(flatten)]
    name: NameView,
    /// The length of the name.
    bytes: usize,
    code: usize,
    /// True where training saw it.
    known: bool,
}

#[derive(Debug, Serialize)]
struct DerivedView {
    slot: usize,
    identifier: String,
    #[serde(flatten)]
    name: NameView,
    expression: String,
    kind: ValueKind,
    r#type: String,
    tested: bool,
    /// The derived features that it takes.
    parameters: Vec<ParameterView>,
    /// The logged features that it reads, and `parameters`.
    inputs: Vec<ParameterView>,
    body: String,
    /// The variables for truth values in the body.
    variables: Vec<String>,
    /// The calls that compute it, itself last, where nothing was computed before.
    steps: Vec<StepView>,
    /// The literals of the categories that training saw.
    seen: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ParameterView {
    slot: usize,
    identifier: String,
    /// The feature's name as a string literal.
    string: String,
    r#type: String,
}

#[derive(Debug, Serialize)]
struct StepView {
    slot: usize,
    identifier: String,
    call: String,
}

#[derive(Debug, Serialize)]
struct PreconditionView {
    text: String,
    string: String,
    inputs: Vec<ParameterView>,
    body: String,
    variables: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct ChoiceView {
    index: usize,
    identifier: String,
    #[serde(flatten)]
    name: NameView,
    /// The fields of a structured name; none of any other.
    fields: Vec<FieldView>,
}

#[derive(Clone, Debug, Serialize)]
struct FieldView {
    /// String literals, and literals of the values' types.
    key: String,
    value: String,
}

#[derive(Debug, Serialize)]
struct LeafView {
    index: usize,
    /// The number of ranked choices in this leaf and those before.
    end: usize,
    /// Its choice and the evidence, for a comment.
    comment: String,
    /// The conditions on its path and the evidence, as string literals.
    path: String,
    evidence: String,
    /// The choice where everything is offered.
    best: Option<String>,
    /// Why the leaf declines whatever is offered.
    declines: Option<Reason>,
    /// The choices, best first.
    ranking: Vec<RankedView>,
    /// The choices, in their own order.
    votes: Vec<RankedView>,
}

#[derive(Clone, Copy, Debug, Serialize)]
enum Reason {
    LowConfidence,
    UnsafeLeaf,
}

#[derive(Debug, Serialize)]
struct RankedView {
    choice: String,
    score: String,
    probability: String,
    allowed: bool,
}

/// A line of a tree that is printed as branches.
#[derive(Debug, Serialize)]
struct LineView {
    indent: String,
    #[serde(flatten)]
    step: LineStep,
}

#[derive(Debug, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum LineStep {
    /// A derived feature is computed; it may be undefined.
    Compute {
        name: String,
        r#type: String,
        value: String,
    },
    /// The tree needs a feature for the first time on this path.
    Need {
        slot: usize,
        name: String,
        kind: ValueKind,
        r#type: String,
        logged: bool,
        /// Where its value comes from; none where the variable has it already.
        value: Option<String>,
        /// The condition for a category that training never saw.
        unknown: Option<String>,
    },
    If {
        condition: String,
    },
    ElseIf {
        condition: String,
    },
    Else,
    End,
    Leaf {
        index: usize,
    },
}

/// A row of trees that are printed as a table.
#[derive(Debug, Serialize)]
#[serde(tag = "row", rename_all = "snake_case")]
enum RowView {
    Leaf { index: usize },
    AtMost { slot: usize, threshold: String, right: usize },
    Differs { slot: usize, category: String, right: usize },
}

#[derive(Debug, Serialize)]
struct Log2View {
    coefficients: Vec<String>,
    largest: String,
}

impl ModelView {
    /// The view of a model in this language.
    pub fn new(lowered: &LoweredModel<'_>, language: &impl Language) -> Self {
        let model = lowered.model;
        let mut printer = Printer { lowered, dialect: language, called: Default::default() };
        let viewer = Viewer { lowered, language };
        let derived = viewer.derived(&mut printer);
        let precondition = viewer.precondition(&mut printer);
        let choices: Vec<ChoiceView> = (0..model.choices.len()).map(|i| viewer.choice(i)).collect();
        let (trees, rows, roots) = match &lowered.trees {
            Form::Branches(trees) => (trees.iter().map(|tree| viewer.tree(tree)).collect(), vec![], vec![]),
            Form::Table { rows, roots } => {
                (vec![], rows.iter().map(|row| viewer.row(row)).collect(), roots.clone())
            }
        };
        Self {
            generator: concat!("ah-codegen ", env!("CARGO_PKG_VERSION")),
            version: env!("CARGO_PKG_VERSION"),
            heuristic: viewer.name(&model.heuristic),
            optimization: viewer.name(&model.optimization),
            device: model.device.as_ref().map(|device| viewer.device(device)),
            capability: model.device_capa,
            shared_memory: model.shared_memory,
            promise: viewer.promise(),
            provenance: viewer.provenance(),
            features: (0..model.features.base().len()).map(|slot| viewer.feature(slot)).collect(),
            derived,
            precondition,
            fallback: model.fallback.map(|choice| choices[choice.index()].clone()),
            choices,
            derived_names: model.features.derived().iter().map(|(d, _)| language.string(&d.name)).collect(),
            categories: lowered.texts.iter().map(|text| viewer.literal(text)).collect(),
            yes: viewer.literal("True"),
            no: viewer.literal("False"),
            codes: lowered.codes,
            helpers: printer.called.all_helpers(),
            log2: Log2View {
                coefficients: LOG2_COEFFICIENTS.map(number).into(),
                largest: number(LOG2_LARGEST),
            },
            leaves: viewer.leaves(),
            all_allowed: lowered.leaves.iter().all(|leaf| leaf.ranking.iter().all(|r| r.allowed)),
            count: model.trees.len(),
            votes: lowered.votes(),
            most: lowered.most_votes(),
            table: matches!(lowered.trees, Form::Table { .. }),
            trees,
            rows,
            roots,
        }
    }
}

struct Viewer<'a, L> {
    lowered: &'a LoweredModel<'a>,
    language: &'a L,
}

impl<L: Language> Viewer<'_, L> {
    fn name(&self, name: &str) -> NameView {
        NameView { text: code(name), shown: shown(name), string: self.language.string(name) }
    }

    fn literal(&self, category: &str) -> String {
        self.language.category(category).alone()
    }

    fn identifier(&self, slot: usize) -> String {
        self.language.names().features[slot].clone()
    }

    fn device(&self, device: &Device) -> DeviceView {
        let string = |text: &String| self.language.string(text);
        let guard = match device {
            Device::Cpu(cpu) => GuardView::Cpu {
                model: string(&cpu.model),
                cores: cpu.cores,
                instruction_sets: cpu.instruction_sets.iter().map(string).collect(),
            },
            Device::Cuda(cuda) => {
                GuardView::Cuda { name: string(&cuda.name), multiprocessors: cuda.multiprocessors }
            }
        };
        DeviceView { text: shown(&device.to_string()), guard }
    }

    fn promise(&self) -> Option<PromiseView> {
        self.lowered.model.promise.as_ref().map(|promise| PromiseView {
            target: number(promise.target),
            confidence: number(promise.confidence),
            limit: number(promise.limit),
            mode: self.name(&promise.mode),
            inputs: promise.inputs,
            groups: promise.groups,
            violations: promise.violations,
            threshold: promise.threshold.map(number),
        })
    }

    fn provenance(&self) -> ProvenanceView {
        let provenance = &self.lowered.model.provenance;
        let log = |log: &ah_types::model::LogRecord| LogView {
            file: self.name(&log.file),
            blake3: self.name(&log.blake3),
            rows: log.rows,
        };
        let metric = |(name, value): (&String, &serde_json::Value)| (shown(name), shown(&value.to_string()));
        ProvenanceView {
            tool: shown(&provenance.tool),
            seed: provenance.seed,
            logs: provenance.logs.iter().map(log).collect(),
            metrics: provenance.metrics.iter().map(metric).collect(),
        }
    }

    fn feature(&self, slot: usize) -> FeatureView {
        let (lowered, model) = (self.lowered, self.lowered.model);
        let feature = &model.features.base().features()[slot];
        let sentence = |text: &Option<String>| {
            text.as_deref().map(|text| self.language.sentence(text)).filter(|text| !text.is_empty())
        };
        let mut doc = code(&feature.name);
        if let Some(description) = sentence(&feature.description) {
            doc.push_str(&format!(": {description}"));
        }
        if let Some(unit) = sentence(&feature.unit) {
            doc.push_str(&format!(" ({unit})"));
        }
        let variants = lowered.variants[slot].iter().zip(&self.language.names().variants[slot]);
        let variant = |(text, identifier): (&&str, &String)| VariantView {
            identifier: identifier.clone(),
            name: self.name(text),
            bytes: text.len(),
            code: lowered.code(text),
            known: model.knows(slot, text),
        };
        let identifier = self.identifier(slot);
        FeatureView {
            slot,
            renamed: identifier != feature.name,
            identifier,
            name: self.name(&feature.name),
            doc,
            kind: ValueKind::of(lowered, slot),
            r#type: self.language.type_name(slot),
            used: lowered.used[slot],
            tested: lowered.tested[slot],
            variants: variants.map(variant).collect(),
            seen: self.seen(slot),
        }
    }

    fn seen(&self, slot: usize) -> Vec<String> {
        self.lowered.model.categories[slot].iter().map(|category| self.literal(category)).collect()
    }

    fn parameters(&self, slots: impl IntoIterator<Item = usize>) -> Vec<ParameterView> {
        let parameter = |slot| ParameterView {
            slot,
            identifier: self.identifier(slot),
            string: self.language.string(&self.lowered.model.features.all().features()[slot].name),
            r#type: self.language.type_name(slot),
        };
        slots.into_iter().map(parameter).collect()
    }

    fn derived(&self, printer: &mut Printer<'_, L>) -> Vec<DerivedView> {
        let (lowered, features) = (self.lowered, &self.lowered.model.features);
        let base = features.base().len();
        let step = |slot: usize| {
            let unchecked = |slot| Argument { slot, checked: false };
            let (_, parameters) = lowered.inputs(slot);
            let arguments: Vec<Argument> = parameters.into_iter().map(unchecked).collect();
            StepView {
                slot,
                identifier: self.identifier(slot),
                call: self.language.compute(slot, &arguments),
            }
        };
        let mut views = Vec::new();
        for (slot, (derived, typed)) in
            (base..).zip(features.derived()).filter(|(slot, _)| lowered.used[*slot])
        {
            let (logged, parameters) = lowered.inputs(slot);
            let body = printer.print(typed);
            views.push(DerivedView {
                slot,
                identifier: self.identifier(slot),
                name: self.name(&derived.name),
                expression: code(&derived.expression),
                kind: ValueKind::of(lowered, slot),
                r#type: self.language.type_name(slot),
                tested: lowered.tested[slot],
                inputs: self.parameters(logged.into_iter().chain(parameters.iter().copied())),
                parameters: self.parameters(parameters),
                body: self.language.returned(body, typed.ty(), &mut printer.called),
                variables: printer.called.take_variables(),
                steps: lowered.needs(slot).into_iter().map(step).collect(),
                seen: self.seen(slot),
            });
        }
        views
    }

    fn precondition(&self, printer: &mut Printer<'_, L>) -> Option<PreconditionView> {
        let precondition = self.lowered.model.precondition.as_ref()?;
        let mut logged = BTreeSet::new();
        precondition.typed.for_each_feature(&mut |slot| {
            logged.insert(slot);
        });
        let body = printer.truth(&precondition.typed);
        Some(PreconditionView {
            text: code(&precondition.expression),
            string: self.language.string(&precondition.expression),
            inputs: self.parameters(logged),
            body: self.language.returned(body, ah_types::expr::Type::Bool, &mut printer.called),
            variables: printer.called.take_variables(),
        })
    }

    fn choice(&self, index: usize) -> ChoiceView {
        let field = |(key, value): (String, FieldValue)| FieldView {
            key: self.language.string(&key),
            value: match value {
                FieldValue::Integer(whole) => whole.to_string(),
                FieldValue::Number(x) => number(x),
                FieldValue::Truth(truth) => self.language.truth(truth).alone(),
                FieldValue::Text(text) => self.language.string(&text),
            },
        };
        let fields = fields(&self.lowered.model.choices[index]).unwrap_or_default();
        ChoiceView {
            fields: fields.into_iter().map(field).collect(),
            index,
            identifier: self.language.names().choices[index].clone(),
            name: self.name(&self.lowered.model.choices[index]),
        }
    }

    fn leaves(&self) -> Vec<LeafView> {
        let paths = paths(self.lowered.model);
        let mut end = 0;
        let view = |(index, leaf): (usize, &&Leaf)| {
            end += leaf.ranking.len();
            let best = leaf.choose(self.lowered.model.fallback, false);
            LeafView {
                index,
                end,
                comment: leaf_comment(self.lowered, leaf),
                path: self.language.string(&paths[index]),
                evidence: self.language.string(&evidence(self.lowered, leaf)),
                best: best.map(|ranked| self.language.choice(ranked.choice)),
                declines: leaf.unsure.map(|unsure| match unsure {
                    LeafUnsure::LowConfidence => Reason::LowConfidence,
                    LeafUnsure::Unsafe => Reason::UnsafeLeaf,
                }),
                ranking: leaf.ranking.iter().map(|r| self.ranked(r)).collect(),
                votes: votes(leaf).map(|r| self.ranked(r)).collect(),
            }
        };
        self.lowered.leaves.iter().enumerate().map(view).collect()
    }

    fn ranked(&self, ranked: &Ranked) -> RankedView {
        RankedView {
            choice: self.language.choice(ranked.choice),
            // No -0.0.
            score: number(ranked.score + 0.0),
            probability: number(ranked.probability),
            allowed: ranked.allowed,
        }
    }

    fn tree(&self, events: &[(usize, Event<'_>)]) -> Vec<LineView> {
        let line = |(level, event): &(usize, Event<'_>)| LineView {
            indent: " ".repeat(4 * (level + 1)),
            step: self.step(event),
        };
        events.iter().map(line).collect()
    }

    fn step(&self, event: &Event<'_>) -> LineStep {
        match event {
            Event::Compute(slot, arguments) => LineStep::Compute {
                name: self.identifier(*slot),
                r#type: self.language.type_name(*slot),
                value: self.language.compute(*slot, arguments),
            },
            Event::Need(slot, arguments) => {
                let logged = self.lowered.derived_type(*slot).is_none();
                LineStep::Need {
                    slot: *slot,
                    name: self.identifier(*slot),
                    kind: ValueKind::of(self.lowered, *slot),
                    r#type: self.language.type_name(*slot),
                    logged,
                    value: if logged {
                        self.language.read(*slot)
                    } else {
                        arguments.as_ref().map(|arguments| self.language.compute(*slot, arguments))
                    },
                    unknown: self.unknown(*slot),
                }
            }
            Event::If(condition, false) => LineStep::If { condition: self.condition(condition) },
            Event::If(condition, true) => LineStep::ElseIf { condition: self.condition(condition) },
            Event::Else => LineStep::Else,
            Event::End => LineStep::End,
            Event::Leaf(index) => LineStep::Leaf { index: *index },
        }
    }

    fn condition(&self, condition: &Condition<'_>) -> String {
        match condition {
            Condition::AtMost(slot, threshold) => self.language.at_most(*slot, *threshold),
            Condition::Is(slot, category) => self.language.is(*slot, category),
            Condition::Holds(slot) => self.identifier(*slot),
        }
    }

    fn unknown(&self, slot: usize) -> Option<String> {
        let (model, name) = (self.lowered.model, self.identifier(slot));
        match ValueKind::of(self.lowered, slot) {
            ValueKind::Integer | ValueKind::Number => None,
            ValueKind::Category => Some(self.language.unseen(slot)),
            ValueKind::Truth => match (model.knows(slot, "True"), model.knows(slot, "False")) {
                (true, true) => None,
                (true, false) => Some(self.language.negated(&name)),
                (false, true) => Some(name),
                (false, false) => Some(self.language.truth(true).alone()),
            },
        }
    }

    fn row(&self, row: &Row<'_>) -> RowView {
        match row {
            Row::Leaf(index) => RowView::Leaf { index: *index },
            Row::Split(Test::Numerical { slot, threshold }, right) => {
                RowView::AtMost { slot: *slot, threshold: number(*threshold), right: *right }
            }
            Row::Split(Test::Categorical { slot, category }, right) => {
                RowView::Differs { slot: *slot, category: self.literal(category), right: *right }
            }
        }
    }
}
