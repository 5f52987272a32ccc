//! The words that no name may be in a target language. They are macros, so that `concat!` can add the names that a template
//! has of its own.

/// Keywords of C, C++ and CUDA, and names that their headers and compilers define.
macro_rules! c_keywords {
    () => {
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const constexpr \
         continue decltype default delete do double else enum explicit export extern false float for friend goto if inline int \
         long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register requires \
         restrict return short signed sizeof static struct switch template this throw true try typedef typeid typename union \
         unsigned using virtual void volatile wchar_t while xor xor_eq linux unix main j0 j1 jn y0 y1 yn"
    };
}

/// Keywords of every edition of Rust.
macro_rules! rust_keywords {
    () => {
        "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in \
         let loop macro match mod move mut override priv pub ref return self static struct super trait true try type typeof \
         unsafe unsized use virtual where while yield union raw safe"
    };
}

/// Keywords of Python, and functions that generated code calls.
macro_rules! python_keywords {
    () => {
        "and as assert async await break class continue def del elif else except finally for from global if import in is lambda \
         nonlocal not or pass raise return try while with yield match case type math float str int bool None True False"
    };
}

pub(crate) use {c_keywords, python_keywords, rust_keywords};
