//! A setting by a word, or by its numbers.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

/// A setting that has words for its usual values, a number for the plainest one, or a
/// table of all its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Choice<T: Chosen>(pub(crate) T::Made);

/// A table that stands for a value of a policy.
pub(crate) trait Chosen: Sized {
    /// The value.
    type Made;

    /// The words that stand for a value.
    const WORDS: &'static [&'static str];

    /// Returns what a word of [`Chosen::WORDS`] stands for.
    fn word(word: &str) -> Option<Self::Made>;

    /// Returns what a plain number stands for, if any.
    fn number(_number: u32) -> Option<Self::Made> {
        None
    }

    /// Returns what the table stands for, or what it lacks.
    fn made(self) -> Result<Self::Made, String>;
}

struct Chooses<T>(PhantomData<T>);

impl<'de, T: Chosen + Deserialize<'de>> Visitor<'de> for Chooses<T> {
    type Value = Choice<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for word in T::WORDS {
            write!(f, "\"{word}\", ")?;
        }
        f.write_str("or a table")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Choice<T>, E> {
        let unknown = || E::unknown_variant(word, T::WORDS);
        T::word(word).map(Choice).ok_or_else(unknown)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Choice<T>, E> {
        let made = u32::try_from(number).ok().and_then(T::number);
        let wrong = || E::invalid_value(de::Unexpected::Signed(number), &self);
        made.map(Choice).ok_or_else(wrong)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Choice<T>, A::Error> {
        let table = T::deserialize(MapAccessDeserializer::new(map))?;
        table.made().map(Choice).map_err(de::Error::custom)
    }
}

impl<'de, T: Chosen + Deserialize<'de>> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Chooses(PhantomData))
    }
}
