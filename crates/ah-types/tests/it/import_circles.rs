//! No import circles between the files of a crate (`docs/architecture.md`).
//!
//! The nodes are the files. An edge leads from a file to each file whose items it uses: by `use`, or by a path that begins
//! with `crate`, `super`, `self`, a child module or an imported name. Modules under `cfg(test)` do not count.
//!
//! A folder is used as a whole: a path from outside that goes through a re-export of its `mod.rs` leads to this `mod.rs`, which
//! depends on all that it re-exports. Inside the folder, a path through `super` leads to the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The names of a module, from the crate's root.
type ModulePath = Vec<String>;

/// One source file.
#[derive(Default)]
struct SourceFile {
    /// Its path below `src`.
    name: String,
    /// Its module.
    module: ModulePath,
    /// The names that `use` declares, each with its path from the root.
    imports: BTreeMap<String, ModulePath>,
    /// The paths that it uses, from the root.
    uses: BTreeSet<ModulePath>,
}

/// The module tree below one root file.
#[derive(Default)]
struct Crate {
    files: Vec<SourceFile>,
    modules: BTreeMap<ModulePath, usize>,
}

impl Crate {
    fn read(src: &Path, root: &Path) -> Self {
        let mut all = Self::default();
        all.read_file(src, root, &[]);
        all
    }

    fn read_file(&mut self, src: &Path, path: &Path, module: &[String]) {
        let text = std::fs::read_to_string(path).expect("a source file");
        let tokens: TokenStream = text.parse().expect("Rust");
        let name = path.strip_prefix(src).expect("below src").display().to_string();
        self.modules.insert(module.to_vec(), self.files.len());
        let file = SourceFile { name, module: module.to_vec(), ..SourceFile::default() };
        let mut reader = Reader { file, children: Vec::new() };
        reader.items(tokens, module);
        self.files.push(reader.file);
        let is_folder = path.ends_with("mod.rs") || module.is_empty();
        let folder =
            if is_folder { path.parent().expect("a folder").into() } else { path.with_extension("") };
        for child in reader.children {
            let name = child.last().expect("a name");
            let [file, mod_rs] = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
            self.read_file(src, if file.exists() { &file } else { &mod_rs }, &child);
        }
    }

    /// The file that a path from the root leads to, used in the module `user`.
    fn target(&self, path: &[String], user: &[String]) -> usize {
        let mut path = path.to_vec();
        // Re-exports of re-exports end after a few steps, unless they are circular.
        for _ in 0..20 {
            let depth = (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n]));
            let depth = depth.expect("the root is a module");
            let file = self.modules[&path[..depth]];
            match path.get(depth).and_then(|name| self.files[file].imports.get(name)) {
                Some(target) if *target != path[..=depth] && user.starts_with(&path[..depth]) => {
                    path = [target.as_slice(), &path[depth + 1..]].concat();
                }
                _ => return file,
            }
        }
        panic!("{} is re-exported in a circle", path.join("::"))
    }

    /// The files that each file uses, each with one path that leads there.
    fn edges(&self) -> BTreeMap<usize, BTreeMap<usize, String>> {
        let mut edges: BTreeMap<usize, BTreeMap<usize, String>> = BTreeMap::new();
        for (from, file) in self.files.iter().enumerate() {
            for path in &file.uses {
                let to = self.target(path, &file.module);
                if to != from {
                    edges.entry(from).or_default().entry(to).or_insert_with(|| path.join("::"));
                }
            }
        }
        edges
    }

    /// The groups of files that use each other in a circle. Each text has one line an edge.
    fn circles(&self) -> Vec<String> {
        let edges = self.edges();
        let reached = |from: usize| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(file) = open.pop() {
                let next = edges.get(&file).into_iter().flat_map(BTreeMap::keys);
                open.extend(next.filter(|&&next| reached.insert(next)));
            }
            reached
        };
        let reached: Vec<BTreeSet<usize>> = (0..self.files.len()).map(reached).collect();
        let mut circles = Vec::new();
        for first in 0..self.files.len() {
            let group: BTreeSet<usize> =
                reached[first].iter().copied().filter(|&other| reached[other].contains(&first)).collect();
            if group.first() == Some(&first) {
                let inside =
                    group.iter().flat_map(|from| edges[from].iter().map(move |(to, path)| (from, to, path)));
                let inside = inside.filter(|(_, to, _)| group.contains(to));
                let line = |(from, to, path): (&usize, &usize, &String)| {
                    format!("  {} uses {} (crate::{path})\n", self.files[*from].name, self.files[*to].name)
                };
                circles.push(inside.map(line).collect());
            }
        }
        circles
    }
}

/// Reads one file.
struct Reader {
    file: SourceFile,
    /// The modules that it declares, without those of tests.
    children: Vec<ModulePath>,
}

impl Reader {
    /// Reads the items of a module, which may be inline.
    fn items(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let (mut only_for_tests, begin) = (false, at);
            loop {
                match &tokens[at..] {
                    [TokenTree::Punct(p), TokenTree::Group(attribute), ..] if p.as_char() == '#' => {
                        only_for_tests |= is_cfg_test(&attribute.stream());
                        at += 2;
                    }
                    [TokenTree::Punct(p), TokenTree::Punct(q), TokenTree::Group(_), ..]
                        if p.as_char() == '#' && q.as_char() == '!' =>
                    {
                        at += 3;
                    }
                    [TokenTree::Ident(i), TokenTree::Group(_), ..] if i == "pub" => at += 2,
                    [TokenTree::Ident(i), ..] if i == "pub" => at += 1,
                    _ => break,
                }
            }
            if at == tokens.len() {
                // Attributes of the file itself.
                assert!(begin < at);
                return;
            }
            let is_use = matches!(&tokens[at], TokenTree::Ident(keyword) if keyword == "use");
            let ends = |t: &TokenTree| is_punct(Some(t), ';') || !is_use && is_block(t);
            let end = at + tokens[at..].iter().position(ends).map_or(tokens.len() - at, |n| n + 1);
            let item = &tokens[at..end];
            at = end;
            if only_for_tests {
                continue;
            }
            match item {
                [TokenTree::Ident(keyword), TokenTree::Ident(name), last] if keyword == "mod" => {
                    let child = [module, &[name.to_string()]].concat();
                    match last {
                        TokenTree::Group(inline) => self.items(inline.stream(), &child),
                        _ => self.children.push(child),
                    }
                }
                [TokenTree::Ident(keyword), tree @ .., _] if keyword == "use" => {
                    self.import(tree, Vec::new(), module);
                }
                // The end of a constant whose value ended with a block.
                [end] if is_punct(Some(end), ';') => {}
                _ => self.code(item, module),
            }
        }
    }

    /// Reads the paths in code.
    fn code(&mut self, tokens: &[TokenTree], module: &[String]) {
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.code(&inner, module);
                }
                TokenTree::Ident(keyword) if keyword == "use" && !is_punct(tokens.get(at + 1), '<') => {
                    let end = tokens[at..].iter().position(|t| is_punct(Some(t), ';'));
                    let end = end.map_or(tokens.len(), |n| at + n);
                    self.import(&tokens[at + 1..end], Vec::new(), module);
                    at = end;
                }
                // The scope of `pub(in crate::a)` uses nothing.
                TokenTree::Ident(keyword) if keyword == "pub" => {
                    at += usize::from(matches!(tokens.get(at + 1), Some(TokenTree::Group(_))));
                }
                TokenTree::Ident(first) => {
                    let mut path = vec![first.to_string()];
                    while let [TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Ident(next), ..] =
                        &tokens[at + 1..]
                        && (a.as_char(), b.as_char()) == (':', ':')
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if path.len() > 1 {
                        self.uses(&path, module);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads a tree of imports below `prefix`.
    fn import(&mut self, tree: &[TokenTree], mut prefix: Vec<String>, module: &[String]) {
        let mut alias = None;
        let mut rest = tree;
        while let [token, more @ ..] = rest {
            rest = more;
            match token {
                TokenTree::Ident(name) if name == "as" => {
                    alias = more.first().map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(name) => prefix.push(name.to_string()),
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for part in inner.split(|t| is_punct(Some(t), ',')).filter(|part| !part.is_empty()) {
                        self.import(part, prefix.clone(), module);
                    }
                    return;
                }
                _ => {}
            }
        }
        if prefix.last().is_some_and(|name| name == "self") && prefix.len() > 1 {
            prefix.pop();
        }
        let Some(name) = prefix.last().cloned() else { return };
        if let Some(path) = self.uses(&prefix, module) {
            self.file.imports.insert(alias.unwrap_or(name), path);
        }
    }

    /// Notes that a path is used, if it leads into this crate, and returns it from the root.
    fn uses(&mut self, path: &[String], module: &[String]) -> Option<ModulePath> {
        let (mut at, mut rest) = (module.to_vec(), path);
        match path[0].as_str() {
            "crate" => {
                at.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while let Some(("super", more)) =
                    rest.split_first().map(|(first, more)| (first.as_str(), more))
                {
                    at.pop();
                    rest = more;
                }
            }
            first => {
                if let Some(target) = self.file.imports.get(first) {
                    at.clone_from(target);
                    rest = &rest[1..];
                } else if !self.children.contains(&[module, &path[..1]].concat()) {
                    return None;
                }
            }
        }
        at.extend_from_slice(rest);
        self.file.uses.insert(at.clone());
        Some(at)
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(p)) if p.as_char() == wanted)
}

fn is_block(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace)
}

/// True for `cfg(test)`, `cfg(all(test, …))`, `cfg(any(test, …))`, but not for `cfg(not(test))`.
fn is_cfg_test(attribute: &TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text.starts_with("cfg(")
        && text.contains("test")
        && !text.contains("not(test")
        && !text.contains("feature=\"test")
}

fn roots(src: &Path) -> Vec<PathBuf> {
    let bins = std::fs::read_dir(src.join("bin")).into_iter().flatten().flatten().map(|e| e.path());
    ["lib.rs", "main.rs"].map(|f| src.join(f)).into_iter().chain(bins).filter(|p| p.is_file()).collect()
}

#[test]
fn no_crate_has_import_circles() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = String::new();
    let (mut crates_read, mut files_read) = (0, 0);
    for folder in std::fs::read_dir(crates).unwrap().map(|e| e.unwrap().path()) {
        let (name, src) = (folder.file_name().unwrap().to_string_lossy(), folder.join("src"));
        for root in roots(&src) {
            let read = Crate::read(&src, &root);
            crates_read += 1;
            files_read += read.files.len();
            found.extend(read.circles().iter().map(|circle| format!("{name}:\n{circle}")));
        }
    }
    assert!(
        crates_read >= 8 && files_read >= 200,
        "only {files_read} files of {crates_read} crates were found"
    );
    assert!(
        found.is_empty(),
        "files use each other in circles; move what both need to a file below\n{found}"
    );
}

/// Tests the test: a circle through a re-export, an alias, a path in a macro, and a child module.
#[test]
fn circles_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let circles = || Crate::read(folder.path(), &folder.path().join("lib.rs")).circles();
    write("lib.rs", "//! Doc.\n#![forbid(unsafe_code)]\nmod a;\npub mod b;\npub use b::Deep;\n");
    write("a.rs", "use crate::b::{self, Deep as D};\npub struct A(b::Deep);\n");
    write("b/mod.rs", "mod deep;\npub use deep::Deep;\n");
    write("b/deep.rs", "pub struct Deep;\n// crate::a::A\nconst TEXT: &str = \"crate::a::A\";\n");
    assert_eq!(circles(), Vec::<String>::new());
    for circle in [
        "fn f() { println!(\"{}\", crate::a::A); }",
        "use super::super::a as other; fn f(_: other::A) {}",
        "mod inline { use super::super::super::a::A; }",
        "fn f() { use crate::a::{A}; }",
    ] {
        write("b/deep.rs", &format!("pub struct Deep;\n{circle}"));
        let back = if circle.contains("other") { "crate::a" } else { "crate::a::A" };
        let expected = format!(
            "  a.rs uses b/mod.rs (crate::b)\n  b/mod.rs uses b/deep.rs (crate::b::deep::Deep)\n  \
             b/deep.rs uses a.rs ({back})\n"
        );
        assert_eq!(circles(), [expected], "{circle}");
    }
    // Through the door of a folder, though `a.rs` needs no item of the file that needs `a.rs`.
    write("b/deep.rs", "pub struct Deep;\n");
    write("b/mod.rs", "mod deep;\nmod other;\npub use deep::Deep;\npub use other::f;\n");
    write("b/other.rs", "use super::Deep;\nuse crate::a::A;\npub fn f(_: A, _: Deep) {}\n");
    let found = circles();
    assert!(found.len() == 1 && found[0].contains("b/other.rs uses a.rs (crate::a::A)"), "{found:?}");
    assert!(!found[0].contains("deep.rs"), "{found:?}");
    write("b/mod.rs", "mod deep;\npub use deep::Deep;\n");
    write("b/deep.rs", "pub struct Deep;\n#[cfg(test)]\nmod tests { use crate::a::A; }\n");
    assert_eq!(circles(), Vec::<String>::new());
    write("b/deep.rs", "use super::f;\npub struct Deep;\n");
    write("b/mod.rs", "mod deep;\npub use deep::Deep;\nfn f() {}\n");
    assert_eq!(
        circles(),
        ["  b/mod.rs uses b/deep.rs (crate::b::deep::Deep)\n  b/deep.rs uses b/mod.rs (crate::b::f)\n"]
    );
}
