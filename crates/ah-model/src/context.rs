//! Contexts: all that is known when choosing.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::feature::{Feature, FeatureKind, Schema};
use crate::shown::quoted;

/// The value of one feature. It is serialized as the number, null for NaN where the format has none, or as the text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// The value of a numerical feature.
    Number(f64),
    /// The value of a categorical feature.
    Category(Arc<str>),
}

impl Value {
    /// The kind of feature that this value belongs to.
    pub fn kind(&self) -> FeatureKind {
        match self {
            Self::Number(_) => FeatureKind::Numerical,
            Self::Category(_) => FeatureKind::Categorical,
        }
    }

    /// The value without ownership.
    pub fn as_scalar(&self) -> Scalar<'_> {
        match self {
            Self::Number(x) => Scalar::Number(*x),
            Self::Category(c) => Scalar::Category(c),
        }
    }
}

/// Prints the value as in a log: whole numbers without a point, other numbers with the shortest decimal
/// that reads back to the same f64.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_scalar().fmt(f)
    }
}

/// The value with ownership: a truth value is the category `True` or `False`, as PyTorch prints it.
impl<'a, S: Into<Scalar<'a>>> From<S> for Value {
    fn from(scalar: S) -> Self {
        scalar.into().to_value()
    }
}
impl From<String> for Value {
    fn from(s: String) -> Self {
        Self::Category(Arc::from(s))
    }
}
macro_rules! from_numbers {
    ($($exact:ty)*; $($wide:ty)*) => {
        $(impl From<$exact> for Scalar<'_> {
            fn from(x: $exact) -> Self { Self::Number(f64::from(x)) }
        })*
        $(impl From<$wide> for Scalar<'_> {
            /// Whole numbers above 2^53 are rounded to the nearest f64.
            fn from(x: $wide) -> Self { Self::Number(x as f64) }
        })*
    };
}
from_numbers!(f32 f64 i32 u32; i64 u64 usize);

impl From<bool> for Scalar<'_> {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}
impl<'a> From<&'a str> for Scalar<'a> {
    fn from(s: &'a str) -> Self {
        Self::Category(s)
    }
}

/// `True` or `False`.
pub fn bool_name(b: bool) -> &'static str {
    if b { "True" } else { "False" }
}

/// A borrowed value: what expressions and trees compute with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// A number; NaN means *undefined*.
    Number(f64),
    /// A truth value; as a category it is `True` or `False`.
    Bool(bool),
    /// A category.
    Category(&'a str),
}

impl<'a> Scalar<'a> {
    /// The number, when this is one.
    pub fn number(self) -> Option<f64> {
        if let Self::Number(x) = self { Some(x) } else { None }
    }

    /// The category's name, when this is a category or a truth value.
    pub fn category(self) -> Option<&'a str> {
        match self {
            Self::Category(c) => Some(c),
            Self::Bool(b) => Some(bool_name(b)),
            Self::Number(_) => None,
        }
    }

    /// The value with ownership.
    pub fn to_value(self) -> Value {
        match self {
            Self::Number(x) => Value::Number(x),
            Self::Bool(b) => Value::Category(Arc::from(bool_name(b))),
            Self::Category(c) => Value::Category(Arc::from(c)),
        }
    }
}

/// Prints the value as [`Value`] does.
impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Number(x) => write!(f, "{x}"),
            Self::Bool(b) => f.write_str(bool_name(b)),
            Self::Category(c) => f.write_str(c),
        }
    }
}

/// All that is known when choosing: named values, in the order in which they were given.
///
/// ```
/// use ah_model::Context;
/// let context = Context::new().with("m", 4095).with("mat1_dtype", "torch.float16").with("prepadded_mat1", false);
/// assert_eq!(context.to_string(), "m=4095 mat1_dtype=torch.float16 prepadded_mat1=False");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    entries: Vec<(Arc<str>, Value)>,
}

impl Context {
    /// An empty context.
    pub fn new() -> Self {
        Self::default()
    }

    /// The context with one more value, or another value for an existing name.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a value, replacing one of the same name.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.entries.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, known)) => *known = value,
            None => self.entries.push((Arc::from(name), value)),
        }
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|(known, _)| **known == *name).map(|(_, value)| value)
    }

    /// The number of this name, if it is one.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(|v| v.as_scalar().number())
    }

    /// The category of this name, if it is one.
    pub fn category(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|v| v.as_scalar().category())
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(n, v)| (&**n, v))
    }

    /// The values by the slots of `schema`, ready for expressions and trees.
    ///
    /// # Errors
    /// A sentence names the first feature that is missing or of the other kind. Names that the schema
    /// does not have are ignored.
    pub fn row(&self, schema: &Schema) -> Result<Vec<Value>, String> {
        let value = |feature: &Feature| {
            let name = quoted(&feature.name);
            match self.get(&feature.name) {
                Some(value) if value.kind() == feature.kind => Ok(value.clone()),
                Some(other) => {
                    let found = quoted(&other.to_string());
                    Err(format!("the feature {name} should be {}, found {found}", feature.kind))
                }
                None => Err(format!("the context lacks the feature {name}; add it")),
            }
        };
        schema.features().iter().map(value).collect()
    }
}

/// `name=value` pairs, separated by spaces.
impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.entries.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{name}={value}")?;
        }
        Ok(())
    }
}

impl<N: AsRef<str>, V: Into<Value>> FromIterator<(N, V)> for Context {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(iter: T) -> Self {
        iter.into_iter().fold(Self::new(), |context, (name, value)| context.with(name.as_ref(), value))
    }
}
