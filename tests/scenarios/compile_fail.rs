//! What must not compile, and what the compiler then says.

/// To accept new texts, read them as a newcomer would, then run the test with
/// `TRYBUILD=overwrite`.
#[test]
fn impossible_programs_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
