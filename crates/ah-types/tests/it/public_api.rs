//! The public items of the crates that programs link, each crate as a snapshot: re-exports, fields, variants, signatures of methods,
//! traits that are implemented. It fails when one appears, changes or goes; read the difference as a program that links the crate
//! would, then accept it with `cargo insta accept` (or `INSTA_UPDATE=always`), and say it in CHANGELOG.md.
//!
//! `cargo public-api` and `cargo semver-checks` need nightly's rustdoc and a published version. This reads the sources, so it does not
//! see what a macro writes.

use std::collections::BTreeMap;
use std::path::Path;

use syn::{
    Attribute, Field, Fields, FieldsUnnamed, FnArg, Ident, ImplItem, Item, ItemImpl, Pat, ReceiverKind,
    Signature, TraitItem, Type, UseTree, Visibility, parse_quote,
};

/// The names of a module, from the crate's root.
type ModulePath = Vec<String>;

/// The items of each module of a crate, without those of tests.
struct Sources(BTreeMap<ModulePath, Vec<Item>>);

/// A name that `use` declares, and the path that it stands for.
struct Import {
    name: String,
    path: Vec<String>,
}

impl Sources {
    fn read(name: &str) -> Self {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let mut all = Self(BTreeMap::new());
        all.add(items(&src.join("lib.rs")), &src, Vec::new());
        all
    }

    fn add(&mut self, mut all: Vec<Item>, folder: &Path, module: ModulePath) {
        let of_tests: Attribute = parse_quote!(#[cfg(test)]);
        all.retain_mut(|item| attributes(item).is_none_or(|all| !all.contains(&of_tests)));
        for item in &mut all {
            let Item::Mod(child) = item else { continue };
            let (name, below) = (child.ident.to_string(), folder.join(child.ident.to_string()));
            let file = folder.join(format!("{name}.rs"));
            let content = child.content.take().map(|(_, items)| items);
            let content =
                content.unwrap_or_else(|| items(&if file.exists() { file } else { below.join("mod.rs") }));
            self.add(content, &below, [&module[..], &[name]].concat());
        }
        self.0.insert(module, all);
    }

    /// The module and the name of the item that a path leads to, seen from a module; `None` outside this crate.
    fn find(&self, module: &[String], path: &[String]) -> Option<(ModulePath, String)> {
        let (first, rest) = path.split_first()?;
        let child = [module, std::slice::from_ref(first)].concat();
        match first.as_str() {
            "crate" => self.find(&[], rest),
            "self" => self.find(module, rest),
            "super" => self.find(&module[..module.len() - 1], rest),
            _ if rest.is_empty()
                && self.0[module].iter().any(|item| name(item).is_some_and(|n| n == first)) =>
            {
                Some((module.to_vec(), first.clone()))
            }
            _ if !rest.is_empty() && self.0.contains_key(&child) => self.find(&child, rest),
            _ => {
                let imports = self.0[module]
                    .iter()
                    .filter_map(|item| if let Item::Use(item) = item { Some(item) } else { None });
                let mut imports = imports.flat_map(|item| imports_of(&item.tree, &[]));
                let import = imports.find(|import| import.name == *first && import.path[0] != *first)?;
                self.find(module, &[&import.path[..], rest].concat())
            }
        }
    }

    /// The public items of a module, as a program sees them.
    fn public(&self, module: &[String]) -> Vec<Item> {
        let mut public = Vec::new();
        for item in self.0[module].iter().filter(|item| is_public(item)) {
            let Item::Use(item) = item else {
                public.extend(self.shown(module, &name(item).expect("a name").to_string()));
                continue;
            };
            for Import { name, path } in imports_of(&item.tree, &[]) {
                let mut exported = match self.find(module, &path) {
                    Some((of, defined)) if name == "*" => self.public(&[&of[..], &[defined]].concat()),
                    Some((of, defined)) => self.shown(&of, &defined),
                    None => vec![
                        syn::parse_str(&format!("pub use {} as {name};", path.join("::"))).expect("Rust"),
                    ],
                };
                exported.iter_mut().filter_map(attributes).for_each(|all| all.extend(kept(&item.attrs)));
                public.extend(exported);
            }
        }
        public
    }

    /// An item without bodies, documentation and private parts, and what is implemented for it.
    fn shown(&self, module: &[String], defined: &str) -> Vec<Item> {
        let mut shown = Vec::new();
        for item in
            self.0[module].iter().filter(|item| is_public(item) && name(item).is_some_and(|n| n == defined))
        {
            let mut item = item.clone();
            if let Some(all) = attributes(&mut item) {
                *all = kept(all);
            }
            match &mut item {
                Item::Mod(child) => {
                    let inside = self.public(&[module, &[defined.to_owned()]].concat());
                    child.content = Some((syn::token::Brace::default(), inside));
                    child.semi = None;
                }
                Item::Struct(item) => hide_private(&mut item.fields),
                Item::Enum(item) => {
                    for variant in &mut item.variants {
                        variant.attrs = kept(&variant.attrs);
                        variant.fields.iter_mut().for_each(|field| field.attrs = kept(&field.attrs));
                    }
                }
                Item::Trait(item) => {
                    for part in &mut item.items {
                        if let TraitItem::Fn(part) = part {
                            part.attrs = kept(&part.attrs);
                            without_mut(&mut part.sig);
                            part.default = part.default.as_ref().map(|_| parse_quote!({}));
                        }
                        if let TraitItem::Type(part) = part {
                            part.attrs = kept(&part.attrs);
                        }
                    }
                }
                Item::Fn(item) => {
                    item.block = parse_quote!({});
                    without_mut(&mut item.sig);
                }
                Item::Const(item) => item.expr = parse_quote!(_),
                Item::Static(item) => item.expr = parse_quote!(_),
                Item::Type(_) => {}
                other => panic!("a public item of another kind in {module:?}: {other:?}"),
            }
            let is_type = matches!(item, Item::Struct(_) | Item::Enum(_));
            shown.push(item);
            if is_type {
                shown.extend(self.0.values().flatten().filter_map(|item| implemented(item, defined)));
            }
        }
        shown
    }
}

fn items(path: &Path) -> Vec<Item> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())).items
}

fn imports_of(tree: &UseTree, prefix: &[String]) -> Vec<Import> {
    let with = |name: &Ident| [prefix, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => imports_of(&path.tree, &with(&path.ident)),
        UseTree::Name(leaf) => vec![Import { name: leaf.ident.to_string(), path: with(&leaf.ident) }],
        UseTree::Rename(leaf) => vec![Import { name: leaf.rename.to_string(), path: with(&leaf.ident) }],
        UseTree::Group(group) => group.items.iter().flat_map(|tree| imports_of(tree, prefix)).collect(),
        UseTree::Glob(_) => vec![Import { name: "*".to_owned(), path: prefix.to_vec() }],
    }
}

/// What a type gets by an `impl`: public methods and constants, or a trait.
fn implemented(item: &Item, of: &str) -> Option<Item> {
    let Item::Impl(item) = item else { return None };
    let Type::Path(path) = &*item.self_ty else { return None };
    path.path.segments.last().filter(|last| last.ident == of)?;
    let mut item = ItemImpl { attrs: kept(&item.attrs), ..item.clone() };
    let is_inherent = item.trait_.is_none();
    item.items.retain_mut(|part| match part {
        ImplItem::Fn(part) => {
            part.attrs = kept(&part.attrs);
            part.block = parse_quote!({});
            without_mut(&mut part.sig);
            is_inherent && part.vis == Visibility::Public(Default::default())
        }
        ImplItem::Const(part) => {
            part.attrs = kept(&part.attrs);
            part.expr = parse_quote!(_);
            is_inherent && part.vis == Visibility::Public(Default::default())
        }
        ImplItem::Type(_) => true,
        _ => false,
    });
    (!is_inherent || !item.items.is_empty()).then_some(Item::Impl(item))
}

/// Removes what only the body notices: `mut self`, `mut x`.
fn without_mut(signature: &mut Signature) {
    for argument in &mut signature.inputs {
        match argument {
            FnArg::Receiver(receiver) => {
                if let ReceiverKind::Value = receiver.kind {
                    receiver.mutability = None;
                }
            }
            FnArg::Typed(argument) => {
                if let Pat::Ident(name) = &mut *argument.pat {
                    name.mutability = None;
                }
            }
        }
    }
}

/// Replaces private fields by one that shows that there are some.
fn hide_private(fields: &mut Fields) {
    let public = |field: &&Field| matches!(field.vis, Visibility::Public(_));
    let count = fields.len();
    let shown = |fields: &mut dyn Iterator<Item = &Field>| -> Vec<Field> {
        fields.filter(public).map(|field| Field { attrs: kept(&field.attrs), ..field.clone() }).collect()
    };
    match fields {
        Fields::Named(named) => {
            let public = shown(&mut named.named.iter());
            let private: Option<Field> = (public.len() < count).then(|| parse_quote!(_private: _));
            named.named = public.into_iter().chain(private).collect();
        }
        Fields::Unnamed(FieldsUnnamed { unnamed, .. }) => {
            for field in unnamed.iter_mut() {
                field.attrs = kept(&field.attrs);
                if !public(&&*field) {
                    field.ty = parse_quote!(_);
                }
            }
        }
        Fields::Unit => {}
    }
}

/// The attributes that a program notices.
fn kept(attributes: &[Attribute]) -> Vec<Attribute> {
    let names = ["cfg", "cfg_attr", "derive", "non_exhaustive", "must_use", "deprecated", "repr"];
    let is_kept = |attribute: &&Attribute| names.iter().any(|name| attribute.path().is_ident(name));
    attributes.iter().filter(is_kept).cloned().collect()
}

fn attributes(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    Some(match item {
        Item::Const(item) => &mut item.attrs,
        Item::Enum(item) => &mut item.attrs,
        Item::Fn(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        Item::Mod(item) => &mut item.attrs,
        Item::Static(item) => &mut item.attrs,
        Item::Struct(item) => &mut item.attrs,
        Item::Trait(item) => &mut item.attrs,
        Item::Type(item) => &mut item.attrs,
        Item::Use(item) => &mut item.attrs,
        _ => return None,
    })
}

/// The name and the visibility of an item that has both.
fn named(item: &Item) -> Option<(&Ident, &Visibility)> {
    Some(match item {
        Item::Const(item) => (&item.ident, &item.vis),
        Item::Enum(item) => (&item.ident, &item.vis),
        Item::Fn(item) => (&item.sig.ident, &item.vis),
        Item::Mod(item) => (&item.ident, &item.vis),
        Item::Static(item) => (&item.ident, &item.vis),
        Item::Struct(item) => (&item.ident, &item.vis),
        Item::Trait(item) => (&item.ident, &item.vis),
        Item::Type(item) => (&item.ident, &item.vis),
        _ => return None,
    })
}

fn name(item: &Item) -> Option<&Ident> {
    named(item).map(|(name, _)| name)
}

fn is_public(item: &Item) -> bool {
    let visibility =
        if let Item::Use(item) = item { Some(&item.vis) } else { named(item).map(|(_, vis)| vis) };
    matches!(visibility, Some(Visibility::Public(_)))
}

#[test]
fn the_public_items_of_the_crates_that_programs_link_are_reviewed() {
    for name in ["ah-decide", "ah-model", "ah-runtime", "ah-types", "ah-measure"] {
        let mut file: syn::File = parse_quote!();
        file.items = Sources::read(name).public(&[]);
        let text = prettyplease::unparse(&file);
        let description =
            format!("the public items of {name}; a difference is what a program that links it notices");
        insta::with_settings!({ description => description, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
}
