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

/// One server that does 50 a second, and ten slow seconds.
const QUEUE: &str = "
name = \"queue\"
duration = \"150s\"
[dependency]
constant = \"20ms\"
servers = 1
[[brownout]]
after = \"5s\"
slower = 5
lasting = \"10s\"
[load]
per_second = 10
[[policy]]
name = \"resends\"
preset = \"none\"
attempts = 5
attempt_timeout = \"1s\"
[[policy]]
name = \"once\"
preset = \"none\"
";

#[test]
fn the_least_load_that_collapses_is_found() {
    let file = Scratch::new("queue.toml", QUEUE);
    let output = lab(&["search", file.name(), "--most=4"]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    let shown = String::from_utf8(output.stdout).expect("text");
    assert!(shown.contains("once     not at 4.00 times"), "{shown}");
    assert!(shown.contains("resends  1."), "{shown}");
}

#[test]
fn where_nothing_is_impaired_nothing_is_searched() {
    let file = Scratch::new("calm.toml", &with(""));
    let output = lab(&["search", file.name()]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint.contains("no [[brownout]]"), "{complaint}");
}

/// A scenario of a recording, read from the file beside it.
fn replaying(times: &str, more: &str) -> (Scratch, Scratch) {
    let recording = Scratch::new(&format!("{}.txt", more.len()), times);
    let name = recording.0.file_name().expect("a name");
    let text = format!(
        "name = \"replay\"\nduration = \"9s\"\n{more}\n[load]\nreplay = \"{}\"\n",
        name.display()
    );
    (
        recording,
        Scratch::new(&format!("{}.toml", text.len()), &text),
    )
}

#[test]
fn a_recording_and_what_was_measured_are_played() {
    let more = "assertions = [\"calls == 3\", \"p50 == 11ms\", \"p99 == 30ms\"]\n\
                [dependency]\nmeasured = [\"11ms\", \"11ms\", \"11ms\", \"30ms\"]";
    let (_recording, file) = replaying("0s\n1.5s\n\n8s\n", more);
    let output = lab(&["run", file.name(), "--seeds", "40"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(shown.contains("calls            3"), "{shown}");
    assert!(
        complaint.contains("it is 11ms") && complaint.contains("it is 30ms"),
        "{complaint}"
    );
}

#[test]
fn a_slip_in_a_recording_is_told_with_its_line() {
    let (_recording, file) = replaying("1s\nsoon\n", "[dependency]\nconstant = \"1ms\"");
    let output = lab(&["run", file.name()]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        complaint.contains(".txt:2: `soon` is not a time"),
        "{complaint}"
    );
}

#[test]
fn a_stalled_process_is_slow_itself() {
    let text = "name = \"stall\"\nduration = \"20s\"\n\
                assertions = [\"p99 >= 200ms\", \"p50 < 6ms\"]\n\
                [dependency]\nconstant = \"5ms\"\n\
                [scheduler]\nusual = \"80us\"\n\
                [[stall]]\nafter = \"9s\"\ndelay = \"400ms\"\nlasting = \"2s\"\n\
                [load]\nper_second = 20\n\
                [[policy]]\nsaturation = \"default\"\n";
    let (status, complaint) = told("stall.toml", text);
    assert_eq!(status, Some(0), "{complaint}");
    let (status, complaint) = told("none.toml", &text.replace("400ms\"\nlast", "1ms\"\nlast"));
    assert_eq!(status, Some(1), "{complaint}");
}

#[test]
fn the_readme_shows_a_scenario_that_runs() {
    let readme = include_str!("../README.md");
    let (_, rest) = readme.split_once("```toml\n").expect("a scenario");
    let (scenario, _) = rest.split_once("```").expect("its end");
    let (status, complaint) = told("readme.toml", scenario);
    assert_eq!(status, Some(0), "{complaint}");
}
