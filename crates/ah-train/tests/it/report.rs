//! The page about a model: it is complete, harmless, and works in a browser.

use crate::chromium;
use crate::common;

use ah_model::Target;
use ah_train::{Evaluation, Params, TrainedModel, evaluate, report, train};
use chromium::dom;
use common::log;

fn trained(text: &str) -> (tempfile::TempDir, TrainedModel, Evaluation) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, text).unwrap();
    let trained = train(&Params::new(vec![path.clone()], "T")).unwrap();
    let evaluation = evaluate(&trained.model, &[path], None, false).unwrap();
    (folder, trained, evaluation)
}

#[test]
fn names_stay_text_and_nothing_is_fetched() {
    let hostile = "</script><img src=x onerror=alert(1)>{{script}}";
    let (_folder, trained, evaluation) = trained(&log(120).replace(",pad,", &format!(",{hostile},")));
    let page = report::page::html(&trained.model, &evaluation);
    assert!(!page.contains("<img"));
    assert_eq!(page.matches("</script>").count(), 3);
    let own = page.replace(include_str!("../../../ah-cli/vendor/chart.umd.min.js"), "").replace("src=x", "");
    for fetches in ["<link", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!own.contains(fetches), "{fetches}");
    }
}

#[test]
fn the_page_works_in_a_browser() {
    let (folder, trained, evaluation) = trained(&log(240));
    let path = folder.path().join("report.html");
    report::page::write(&trained.model, &evaluation, &path).unwrap();
    let Some(dom) = dom(&path) else { return };
    assert!(dom.contains("data-ready=\"yes\""), "the script stopped before its end: {dom}");
    assert!(dom.contains("as fast as orig"), "{dom}");
}

/// Uses what can be clicked, and notes the result on the page.
const CLICKS: &str = r#"{
    const branches = [...document.querySelectorAll("[id=trees] details")];
    const after = (id) => { document.getElementById(id).click(); return branches; };
    const folded = after("fold").every((branch) => !branch.open);
    const unfolded = after("unfold").every((branch) => branch.open);
    const across = document.getElementById("x");
    across.value = "1";
    across.dispatchEvent(new Event("change"));
    document.documentElement.dataset.clicked = `${folded} ${unfolded} ${map.options.scales.x.title.text}`;
}"#;

#[test]
fn a_training_shows_its_held_out_inputs() {
    let (folder, trained, _) = trained(&log(240));
    let path = folder.path().join("training.html");
    report::page::write(&trained.model, &trained.held_out.evaluation, &path).unwrap();
    let page = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, page.replace("</body>", &format!("<script>{CLICKS}</script></body>"))).unwrap();
    let Some(dom) = dom(&path) else { return };
    assert!(dom.contains("data-ready=\"yes\""), "the script stopped before its end: {dom}");
    assert!(dom.contains("held-out inputs") && dom.contains("cost_tree"), "{dom}");
    // No branch is open after folding, every one after unfolding; the map shows k across.
    assert!(dom.contains("data-clicked=\"true true k\""), "{dom}");
}

/// The cards had the decision in them; the curve, the tree and the worst inputs had not.
#[test]
fn all_slowdowns_of_a_page_include_the_decision() {
    let mut text = String::from(
        r#"{"name": "ways", "device_capa": [0, 0], "numerical_features": ["x"], "categorical_features": []}
x,choice,feedback
"#,
    );
    for x in 0..300 {
        // A tenth of a microsecond.
        let (left, right) = if x % 97 < 48 { (1e-4, 2e-4) } else { (2e-4, 1e-4) };
        text += &format!("{},left,{left:e}\n{},right,{right:e}\n", x % 97 * 1000 + x, x % 97 * 1000 + x);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, text).unwrap();
    let params = Params { targets: vec![Target::Rust], ..Params::new(vec![path], "T") };
    let trained = train(&params).unwrap();
    let page = report::page::html(&trained.model, &trained.held_out.evaluation);
    let facts = page.split("id=\"facts\">").nth(1).unwrap().split("</script>").next().unwrap();
    let facts: serde_json::Value = serde_json::from_str(facts).unwrap();
    let model = &facts["comparison"]["model"];
    let of = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!(of(&model["slowdown"]) > 1.01 * of(&model["without_asking"]), "{model}");
    let curve = facts["curves"][0]["slowdowns"].as_array().unwrap();
    assert!((of(curve.last().unwrap()) - of(&model["worst"])).abs() < 1e-9, "{curve:?}");
    assert!((of(&facts["worst"][0]["slowdown"]) - of(&model["worst"])).abs() < 1e-9);
}
