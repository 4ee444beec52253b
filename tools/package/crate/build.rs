// SPDX-License-Identifier: MIT
// Compiles the library's sources, which lie in library/, into an archive. No network, no other tool
// than a C++20 compiler.
use std::path::{Path, PathBuf};
use std::{env, fs};

// As the Makefile's LIBRARY_FLAGS, which says why.
const FLAGS: [&str; 11] = [
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-ftls-model=initial-exec",
    "-falign-functions=64",
    "-fno-builtin-malloc",
    "-fno-builtin-calloc",
    "-fno-builtin-realloc",
    "-fno-builtin-free",
];

// Those of the twins are another library; abort.cpp and loader_walk.cpp are for the shared one alone.
fn is_part(source: &Path) -> bool {
    source.extension().is_some_and(|ending| ending == "cpp")
        && !source.ends_with("exports/abort.cpp")
        && !source.ends_with("exports/loader_walk.cpp")
        && !source
            .iter()
            .any(|folder| folder == "hardened" || folder == "checked")
}

fn add_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            add_sources(&path, found);
        } else if is_part(&path) {
            found.push(path);
        }
    }
}

fn refuse_other_targets() {
    let of = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let (os, libc, processor) = (of("OS"), of("ENV"), of("ARCH"));
    if os != "linux" || libc != "gnu" || !["x86_64", "aarch64"].contains(&processor.as_str()) {
        eprintln!(
            "pktmalloc is for Linux with glibc on x86_64 and aarch64, not for {}",
            env::var("TARGET").unwrap_or_default()
        );
        std::process::exit(1);
    }
}

fn main() {
    println!("cargo:rerun-if-changed=library");
    refuse_other_targets();
    let mut sources = Vec::new();
    add_sources(Path::new("library/sizeclass"), &mut sources);
    add_sources(Path::new("library/preload"), &mut sources);
    sources.sort();
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++20")
        .cpp_link_stdlib(None)
        .opt_level(2)
        .pic(true)
        .warnings(false);
    build.include("library").files(&sources);
    for (name, value) in [("DEBUG", "0"), ("CHECKED", "0"), ("HARDENED", "0")] {
        build.define(&format!("PKTMALLOC_{name}"), value);
    }
    for flag in FLAGS {
        build.flag(flag);
    }
    // The whole archive: what it has in place of libc's functions must be in the program although
    // nothing there asks for it by name.
    build.link_lib_modifier("+whole-archive");
    build.compile("pktmalloc");
}
