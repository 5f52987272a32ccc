//! Models small enough to know their answers by heart.
#![allow(dead_code)]

use ah_types::{Device, Model};

/// Decides `pad` for odd k above 100 (k from 101 on), `orig` up to 100; float64 is unsure by its
/// leaf, other types than float32 are unknown. Outside `m >= 8` it is out of its domain.
/// Features in the order m, k, dtype; one derived.
pub fn pad_mm(name: &str, device: Option<&Device>) -> Model {
    let ranked = |choice: &str, allowed: bool| {
        format!(
            r#"{{"choice": "{choice}", "score": 0.1, "probability": 0.9, "measured": 9, "slowdown": 1.0, "worst": 1.1, "worst_over_fallback": 1.0, "allowed": {allowed}}}"#
        )
    };
    let leaf = |unsure: &str, ranking: &[String]| {
        format!(r#"{{"samples": 9, "unsure": {unsure}, "ranking": [{}]}}"#, ranking.join(", "))
    };
    let text = format!(
        r#"{{
        "format": "autoheuristic-model", "version": 1,
        "heuristic": "{name}", "optimization": "pad_mm",
        "features": [{{"name": "m", "kind": "numerical"}}, {{"name": "k", "kind": "numerical"}},
                     {{"name": "dtype", "kind": "categorical"}}],
        "derived": [{{"name": "m*k", "expression": "m * k"}}],
        "categories": {{"dtype": ["float32", "float64"]}},
        "precondition": "m >= 8",
        "device": {device}, "shared_memory": null, "device_capa": [0, 0],
        "choices": ["orig", "pad", "stream"], "fallback": "orig", "promise": null,
        "trees": [{{"nodes": [
            {{"feature": "dtype", "category": "float64", "left": 1, "right": 2}},
            {{"feature": "k", "threshold": 100.0, "left": 3, "right": 4}},
            {low}, {small}, {large}
        ]}}],
        "provenance": {{"tool": "test", "logs": [], "seed": 0, "parameters": {{}}, "metrics": {{}}}}
    }}"#,
        device = device.map_or("null".to_owned(), |d| serde_json::to_string(d).unwrap()),
        low = leaf(r#""low-confidence""#, &[ranked("pad", true), ranked("orig", true)]),
        small = leaf("null", &[ranked("orig", true), ranked("pad", true)]),
        large = leaf("null", &[ranked("pad", true), ranked("stream", true), ranked("orig", true)]),
    );
    Model::parse(&text).unwrap()
}
