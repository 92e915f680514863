//! What the lab is asked to do.

use std::path::PathBuf;

use steadfast_core::Ratio;

use crate::fault::nearest;
use crate::search::LEAST;
use crate::units::{Scalar, Share};

/// How the lab is used.
pub(crate) const HELP: &str = "\
Runs a scenario against each policy in it, and says whether what it asserts holds.

usage: steadfast-lab run <scenario.toml> [--seeds <count>] [--html <page.html>]
       steadfast-lab search <scenario.toml> [--seeds <count>] [--most <times>]

run: each policy against the scenario, side by side
  --seeds <count>     so many courses of events instead of those of the file
  --html <page.html>  writes a page that compares the policies, by the first seed

search: the least load at which each policy turns metastable, in times of the file's
  --seeds <count>     as above; the least load is that of the worst course
  --most <times>      looks from a tenth of the load to so many times as much, usually 4

exit status: 0 all assertions hold, 1 one fails, 2 the file or a word here is wrong
";

/// What the lab is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Help,
    Version,
    Run {
        scenario: PathBuf,
        seeds: Option<u32>,
        html: Option<PathBuf>,
    },
    Search {
        scenario: PathBuf,
        seeds: Option<u32>,
        most: Option<Ratio>,
    },
}

impl Order {
    /// Reads the words after the name of the program.
    pub(crate) fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut words = words.into_iter();
        let order = words.next();
        let is_search = match order.as_deref() {
            Some("run") => false,
            Some("search") => true,
            Some("help" | "--help" | "-h") => return Ok(Self::Help),
            Some("--version" | "-V") => return Ok(Self::Version),
            Some(other) => {
                return Err(format!(
                    "`{other}` is no order: there are `run` and `search`"
                ));
            }
            None => return Err("it needs an order: `run <scenario.toml>`".into()),
        };
        let options: &[&str] = if is_search {
            &["--seeds", "--most", "--help"]
        } else {
            &["--seeds", "--html", "--help"]
        };
        let (mut scenario, mut seeds, mut html, mut most) = (None, None, None, None);
        while let Some(word) = words.next() {
            let (name, glued) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => {
                    (name.to_owned(), Some(value.to_owned()))
                }
                _ => (word, None),
            };
            let mut value = || {
                let value = glued.clone().or_else(|| words.next());
                value.ok_or_else(|| format!("`{name}` needs a value"))
            };
            match name.as_str() {
                "--help" | "-h" => return Ok(Self::Help),
                "--seeds" => {
                    let value = value()?;
                    let count = value.parse().ok().filter(|count| *count > 0);
                    let wrong = || format!("`--seeds {value}`: it takes a number from 1 on");
                    seeds = Some(count.ok_or_else(wrong)?);
                }
                "--html" if !is_search => html = Some(PathBuf::from(value()?)),
                "--most" if is_search => {
                    let value = value()?;
                    let times = Share::read(&value).map(|Share(times)| times);
                    let times = times.filter(|times| *times > LEAST);
                    let wrong =
                        || format!("`--most {value}`: it takes a number above 0.1, such as 4");
                    most = Some(times.ok_or_else(wrong)?);
                }
                option if option.starts_with('-') => {
                    let near = nearest(option, options);
                    let near = near.map(|near| format!(": did you mean `{near}`?"));
                    return Err(format!(
                        "there is no `{option}`{}",
                        near.unwrap_or_default()
                    ));
                }
                _ if scenario.is_some() => {
                    return Err(format!("one scenario at a time: `{name}` is a second one"));
                }
                _ => scenario = Some(PathBuf::from(name)),
            }
        }
        let order = order.unwrap_or_default();
        let scenario =
            scenario.ok_or_else(|| format!("it needs a file: `{order} <scenario.toml>`"))?;
        if is_search {
            return Ok(Self::Search {
                scenario,
                seeds,
                most,
            });
        }
        Ok(Self::Run {
            scenario,
            seeds,
            html,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Order, String> {
        Order::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn an_order_is_read() {
        let run = Order::Run {
            scenario: "a.toml".into(),
            seeds: Some(5),
            html: Some("b.html".into()),
        };
        assert_eq!(
            read("run a.toml --seeds 5 --html b.html").as_ref(),
            Ok(&run)
        );
        assert_eq!(read("run --html=b.html --seeds=5 a.toml"), Ok(run));
        assert_eq!(read("--help"), Ok(Order::Help));
        let search = Order::Search {
            scenario: "a.toml".into(),
            seeds: None,
            most: Some(Ratio::times(2)),
        };
        assert_eq!(read("search a.toml --most 200%"), Ok(search));
    }

    #[test]
    fn a_wrong_order_is_told() {
        for (line, told) in [
            ("", "needs an order"),
            ("walk", "`walk` is no order"),
            ("run", "needs a file"),
            ("run a b", "`b` is a second one"),
            ("run a --seed 3", "did you mean `--seeds`?"),
            ("run a --seeds 0", "from 1 on"),
            ("run a --html", "`--html` needs a value"),
            ("run a --most 3", "there is no `--most`"),
            ("search", "needs a file: `search"),
            ("search a --html b", "there is no `--html`"),
            ("search a --most 0.1", "above 0.1"),
        ] {
            let wrong = read(line).expect_err(line);
            assert!(wrong.contains(told), "{line}: {wrong}");
        }
    }
}
