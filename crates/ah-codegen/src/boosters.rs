//! Tables and rankings: what the executor reads, as Rust, Python and C write it.
//!
//! Rust contains the executor itself, the file of `ah-decide`. Python and C have one translation each, in their skeletons.

use ah_decide::LEAF;
use ah_types::{ChoiceId, Model};

use crate::body::Outcome;
use crate::body::Step;
use crate::expression::Syntax;
use crate::names::Names;
use crate::page::Lines;
use crate::plan::{Plan, Planned, distinct_rankings};
use crate::rust_syntax::RustSyntax;

/// Returns values separated by commas, several a line.
pub fn wrapped(values: impl IntoIterator<Item = String>, indent: &str) -> String {
    let (mut text, mut line) = (String::new(), String::new());
    for value in values {
        if !line.is_empty() && line.len() + value.len() > 92 {
            text += &format!("{indent}{}\n", line.trim_end());
            line.clear();
        }
        line += &format!("{value}, ");
    }
    if line.is_empty() { text } else { text + &format!("{indent}{}\n", line.trim_end()) }
}

/// Returns an array, as a `static`, or as a `const` where a constant function reads it.
fn table(keyword: &str, doc: &str, name: &str, ty: &str, values: Vec<String>) -> String {
    let count = values.len();
    format!(
        "/// {doc}\n#[rustfmt::skip]\n{keyword} {name}: [{ty}; {count}] = [\n{}];",
        wrapped(values, "    ")
    )
}

/// Returns what a Rust file has beside a plain `choose`: tables, rankings, `choose_among`.
pub fn rust(plan: &Plan<'_>, syntax: &RustSyntax<'_>, names: &Names, planned: &Planned) -> String {
    let model = plan.model;
    let mut parts = Vec::new();
    let variant = |choice: ChoiceId| format!("Choice::{}", names.choices[choice.index()]);
    let nothing = |_: Outcome, _: bool| "return None;".to_owned();
    if planned.tables.is_some() || plan.ranked {
        parts.push(rust_conditions(planned, syntax, model, &variant));
    }
    if let Some(code) = &planned.tables {
        let tables = &code.tables;
        let body = Lines::new(syntax, model, &nothing).print(&planned.body, 1);
        let columns: Vec<String> =
            code.columns.iter().map(|code| format!("        {},\n", code.text)).collect();
        let unused = if planned.read.is_empty() { "_" } else { "c" };
        parts.push(format!(
            "/// Returns the values that trees compare; NaN is undefined. `None` outside the precondition.\n#[rustfmt::skip]\nfn columns({unused}: &Context) -> Option<[f64; {}]> \
             {{\n{body}\n    Some([\n{}    ])\n}}",
            columns.len(),
            columns.concat()
        ));
        let node = |node: &ah_decide::Node| match node.0 {
            LEAF => format!("Node(LEAF, 0.0, {})", node.2),
            column => format!("Node({column}, {:?}, {})", node.1, node.2),
        };
        parts.push(table("static", "The tree.", "NODES", "Node", tables.nodes.iter().map(node).collect()));
        parts.push(table(
            "static",
            "By leaf: the end of its choices.",
            "ENDS",
            "usize",
            tables.ends.iter().map(ToString::to_string).collect(),
        ));
        let ranked = |r: &ah_decide::Ranked| {
            format!("ranked_({}, {}, {})", r.choice, syntax.float(r.score), r.allowed)
        };
        parts.push("const fn ranked_(choice: u32, score: f64, allowed: bool) -> Ranked {\n    Ranked { choice, score, allowed }\n}".to_owned());
        let ranking = tables.ranking.iter().map(ranked).collect();
        parts.push(table("static", "The choices of all leaves.", "RANKING", "Ranked", ranking));
        let expected = tables.expected.iter().map(ToString::to_string).collect();
        parts.push(table(
            "static",
            "Whether a program is expected to offer a choice that it did not list.",
            "EXPECTED",
            "bool",
            expected,
        ));
        let rule = tables.rule;
        let option = |x: Option<String>| x.map_or("None".to_owned(), |x| format!("Some({x})"));
        parts.push(format!(
            "#[rustfmt::skip]\nstatic RULE: Rule = Rule {{ fallback: {}, unit: {:?}, margin: {} }};",
            option(rule.fallback.map(|x| x.to_string())),
            rule.unit,
            option(rule.margin.map(|x| format!("{x:?}")))
        ));
        let sums = if model.boosters.is_empty() {
            "&[]".to_owned()
        } else {
            parts.push(rust_boosters(tables));
            "sums.as_flattened()".to_owned()
        };
        let add = match model.boosters.is_empty() {
            true => String::new(),
            false => format!(
                "    let mut sums = [[0; decide::LANES]; {}];\n    BOOSTERS.add_rows(&mut sums, &mut [0; {}], |at| columns[at]).ok()?;\n",
                model.choices.len().div_ceil(ah_decide::LANES),
                tables.boosters.columns.len()
            ),
        };
        parts.push(format!(
            "/// Calls `f` with the ranking of an input, each choice with whether a program is expected to offer it.\n#[rustfmt::skip]\nfn with_ranking<T>(c: &Context, f: impl FnOnce(&mut dyn \
             Iterator<Item = (Ranked, bool)>) -> Option<T>) -> Option<T> {{\n    let columns = columns(c)?;\n    let leaf = decide::leaf(&NODES, |at| columns[at]).ok()?;\n{add}    let \
             start = if leaf == 0 {{ 0 }} else {{ ENDS[leaf - 1] }};\n    let expected = EXPECTED[start..ENDS[leaf]].iter().copied();\n    f(&mut RULE.ranked(&RANKING[start..ENDS[leaf]], \
             {sums}).zip(expected))\n}}"
        ));
        parts.push(
            "fn is_fallback(ranked: &Ranked) -> bool {\n    Some(ranked.choice) == RULE.fallback\n}"
                .to_owned(),
        );
        parts.push(
            "/// Returns the choice to take; `None` where the heuristic declines: do what you would do without it.\n#[rustfmt::skip]\npub fn choose(c: &Context) -> Option<Choice> {\n    \
             with_ranking(c, |ranking| {\n        let expected = ranking.filter(|(ranked, expected)| *expected || is_fallback(ranked)).map(|(ranked, _)| ranked);\n        \
             decide::pick(expected, RULE.fallback, |choice| is_eligible(c, Choice::ALL[choice as usize]))\n    })\n    .map(|choice| Choice::ALL[choice as usize])\n}"
                .to_owned(),
        );
        if plan.ranked {
            parts.push(format!(
                "/// Like [`choose`], among the choices that the program offers. The fallback always counts as offered.\n#[rustfmt::skip]\npub fn choose_among(c: &Context, offered: \
                 &[Choice]) -> Option<Choice> {{\n    with_ranking(c, |ranking| {{\n        decide::pick(ranking.map(|(ranked, _)| ranked), RULE.fallback, |choice| {{\n            let choice \
                 = Choice::ALL[choice as usize];\n            offered.contains(&choice) && is_eligible(c, choice)\n        }})\n    }})\n    .map(|choice| Choice::ALL[choice as usize])\n}}\n\n\
                 /// Returns the choices that the promise allows here, best first.\n#[rustfmt::skip]\npub fn ranked(c: &Context) -> impl Iterator<Item = Choice> {{\n    let mut all \
                 = [(f64::INFINITY, 0); {count}];\n    let mut count = 0;\n    let _ = with_ranking(c, |ranking| {{\n        for (ranked, _) in ranking.filter(|(ranked, _)| ranked.allowed) \
                 {{\n            all[count] = (ranked.score, ranked.choice);\n            count += 1;\n        }}\n        // Few choices, and an order that keeps equal ones.\n        for end in \
                 1..count {{\n            let mut at = end;\n            while at > 0 && all[at].0 < all[at - 1].0 {{\n                all.swap(at, at - 1);\n                at -= \
                 1;\n            }}\n        }}\n        Some(())\n    }});\n    all.into_iter().take(count).map(|(_, choice)| Choice::ALL[choice as usize])\n}}",
                count = model.choices.len()
            ));
        }
    } else if plan.ranked {
        let (distinct, numbers) = distinct_rankings(model);
        let result = |outcome: Outcome, tail: bool| match outcome {
            Outcome::Leaf(leaf) if tail => format!("Some({})", numbers[leaf]),
            Outcome::Leaf(leaf) => format!("return Some({});", numbers[leaf]),
            _ if tail => "None".to_owned(),
            _ => "return None;".to_owned(),
        };
        let body = Lines::new(syntax, model, &result).print(&planned.leaf, 1);
        let unused = if planned.read.is_empty() { "" } else { "c: &Context" };
        let given = if planned.read.is_empty() { "" } else { "c" };
        parts.push(format!("/// Returns the number of the ranking.\n#[rustfmt::skip]\nfn leaf({unused}) -> Option<usize> {{\n{body}\n}}"));
        let rankings: Vec<String> = distinct
            .iter()
            .map(|ranking| {
                let entries: Vec<String> =
                    ranking.iter().map(|(id, allowed)| format!("({}, {allowed})", variant(*id))).collect();
                format!("    &[{}],\n", entries.join(", "))
            })
            .collect();
        parts.push(format!(
            "/// The choices, best first, each with whether the promise allows it.\n#[rustfmt::skip]\nstatic RANKINGS: [&[(Choice, bool)]; {}] = [\n{}];",
            rankings.len(),
            rankings.concat()
        ));
        let fallback = model.fallback.map_or("None".to_owned(), |id| format!("Some({})", variant(id)));
        let comma = if given.is_empty() { "" } else { "c: &Context, " };
        parts.push(format!(
            "/// Like [`choose`], among the choices that the program offers. The fallback always counts as offered.\n#[rustfmt::skip]\npub fn choose_among({comma}offered: &[Choice]) -> \
             Option<Choice> {{\n    const FALLBACK: Option<Choice> = {fallback};\n    let mut declines = false;\n    for &(choice, allowed) in RANKINGS[leaf({given})?] {{\n        if \
             Some(choice) == FALLBACK {{\n            return if declines {{ None }} else {{ Some(choice) }};\n        }}\n        if offered.contains(&choice) && is_eligible({}choice) \
             {{\n            if allowed {{\n                return Some(choice);\n            }}\n            declines = true;\n        }}\n    }}\n    None\n}}\n\n/// Returns the choices that \
             the promise allows here, best first.\n#[rustfmt::skip]\npub fn ranked({unused}) -> impl Iterator<Item = Choice> {{\n    let ranking: &[(Choice, bool)] = leaf({given}).map_or(&[], \
             |leaf| RANKINGS[leaf]);\n    ranking.iter().filter(|(_, allowed)| *allowed).map(|(choice, _)| *choice)\n}}",
            if given.is_empty() { "" } else { "c, " }
        ));
    }
    parts.join("\n\n")
}

fn rust_conditions(
    planned: &Planned,
    syntax: &RustSyntax<'_>,
    model: &Model,
    variant: &dyn Fn(ChoiceId) -> String,
) -> String {
    let (steps, all) = &planned.conditions;
    let nothing = |_: Outcome, _: bool| String::new();
    let lets = Lines::new(syntax, model, &nothing).print(steps, 1);
    let arms: Vec<String> = all
        .iter()
        .map(|(code, choices)| {
            let choices: Vec<String> = choices.iter().map(|id| variant(*id)).collect();
            format!("        {} => {},\n", choices.join(" | "), code.text)
        })
        .collect();
    let parameter = if planned.read.is_empty() {
        ""
    } else if all.is_empty() {
        "_: &Context, "
    } else {
        "c: &Context, "
    };
    let body = match all.is_empty() {
        true => "    true".to_owned(),
        false => format!("{lets}\n    match choice {{\n{}        _ => true,\n    }}", arms.concat()),
    };
    let choice = if all.is_empty() { "_" } else { "choice" };
    format!(
        "/// Returns whether a choice can run on an input.\n#[rustfmt::skip]\nfn is_eligible({parameter}{choice}: Choice) -> bool {{\n{body}\n}}"
    )
}

fn rust_boosters(tables: &ah_types::Tables) -> String {
    let boosters = &tables.boosters;
    let mut parts = Vec::new();
    let pairs = boosters.columns.iter().map(|(column, end)| format!("({column}, {end})")).collect();
    parts.push(table(
        "const",
        "The columns of the boosters, and the ends of their thresholds.",
        "COLUMNS",
        "(u16, u16)",
        pairs,
    ));
    parts.push(table(
        "static",
        "The thresholds, column after column.",
        "THRESHOLDS",
        "f64",
        boosters.thresholds.iter().map(|x| format!("{x:?}")).collect(),
    ));
    let splits =
        boosters.splits.iter().map(|s| format!("Split({}, {}, {}, {})", s.0, s.1, s.2, s.3)).collect();
    parts.push(table("const", "The splits of the boosters.", "SPLITS", "Split", splits));
    parts.push(table(
        "static",
        "By booster: the row of its first leaf.",
        "FIRST_ROWS",
        "u16",
        boosters.first_rows.iter().map(ToString::to_string).collect(),
    ));
    let row = |row: &[i8; ah_decide::LANES]| format!("[{}]", row.map(|x| x.to_string()).join(", "));
    parts.push(table(
        "static",
        "The rows.",
        "ROWS",
        "[i8; decide::LANES]",
        boosters.rows.iter().map(row).collect(),
    ));
    parts.push(format!(
        "#[rustfmt::skip]\nstatic MASKS: [Masks; {}] = {{\n    let mut masks = [Masks::ALL; {}];\n    decide::fill_masks(&mut masks, &COLUMNS, &SPLITS);\n    masks\n}};",
        boosters.masks.len(),
        boosters.masks.len()
    ));
    parts.push(
        "static BOOSTERS: Boosters<'static> = Boosters {\n    columns: &COLUMNS,\n    thresholds: &THRESHOLDS,\n    masks: &MASKS,\n    first_rows: &FIRST_ROWS,\n    rows: &ROWS,\n};"
            .to_owned(),
    );
    parts.join("\n\n")
}

/// Returns what a Python file has beside a plain `choose`.
pub fn python(
    plan: &Plan<'_>,
    planned: &Planned,
    signature: &str,
    body: &dyn Fn(&[Step]) -> String,
) -> Vec<String> {
    use crate::python_syntax::{PythonSyntax, tuple};
    use crate::text::python_string;
    let (model, syntax) = (plan.model, PythonSyntax);
    let name = |id: ChoiceId| python_string(model.choice_name(id));
    let nothing = |_: Outcome, _: bool| "return None".to_owned();
    let mut parts = Vec::new();
    let (steps, all) = &planned.conditions;
    if !all.is_empty() {
        let lets = Lines::new(&syntax, model, &nothing).print(steps, 1);
        let lets = if lets.is_empty() { lets } else { lets + "\n" };
        let entries: Vec<String> = all
            .iter()
            .map(|(code, choices)| {
                let choices: Vec<String> = choices.iter().map(|id| name(*id)).collect();
                format!("    if not ({}):\n        names.update({})\n", code.text, tuple(&choices))
            })
            .collect();
        parts.push(format!(
            "def _ineligible({signature}):\n    \"\"\"Returns the choices that cannot run on this input.\"\"\"\n{lets}    names = set()\n{}    return names",
            entries.concat()
        ));
    } else {
        parts.push(format!("def _ineligible({signature}):\n    return ()"));
    }
    let Some(code) = &planned.tables else {
        parts.push(format!("def _leaf({signature}):\n{}", body(&planned.leaf)));
        return parts;
    };
    let tables = &code.tables;
    let lines = Lines::new(&syntax, model, &nothing).print(&planned.body, 2);
    let lines = if lines.is_empty() { lines } else { lines + "\n" };
    let columns: Vec<String> =
        code.columns.iter().map(|code| format!("            {},\n", code.text)).collect();
    parts.push(format!(
        "def _columns({signature}):\n    \"\"\"Returns the values that trees compare; nan is undefined. None outside the precondition.\"\"\"\n    try:\n{lines}        return \
         (\n{}        )\n    except TypeError:\n        return None",
        columns.concat()
    ));
    let node = |node: &ah_decide::Node| match node.0 {
        LEAF => format!("(-1, 0.0, {})", node.2),
        column => format!("({column}, {}, {})", syntax.float(node.1), node.2),
    };
    parts.push(format!("# The tree: a column (-1 at a leaf), its threshold, and the left child (the right one follows) or the leaf.\n_NODES = (\n{})", wrapped(tables.nodes.iter().map(node), "    ")));
    let mut start = 0;
    let leaves: Vec<String> = tables
        .ends
        .iter()
        .map(|&end| {
            let entries = (start..end).map(|at| {
                let r = &tables.ranking[at];
                format!(
                    "({}, {}, {}, {})",
                    r.choice,
                    syntax.float(r.score),
                    syntax.truth(r.allowed),
                    syntax.truth(tables.expected[at])
                )
            });
            start = end;
            format!("    {},\n", tuple(&entries.collect::<Vec<_>>()))
        })
        .collect();
    parts.push(format!(
        "# By leaf: its choices, each with its score, whether the promise allows it, and whether a program is expected to offer it.\n_LEAVES = (\n{})",
        leaves.concat()
    ));
    let boosters = &tables.boosters;
    let ends = std::iter::once(0).chain(boosters.columns.iter().map(|(_, end)| usize::from(*end)));
    let columns: Vec<String> = boosters
        .columns
        .iter()
        .zip(ends)
        .map(|((column, end), start)| {
            let thresholds: Vec<String> =
                boosters.thresholds[start..usize::from(*end)].iter().map(|x| syntax.float(*x)).collect();
            format!("    ({column}, {}),\n", tuple(&thresholds))
        })
        .collect();
    let splits = boosters.splits.iter().map(|s| format!("({}, {}, {}, {})", s.0, s.1, s.2, s.3));
    let parts_of_row = model.choices.len().div_ceil(ah_decide::LANES);
    let rows = boosters.rows.chunks(parts_of_row).map(|row| {
        let bytes =
            row.iter().flatten().take(model.choices.len()).map(|x| format!("{:02x}", i16::from(*x) + 128));
        format!("\"{}\"", bytes.collect::<String>())
    });
    let rule = tables.rule;
    let number = |x: Option<f64>| x.map_or("None".to_owned(), |x| syntax.float(x));
    if !boosters.first_rows.is_empty() {
        parts.push(format!(
            "# The boosters: columns with their thresholds, splits, first rows, and rows of a byte for each choice; 128 is 0.\n_COLUMNS = (\n{})\n_SPLITS = (\n{})\n_FIRST \
             = (\n{})\n_ROWS = (\n{})\n_UNIT = {}\n_MARGIN = {}",
            columns.concat(),
            wrapped(splits, "    "),
            wrapped(boosters.first_rows.iter().map(ToString::to_string), "    "),
            wrapped(rows, "    "),
            syntax.float(rule.unit),
            number(rule.margin)
        ));
    }
    parts
}
