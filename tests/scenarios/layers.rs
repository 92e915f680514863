//! Arrows point down: inside core, and between the crates.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The rows of core, lowest first; a file uses its own row or lower ones.
const ROWS: [&[&str]; 6] = [
    &["time", "memory"],
    &["math"],
    &[
        "verdict",
        "reason",
        "classify",
        "criticality",
        "event",
        "lanes",
        "limited",
        "listener",
        "measured",
        "standing",
        "breaker_state",
        "ambient",
        "wire",
    ],
    &["policy"],
    &["state"],
    &["call"],
];

/// The crates, lowest first; crates of one row do not know each other.
const CRATES: [&[&str]; 6] = [
    &["core"],
    &["runtime"],
    &[
        "runtime-tokio",
        "runtime-smol",
        "runtime-embassy",
        "testing",
    ],
    &["simulation"],
    &["lab"],
    &["."],
];

/// The files of core with the files each one uses, `policy/backoff` for one.
type Uses = BTreeMap<String, Vec<String>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn row_of(rows: &[&[&str]], name: &str) -> Option<usize> {
    rows.iter().position(|row| row.contains(&name))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of core") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// Every path through `crate::` or `super::` outside comments and tests.
fn paths(text: &str, module: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if line == "mod tests {" {
            break;
        }
        if line.starts_with("//") {
            continue;
        }
        for (prefix, base) in [
            ("crate::", &module[..0]),
            ("super::", &module[..module.len() - 1]),
        ] {
            for (_, rest) in line.match_indices(prefix).map(|(at, _)| line.split_at(at)) {
                let path: String = rest[prefix.len()..]
                    .chars()
                    .take_while(|&letter| letter.is_alphanumeric() || "_:".contains(letter))
                    .collect();
                let names = path.split("::").filter(|name| !name.is_empty());
                found.push(
                    base.iter()
                        .copied()
                        .chain(names)
                        .collect::<Vec<_>>()
                        .join("/"),
                );
            }
        }
    }
    found
}

fn uses() -> Uses {
    let source = root().join("core/src");
    let texts: BTreeMap<String, String> = sources(&source)
        .into_iter()
        .filter_map(|path| {
            let name = path.strip_prefix(&source).ok()?.with_extension("");
            let name = name.to_str()?.replace('\\', "/");
            let is_skipped = name == "lib"
                || name.ends_with("/mod")
                || name.split('/').any(|part| part == "tests");
            (!is_skipped).then(|| (name, fs::read_to_string(&path).expect("a source")))
        })
        .collect();
    // A file and the files inside it are one: they may know each other.
    let whole = |path: &str| {
        let mut whole = texts
            .keys()
            .filter(|file| path == **file || path.starts_with(&format!("{file}/")));
        whole.next().cloned().unwrap_or_else(|| path.to_owned())
    };
    let mut uses = Uses::new();
    for (name, text) in &texts {
        let module: Vec<&str> = name.split('/').collect();
        let own = whole(name);
        let found = paths(text, &module).into_iter().map(|path| whole(&path));
        uses.entry(own.clone())
            .or_default()
            .extend(found.filter(|other| *other != own));
    }
    uses
}

/// Returns the way from `name` back to itself, if there is one.
fn cycle(uses: &Uses, name: &str, way: &mut Vec<String>) -> bool {
    for used in uses.get(name).into_iter().flatten() {
        if way.first() == Some(used) {
            return true;
        }
        if !way.contains(used) {
            way.push(used.clone());
            if cycle(uses, used, way) {
                return true;
            }
            way.pop();
        }
    }
    false
}

#[test]
fn core_uses_lower_rows_only() {
    let mut faults = Vec::new();
    for (file, used) in uses() {
        let folder = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
        let own = folder(&file);
        let Some(row) = row_of(&ROWS, &own) else {
            faults.push(format!(
                "`{own}` has no row yet: give it one in ROWS of this test"
            ));
            continue;
        };
        for used in used {
            let other = folder(&used);
            match row_of(&ROWS, &other) {
                Some(below) if below <= row => {}
                Some(_) => faults.push(format!(
                    "core/src/{file}.rs uses `{used}`, but `{own}` lies below `{other}`: move what both need down to `{own}`, or this code up"
                )),
                None => faults.push(format!(
                    "core/src/{file}.rs uses `crate::{used}`, which has no row: name the module it lives in, or give that one a row in ROWS"
                )),
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn files_of_core_form_no_circle() {
    let uses = uses();
    let circles: Vec<String> = uses
        .keys()
        .filter_map(|name| {
            let mut way = vec![name.clone()];
            let is_first = |way: &[String]| way.iter().min() == Some(name);
            (cycle(&uses, name, &mut way) && is_first(&way)).then(|| {
                format!(
                    "{} -> {name}: move what they share to a third file, or one into the other",
                    way.join(" -> ")
                )
            })
        })
        .collect();
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

#[test]
fn crates_depend_on_lower_crates_only() {
    let manifest = |folder: &str| {
        fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("a manifest")
    };
    let members = manifest(".");
    let members = members
        .lines()
        .find(|line| line.starts_with("members"))
        .expect("the members of the workspace on one line")
        .split('"')
        .skip(1)
        .step_by(2);
    let mut faults = Vec::new();
    for member in members {
        let Some(row) = row_of(&CRATES, member) else {
            faults.push(format!(
                "`{member}` has no row yet: give it one in CRATES of this test"
            ));
            continue;
        };
        for line in manifest(member).lines() {
            let name: &str = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let Some(other) = name.strip_prefix("steadfast-") else {
                continue;
            };
            let other = match other {
                "tokio" | "smol" | "embassy" => format!("runtime-{other}"),
                _ => other.to_owned(),
            };
            // A crate may turn on features of its own for its documentation.
            let is_own = other == member;
            if !is_own && row_of(&CRATES, &other).is_none_or(|below| below >= row) {
                faults.push(format!(
                    "{member}/Cargo.toml depends on `{name}`, which does not lie below it"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}
