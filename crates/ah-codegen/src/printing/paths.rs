//! The path to each leaf in words.

use ah_types::{Model, Node, Test, Tree};

use crate::printing::text::{number, shown};

/// The clause of a path about one feature.
#[derive(Clone)]
enum Clause<'m> {
    /// Above the first, at most the second.
    Between(Option<f64>, Option<f64>),
    /// Not these, or this one.
    Category(Vec<&'m str>, Option<&'m str>),
}

/// Returns the path of each leaf in words, tree by tree in the order of the nodes: `8 < m <= 16, dtype is
/// float16`. The features are in the order in which the path first tests them.
pub fn paths(model: &Model) -> Vec<String> {
    model.trees.iter().flat_map(|tree| of_tree(model, tree)).collect()
}

fn of_tree(model: &Model, tree: &Tree) -> Vec<String> {
    let mut paths = vec![None; tree.nodes.len()];
    let mut open = vec![(0_usize, Vec::new())];
    while let Some((at, clauses)) = open.pop() {
        match &tree.nodes[at] {
            Node::Leaf(_) => paths[at] = Some(words(model, &clauses)),
            Node::Split { test, left, right } => {
                open.push((*left as usize, and(&clauses, test, true)));
                open.push((*right as usize, and(&clauses, test, false)));
            }
        }
    }
    paths.into_iter().flatten().collect()
}

type Clauses<'m> = Vec<(usize, Clause<'m>)>;

/// Returns the clauses with one more: the test goes to this side.
fn and<'m>(clauses: &Clauses<'m>, test: &'m Test, left: bool) -> Clauses<'m> {
    let mut clauses = clauses.clone();
    let slot = test.slot();
    let place = clauses.iter().position(|(s, _)| *s == slot).unwrap_or_else(|| {
        clauses.push((
            slot,
            match test {
                Test::Numerical { .. } => Clause::Between(None, None),
                Test::Categorical { .. } => Clause::Category(Vec::new(), None),
            },
        ));
        clauses.len() - 1
    });
    match (&mut clauses[place].1, test) {
        (Clause::Between(_, most), Test::Numerical { threshold, .. }) if left => {
            *most = Some(most.map_or(*threshold, |most| most.min(*threshold)));
        }
        (Clause::Between(above, _), Test::Numerical { threshold, .. }) => {
            *above = Some(above.map_or(*threshold, |above| above.max(*threshold)));
        }
        (Clause::Category(others, _), Test::Categorical { category, .. }) if left => others.push(category),
        (Clause::Category(_, this), Test::Categorical { category, .. }) => *this = Some(category),
        // A feature has one kind.
        _ => {}
    }
    clauses
}

fn words(model: &Model, clauses: &Clauses<'_>) -> String {
    let clause = |(slot, clause): &(usize, Clause<'_>)| {
        let name = shown(&model.features.all().features()[*slot].name);
        match clause {
            Clause::Between(above, most) => {
                let above = above.map_or(String::new(), |x| format!("{} < ", number(x)));
                let most = most.map_or(String::new(), |x| format!(" <= {}", number(x)));
                format!("{above}{name}{most}")
            }
            Clause::Category(_, Some(this)) => format!("{name} is {}", shown(this)),
            Clause::Category(others, None) => {
                let others: Vec<String> = others.iter().map(|other| shown(other)).collect();
                format!("{name} is not {}", others.join(" or "))
            }
        }
    };
    let words: Vec<String> = clauses.iter().map(clause).collect();
    if words.is_empty() { "it is so everywhere".to_owned() } else { words.join(", ") }
}
