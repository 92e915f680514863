//! Guards made for every request show themselves, in debug builds.

use std::convert::Infallible;
use std::future::ready;
use std::process::Command;

use steadfast::Policy;
use steadfast::smol::{Guard, Scope};

use crate::stage::secs;

const POLICY: Policy = Policy::DEFAULT.with_name("search");

fn call(guard: &Guard) {
    let call = guard.call(|_| ready(Ok::<_, Infallible>(7)));
    assert_eq!(futures_lite::future::block_on(call), Ok(7));
}

/// Runs one of the ignored tests in a process of its own; returns what the
/// library said there.
#[track_caller]
fn said_by(test: &str) -> Vec<String> {
    let program = std::env::current_exe().expect("this program");
    let name = format!("short_lived::{test}");
    let arguments = ["--exact", &name, "--ignored", "--nocapture"];
    let ran = Command::new(program).args(arguments).output();
    let ran = ran.expect("it starts");
    let output = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && output.contains("1 passed"),
        "{output}"
    );
    let errors = String::from_utf8_lossy(&ran.stderr);
    let lines = errors.lines().filter(|line| line.starts_with("steadfast:"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_guard_a_request_is_told_once() {
    let said = said_by("makes_a_guard_a_request");
    if cfg!(debug_assertions) {
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("steadfast: 100 guards of policy `search` were dropped"));
        assert!(said[0].ends_with("`static GUARD: Guard = Guard::new(POLICY);`"));
    } else {
        assert!(said.is_empty(), "{said:?}");
    }
}

#[test]
#[ignore = "runs in a process of its own"]
fn makes_a_guard_a_request() {
    for _ in 0..300 {
        call(&Guard::new(POLICY));
    }
}

// Its keys never learn, as it does not live to see them twice.
#[test]
fn a_scope_a_request_is_told_too() {
    let said = said_by("makes_a_scope_a_request");
    assert_eq!(said.len(), usize::from(cfg!(debug_assertions)), "{said:?}");
}

#[test]
#[ignore = "runs in a process of its own"]
fn makes_a_scope_a_request() {
    for _ in 0..300 {
        let keys: Scope<u32> = Scope::new(POLICY, 64);
        call(&keys.get(&7));
    }
}

#[test]
fn guards_with_a_reason_are_not_told() {
    assert!(said_by("makes_guards_with_a_reason").is_empty());
}

#[test]
#[ignore = "runs in a process of its own"]
fn makes_guards_with_a_reason() {
    // One that is kept, those that have learnt, that never called, that learn
    // nothing, of keys that had to leave, and a few of many policies.
    static KEPT: Guard = Guard::new(POLICY);
    static KEYS: Scope<u32> = Scope::new(POLICY, 4);
    for _ in 0..300 {
        call(&KEPT);
        let _ = Guard::new(POLICY);
        call(&Guard::new(POLICY.with_adaptive(false)));
        let warm = Guard::new(POLICY.with_attempts(1));
        for _ in 0..20 {
            call(&warm);
        }
    }
    for key in 0..300 {
        call(&KEYS.get(&key));
    }
    for name in ["a", "b", "c", "d"] {
        for _ in 0..99 {
            let policy = POLICY.with_name(name).with_deadline(secs(9));
            call(&Guard::try_new(policy).expect("a policy that works"));
        }
    }
}
