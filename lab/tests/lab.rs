//! The program as a CI runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, process};

const SCENARIOS: [&str; 3] = ["brownout", "outage", "metastable"];

fn lab(words: &[&str]) -> Output {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_steadfast-lab"));
    lab.args(words).output().expect("it starts")
}

fn shipped(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join(format!("../examples/scenarios/{name}.toml"))
}

fn text(name: &str) -> String {
    fs::read_to_string(shipped(name)).expect("a scenario")
}

/// A file of this test, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = env::temp_dir().join(format!("steadfast-lab-{}-{name}", process::id()));
        fs::write(&path, text).expect("a place for files");
        Self(path)
    }

    fn name(&self) -> &str {
        self.0.to_str().expect("plain letters")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// What the program says of a file: its status, and its complaint.
fn told(name: &str, text: &str) -> (Option<i32>, String) {
    let file = Scratch::new(name, text);
    let output = lab(&["run", file.name()]);
    let complaint = String::from_utf8(output.stderr).expect("text");
    (output.status.code(), complaint)
}

#[test]
fn shipped_scenarios_hold() {
    for name in SCENARIOS {
        let path = shipped(name);
        let output = lab(&["run", path.to_str().expect("plain letters")]);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {complaint}");
        assert!(output.stderr.is_empty(), "{name}: {complaint}");
    }
}

#[test]
fn a_brownout_without_a_budget_fails() {
    let off = text("brownout").replace("budget = \"fleet\"", "budget = \"none\"");
    let (status, complaint) = told("off.toml", &off);
    assert_eq!(status, Some(1), "{complaint}");
    let named = "assertion failed: `load_multiplier <= 1.2` of policy `default`: it is 1.2";
    assert!(complaint.starts_with(named), "{complaint}");
}

#[test]
fn the_same_bytes_come_twice() {
    for name in SCENARIOS {
        let path = shipped(name);
        let words = ["run", path.to_str().expect("plain letters")];
        assert_eq!(lab(&words).stdout, lab(&words).stdout, "{name}");
    }
}

#[test]
fn seeds_show_their_bands() {
    let path = shipped("outage");
    let words = ["run", path.to_str().expect("plain letters"), "--seeds", "3"];
    let output = lab(&words);
    let shown = String::from_utf8(output.stdout).expect("text");
    assert!(shown.contains("3 seeds, median (least to most)"), "{shown}");
    assert_eq!(output.status.code(), Some(0), "{shown}");
}

#[test]
fn a_page_compares_the_policies() {
    let page = Scratch::new("page.html", "");
    let path = shipped("metastable");
    let words = [
        "run",
        path.to_str().expect("plain letters"),
        "--html",
        page.name(),
    ];
    assert_eq!(lab(&words).status.code(), Some(0));
    let page = fs::read_to_string(page.name()).expect("a page");
    for part in [
        "Ten slow seconds in front of a queue",
        "default",
        "resends at will",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

/// The smallest scenario, with a line more at its end.
fn with(line: &str) -> String {
    format!(
        "name = \"small\"\nduration = \"2s\"\n[dependency]\nconstant = \"1ms\"\n\
         [load]\nper_second = 10\n[[policy]]\n{line}\n"
    )
}

#[test]
fn a_slip_is_told_with_its_line() {
    for (at, (line, word)) in [
        (
            "attemps = 3",
            "unknown key `attemps`: did you mean `attempts`?",
        ),
        (
            "budget = \"flet\"",
            "unknown word `flet`: did you mean `fleet`?",
        ),
        ("budget = { fractoin = 0.1 }", "did you mean `fraction`?"),
        ("preset = \"defualt\"", "did you mean `default`?"),
        ("deadline = 10", "`10` is not a time such as"),
        ("attempts = 0", "policy `default`"),
        (
            "assertions = [\"load_multiplyer < 2\"]",
            "did you mean `load_multiplier`?",
        ),
        ("assertions = [\"metastable == false\"]", "no [[brownout]]"),
        ("concurrency = -1", "`-1`"),
    ]
    .into_iter()
    .enumerate()
    {
        let (status, complaint) = told(&format!("slip{at}.toml"), &with(line));
        assert_eq!(status, Some(2), "{line}: {complaint}");
        assert!(complaint.contains(word), "{line}: {complaint}");
        let place = if line.starts_with("attempts") { 7 } else { 8 };
        assert!(
            complaint.contains(&format!(".toml:{place}: ")),
            "{line}: {complaint}"
        );
    }
}

#[test]
fn every_setting_is_understood() {
    for line in [
        "preset = \"none\"",
        "deadline = \"none\"\nattempt_timeout = \"2s\"\nadaptive = false",
        "backoff = { constant = \"10ms\", jitter = \"none\", maximum = \"1s\", factor = 1 }",
        "backoff = { base = \"10ms\", throttled = \"1s\" }",
        "budget = { fraction = \"20%\", burst = 10, per_second = 1, half_life = \"3s\", spare = \"30s\" }",
        "breaker = { failure_ratio = \"50%\", slow_call = \"1s\", window = \"10s\", probes = 2 }",
        "hedge = \"default\"",
        "hedge = { quantile = \"90%\", minimum_delay = \"5ms\" }",
        "concurrency = 10",
        "concurrency = { maximum = 100 }",
        "throttle = { multiple = 2, cap = \"90%\" }",
        "rate = 100",
        "rate = { permits = 100, window = \"1min\" }",
        "[[spike]]\nafter = \"1s\"\ntimes = 3\nlasting = \"500ms\"",
    ] {
        let (status, complaint) = told("setting.toml", &with(line));
        assert_eq!(status, Some(0), "{line}: {complaint}");
    }
}

#[test]
fn a_missing_file_is_misuse() {
    let output = lab(&["run", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(lab(&["walk"]).status.code(), Some(2));
    assert_eq!(lab(&["--help"]).status.code(), Some(0));
}
