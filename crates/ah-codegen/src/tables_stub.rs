pub struct Tables { pub columns: Vec<ah_types::Column<Vec<String>>>, pub nodes: Vec<ah_decide::Node>, pub ends: Vec<usize>, pub ranking: Vec<ah_decide::Ranked>, pub expected: Vec<bool>, pub rule: ah_decide::Rule, pub boosters: BoosterTables }
pub struct BoosterTables { pub columns: Vec<(u16, u16)>, pub thresholds: Vec<f64>, pub splits: Vec<ah_decide::Split>, pub masks: Vec<ah_decide::Masks>, pub first_rows: Vec<u16>, pub rows: Vec<[i8; 16]>, pub parts: usize }
impl Tables { pub fn new(_: &ah_types::Model) -> Self { unimplemented!() } }
