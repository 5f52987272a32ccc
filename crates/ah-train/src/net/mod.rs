//! What a program waits for beside the choice itself: the decision, and the features that the model uses.

pub mod decision_time;
