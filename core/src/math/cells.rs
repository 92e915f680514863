//! Which cell of a histogram holds a latency.
//!
//! Eight cells an octave, their edges the rounded powers of the eighth root of
//! two on a mantissa of seven bits, 32 octaves from 1.024 µs to 73 min. The
//! widest cell spans a ratio of 91 to 83, so its middle is at most 4.82 % from
//! any latency in it, its upper edge at most 9.64 % above. This is the map of
//! `DDSketch`, with a table of 64 bytes in place of a logarithm.

/// The number of cells.
pub(crate) const CELLS: usize = 256;

/// Returns the cell of a latency in nanoseconds; the outer cells take the rest.
pub(crate) fn cell(nanos: u64) -> u8 {
    // A shift by a variable is dear where it takes two registers.
    if cfg!(target_pointer_width = "64") {
        cell_by_64(nanos)
    } else {
        cell_by_32(nanos)
    }
}

/// Returns the shortest latency of a cell, in nanoseconds.
pub(crate) fn lower(cell: u8) -> u64 {
    edge(cell, cell & 7)
}

/// Returns the end of a cell, in nanoseconds: all its latencies are shorter.
pub(crate) fn upper(cell: u8) -> u64 {
    edge(cell, (cell & 7).saturating_add(1))
}

/// Returns the middle of a cell, in nanoseconds.
pub(crate) fn middle(cell: u8) -> u64 {
    lower(cell).midpoint(upper(cell))
}

fn edge(cell: u8, step: u8) -> u64 {
    let mantissa = EDGES.get(usize::from(step)).copied().unwrap_or(LEADING);
    u64::from(mantissa) << (cell >> 3).saturating_add(4)
}

fn cell_by_64(nanos: u64) -> u8 {
    let nanos = nanos.clamp(FIRST, LAST);
    let exponent = 63 ^ nanos.leading_zeros();
    place(exponent, nanos << 6 >> exponent)
}

/// As [`cell_by_64`], in words of 32 bits.
fn cell_by_32(nanos: u64) -> u8 {
    let nanos = nanos.clamp(FIRST, LAST);
    let (word, above) = match u32::try_from(nanos) {
        Ok(word) => (word, 0),
        Err(_) => (u32::try_from(nanos >> 10).unwrap_or(u32::MAX), 10),
    };
    let zeros = word.leading_zeros();
    let exponent = (31 ^ zeros).wrapping_add(above);
    place(exponent, u64::from(word.unbounded_shl(zeros) >> 25))
}

/// Returns the cell of a power of two and the mantissa of seven bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "an exponent is below 42, a mantissa cut to six bits"
)]
fn place(exponent: u32, mantissa: u64) -> u8 {
    let step = STEPS.get((mantissa & 63) as usize).copied().unwrap_or(0);
    (exponent as u8)
        .wrapping_mul(8)
        .wrapping_add(step)
        .wrapping_sub(8 * 10)
}

const FIRST: u64 = 1 << 10;
const LAST: u64 = (1 << 42) - 1;

/// The mantissa of a power of two.
const LEADING: u8 = 64;
const EDGES: [u8; 9] = [LEADING, 70, 76, 83, 91, 99, 108, 117, 128];

/// The number of inner edges at or below each mantissa.
const STEPS: [u8; 64] = [
    0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, //
    2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, //
    4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, //
    6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of every magnitude.
    fn nanos() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(bits, shift)| bits >> shift)
    }

    proptest! {
        // Q1
        #[test]
        fn a_cell_holds_its_latencies(nanos in nanos()) {
            let at = cell(nanos);
            let within = nanos.clamp(FIRST, LAST);
            prop_assert!(lower(at) <= within && within < upper(at));
            // At most 4.82 % off, at most 9.64 % high.
            prop_assert!(middle(at).abs_diff(within) * 10_000 <= within * 482);
            prop_assert!((upper(at) - within) * 10_000 <= within * 964);
        }

        // Q1
        #[test]
        fn both_widths_agree(nanos in nanos()) {
            prop_assert_eq!(cell_by_64(nanos), cell_by_32(nanos));
        }

        // Q1
        #[test]
        fn longer_is_never_lower(one in nanos(), other in nanos()) {
            prop_assert_eq!(cell(one.min(other)), cell(one).min(cell(other)));
        }
    }

    // Q1
    #[test]
    fn every_edge_parts_two_cells() {
        for at in 1..=u8::MAX {
            assert_eq!(lower(at), upper(at - 1));
            for map in [cell_by_64, cell_by_32] {
                assert_eq!(map(lower(at)), at);
                assert_eq!(map(lower(at) - 1), at - 1);
            }
        }
        assert_eq!((lower(0), upper(u8::MAX)), (1 << 10, 1 << 42));
    }

    #[test]
    fn edges_are_powers_of_an_eighth() {
        // 64 * 2^(step / 8), doubled and to the eighth power.
        for (step, edge) in (0..).zip(EDGES.map(u128::from)) {
            let exact = 128_u128.pow(8) << step;
            assert!((2 * edge - 1).pow(8) < exact && exact < (2 * edge + 1).pow(8));
        }
        for (mantissa, step) in (64..).zip(STEPS) {
            let below = EDGES[1..8].iter().filter(|&&edge| edge <= mantissa);
            assert_eq!(usize::from(step), below.count());
        }
    }

    #[test]
    fn the_ends_take_the_rest() {
        assert_eq!([0, 1_023, 1_024].map(cell), [0; 3]);
        assert_eq!([LAST, LAST + 1, u64::MAX].map(cell), [255; 3]);
    }
}
