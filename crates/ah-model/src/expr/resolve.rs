//! Checks an expression against a schema: names become slots, and every operator gets operands of its type.

use super::tree::{Binary, Comparison, Expr, Slot, Type, Unary};
use crate::fault::Invalid;
use crate::feature::Schema;
use crate::shown::{self, did_you_mean, listed, quoted};

impl Expr<String> {
    /// Checks names and types against `schema`.
    ///
    /// # Errors
    /// [`Invalid`] for the first unknown feature or mistyped operand.
    pub fn resolve(&self, schema: &Schema) -> Result<Expr, Invalid> {
        Resolver { schema, whole: self }.any(self)
    }

    /// Resolves an expression that must compute a truth value; see [`resolve`](Self::resolve).
    ///
    /// # Errors
    /// [`Invalid`] for the first unknown feature or mistyped operand, or if the whole has another type.
    pub fn resolve_bool(&self, schema: &Schema) -> Result<Expr, Invalid> {
        Resolver { schema, whole: self }.of_type(self, Type::Bool)
    }
}

struct Resolver<'a> {
    schema: &'a Schema,
    /// The whole expression, for messages.
    whole: &'a Expr<String>,
}

impl Resolver<'_> {
    fn any(&self, expr: &Expr<String>) -> Result<Expr, Invalid> {
        Ok(match expr {
            Expr::Number(x) => Expr::Number(*x),
            Expr::Bool(value) => Expr::Bool(*value),
            Expr::Text(text) => Expr::Text(text.clone()),
            Expr::Feature(name) => Expr::Feature(self.slot(name)?),
            Expr::Unary(op, a) => {
                let ty = if *op == Unary::Not { Type::Bool } else { Type::Number };
                Expr::Unary(*op, self.of_type(a, ty)?.into())
            }
            Expr::Binary(Binary::Compare(op @ (Comparison::Eq | Comparison::Ne)), a, b) => {
                self.equality(*op, a, b)?
            }
            Expr::Binary(op, a, b) => {
                let ty = if matches!(op, Binary::Or | Binary::And) { Type::Bool } else { Type::Number };
                Expr::binary(*op, self.of_type(a, ty)?, self.of_type(b, ty)?)
            }
            Expr::If(c, a, b) => {
                let c = self.of_type(c, Type::Bool)?;
                let a = self.any(a)?;
                let b = self.of_type(b, a.ty())?;
                Expr::If(c.into(), a.into(), b.into())
            }
        })
    }

    fn slot(&self, name: &str) -> Result<Slot, Invalid> {
        let index = self.schema.slot(name).ok_or_else(|| {
            let known = || self.schema.features().iter().map(|f| &f.name);
            let feature = quoted(name);
            let whole = shown::expression(&self.whole.to_string());
            let listed = listed(known());
            let proposal = did_you_mean(name, known());
            Invalid(format!(
                "unknown feature {feature} in the expression {whole}; the features are {listed}{proposal}"
            ))
        })?;
        Ok(Slot { index, kind: self.schema.features()[index].kind })
    }

    /// Numbers compare with numbers. Categories and truth values compare with each other, because a
    /// categorical feature may contain `True` and `False`.
    fn equality(&self, op: Comparison, a: &Expr<String>, b: &Expr<String>) -> Result<Expr, Invalid> {
        let categories = if op == Comparison::Eq { Binary::Same } else { Binary::Differ };
        let left = self.any(a)?;
        let right = self.any(b)?;
        match (left.ty(), right.ty()) {
            (Type::Number, Type::Number) => Ok(Expr::binary(Binary::Compare(op), left, right)),
            (expected @ Type::Number, found) | (expected, found @ Type::Number) => {
                Err(self.mismatch(b, expected, found))
            }
            _ => Ok(Expr::binary(categories, left, right)),
        }
    }

    /// Resolves an operand of this type. A categorical feature stands for a condition too: it holds where its value is `True`,
    /// because a truth value is logged as the category `True` or `False`.
    fn of_type(&self, expr: &Expr<String>, expected: Type) -> Result<Expr, Invalid> {
        let resolved = self.any(expr)?;
        match resolved.ty() {
            found if found == expected => Ok(resolved),
            Type::Category if expected == Type::Bool && matches!(resolved, Expr::Feature(_)) => {
                Ok(Expr::binary(Binary::Same, resolved, Expr::Text("True".into())))
            }
            found => Err(self.mismatch(expr, expected, found)),
        }
    }

    fn mismatch(&self, part: &Expr<String>, expected: Type, found: Type) -> Invalid {
        let [part, whole] = [part, self.whole].map(|expr| shown::expression(&expr.to_string()));
        Invalid(format!("expected {expected}, found {found}: {part} in the expression {whole}"))
    }
}
