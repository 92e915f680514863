//! What is wrong with a file, and where.

use std::fmt;
use std::ops::Range;

/// What is wrong with a file, and the line of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    line: Option<usize>,
    text: String,
}

impl Fault {
    /// Makes a fault of the file as a whole.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            line: None,
            text: text.into(),
        }
    }

    /// Makes a fault at a place of the file.
    pub(crate) fn at(file: &str, span: &Range<usize>, text: impl Into<String>) -> Self {
        let before = file.bytes().take(span.start);
        Self {
            line: Some(before.filter(|byte| *byte == b'\n').count() + 1),
            text: text.into(),
        }
    }

    /// Says what the parser found, with the nearest right word.
    pub(crate) fn of(file: &str, error: &toml::de::Error) -> Self {
        let text = explained(error.message());
        match error.span() {
            Some(span) => Self::at(file, &span, text),
            None => Self::new(text),
        }
    }

    /// Returns the text that a person at a terminal needs.
    pub(crate) fn in_file(&self, name: &str) -> String {
        match self.line {
            Some(line) => format!("{name}:{line}: {self}"),
            None => format!("{name}: {self}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Says in the words of a file what the parser says in its own: an unknown word with the
/// one that was probably meant, and a key that is missing.
fn explained(message: &str) -> String {
    if let Some(missing) = message.strip_prefix("missing field ") {
        return format!("the key {missing} is missing here");
    }
    let kinds = [("unknown field ", "key"), ("unknown variant ", "word")];
    let found = kinds
        .into_iter()
        .find(|(start, _)| message.starts_with(start));
    let Some((_, kind)) = found else {
        return message.to_owned();
    };
    // The wrong word and then all the right ones, each between ticks.
    let mut words = message.split('`').skip(1).step_by(2);
    let Some(wrong) = words.next() else {
        return message.to_owned();
    };
    let right: Vec<_> = words.collect();
    let all = right.join("`, `");
    match nearest(wrong, &right) {
        Some(near) => {
            format!("unknown {kind} `{wrong}`: did you mean `{near}`? (there are `{all}`)")
        }
        None => format!("unknown {kind} `{wrong}`: there are `{all}`"),
    }
}

/// Returns the word that was probably meant, if any is near enough.
pub(crate) fn nearest<'a>(wrong: &str, right: &[&'a str]) -> Option<&'a str> {
    let near = right.iter().map(|word| (distance(wrong, word), *word));
    let (edits, word) = near.min_by_key(|(edits, _)| *edits)?;
    // Half of a word is another word.
    (edits <= wrong.chars().count().div_ceil(2)).then_some(word)
}

/// How many letters have to be put in, taken out, changed or swapped with the next.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<_>, Vec<_>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, letter) in from.iter().enumerate() {
        let mut next = vec![at + 1];
        for (other_at, other) in to.iter().enumerate() {
            let changed = row[other_at] + usize::from(letter != other);
            let mut edits = changed.min(row[other_at + 1] + 1).min(next[other_at] + 1);
            if at > 0 && other_at > 0 && *letter == to[other_at - 1] && from[at - 1] == *other {
                edits = edits.min(before[other_at - 1] + 1);
            }
            next.push(edits);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (from, to, edits) in [
            ("", "", 0),
            ("attemps", "attempts", 1),
            ("budegt", "budget", 1),
            ("kitten", "sitting", 3),
            ("", "abc", 3),
        ] {
            assert_eq!(distance(from, to), edits, "{from} {to}");
        }
    }

    #[test]
    fn a_stranger_is_nobodys_neighbour() {
        let words = ["name", "attempts", "deadline"];
        assert_eq!(nearest("atempt", &words), Some("attempts"));
        assert_eq!(nearest("colour", &words), None);
    }

    #[test]
    fn a_fault_knows_its_line() {
        let file = "one = 1\ntwo = 2\n";
        let fault = Fault::at(file, &(8..11), "no");
        assert_eq!(fault.in_file("a.toml"), "a.toml:2: no");
    }
}
