use super::*;
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn range(start: u64, bytes: u64) -> AvmaRange {
    AvmaRange::sized(Avma(start), bytes).unwrap()
}

fn ms(milliseconds: u64) -> Timestamp {
    Timestamp(milliseconds * MS)
}

fn life(code: CodeId, range: AvmaRange, told: Told, until: Option<u64>) -> Life {
    Life { range, told, until: until.map(ms), code }
}

/// What is at an address at these milliseconds.
fn check(lives: &[Life], address: u64, expected: &[(u64, Option<CodeId>)]) {
    let map = CodeMap::new(lives);
    for (at, code) in expected {
        assert_eq!(map.look_up(Avma(address), ms(*at)).code, *code, "{address:#x} after {at} ms");
    }
}

#[test]
fn a_reused_address_has_the_name_it_had_then() {
    let lives = [
        life(1, range(0x1000, 0x100), Told::Listed(ms(10)), None),
        life(2, range(0x1000, 0x80), Told::Born(ms(20)), Some(30)),
        life(3, range(0x1040, 0x20), Told::Born(ms(5_000)), None),
    ];
    check(&lives, 0xfff, &[(1, None), (9_000, None)]);
    check(
        &lives,
        0x1040,
        &[(1, Some(1)), (19, Some(1)), (20, Some(2)), (30, None), (4_500, Some(3)), (6_000, Some(3))],
    );
    // Where the second never was, the first stays.
    check(&lives, 0x1090, &[(1, Some(1)), (20, Some(1)), (9_000, Some(1))]);
    // Where the third is not, nothing comes back.
    check(&lives, 0x1060, &[(20, Some(2)), (6_000, None)]);
    check(&lives, 0x1100, &[(1, None), (9_000, None)]);
}

#[test]
fn code_may_run_before_it_is_announced() {
    let lives = [
        life(1, range(0x1000, 0x100), Told::Born(ms(900)), Some(950)),
        life(2, range(0x1000, 0x100), Told::Born(ms(1_000)), None),
        life(3, range(0x3000, 0x100), Told::Born(ms(2_500)), None),
    ];
    check(&lives, 0x1000, &[(1, Some(1)), (900, Some(1)), (960, Some(2)), (1_000, Some(2)), (9_000, Some(2))]);
    check(&lives, 0x3000, &[(1, None), (1_499, None), (1_500, Some(3)), (2_600, Some(3))]);
}

#[test]
fn a_death_ends_nothing_but_its_own_body() {
    // The first goes after the second took its place; its birth was seen, or not.
    for told in [Told::Born(ms(10)), Told::Listed(ms(10)), Told::Listed(ms(60))] {
        let lives =
            [life(1, range(0x1000, 0x100), told, Some(60)), life(2, range(0x1080, 0x100), Told::Born(ms(50)), None)];
        check(&lives, 0x1010, &[(20, Some(1)), (59, Some(1)), (60, None)]);
        check(&lives, 0x1090, &[(50, Some(2)), (60, Some(2)), (70, Some(2))]);
    }
}

#[test]
fn what_is_listed_was_there_since_the_last_death() {
    let lives = [
        life(1, range(0x1000, 0x100), Told::Born(ms(10)), Some(3_000)),
        life(2, range(0x1000, 0x100), Told::Listed(ms(9_000)), None),
        life(3, range(0x1000, 0x100), Told::Listed(ms(20_000)), None),
    ];
    check(&lives, 0x1000, &[(0, Some(1)), (2_999, Some(1)), (3_000, Some(2)), (9_000, Some(2)), (19_999, Some(2))]);
    check(&lives, 0x1000, &[(20_000, Some(3))]);
}

#[test]
fn another_program_has_none_of_the_code() {
    let lives = [
        life(1, range(0x1000, 0x100), Told::Listed(ms(10)), None),
        life(2, range(0x1000, 0x100), Told::Born(ms(8_000)), None),
        life(3, range(0x2000, 0x100), Told::Listed(ms(9_000)), None),
    ];
    let mut map = CodeMap::new(&lives);
    let at = |map: &CodeMap, address, at| map.look_up(Avma(address), ms(at));
    assert_eq!(at(&map, 0x1000, 20), Answer { code: Some(1), until: ms(8_000) });
    assert_eq!(at(&map, 0x2000, 20), Answer { code: Some(3), until: ms(9_000) });
    map.begin_program(ms(20));
    assert_eq!(at(&map, 0x1000, 19), Answer { code: Some(1), until: ms(20) });
    assert_eq!(at(&map, 0x1000, 20), Answer { code: None, until: ms(7_000) });
    assert_eq!(at(&map, 0x1000, 8_000).code, Some(2), "what is born later is there");
    // What is listed later is of the program that runs then.
    assert_eq!(at(&map, 0x2000, 19), Answer { code: None, until: ms(20) });
    assert_eq!(at(&map, 0x2000, 20).code, Some(3));
    assert_eq!(map.remaining().collect::<Vec<_>>(), [(range(0x1000, 0x100), 2), (range(0x2000, 0x100), 3)]);
    map.begin_program(ms(8_500));
    assert_eq!(map.remaining().collect::<Vec<_>>(), [(range(0x2000, 0x100), 3)]);
}

#[test]
fn what_remains_is_in_the_order_of_addresses() {
    let lives = [
        life(1, range(0x1000, 0x100), Told::Listed(ms(1)), None),
        life(2, range(0x1040, 0x20), Told::Born(ms(2)), None),
        life(3, range(0x1080, 0x20), Told::Born(ms(2)), Some(3)),
        life(4, range(0x1200, 0x20), Told::Listed(ms(5)), Some(5)),
        life(5, range(0x0f00, 0x100), Told::Listed(ms(5)), None),
    ];
    let remaining: Vec<_> = CodeMap::new(&lives).remaining().collect();
    let expected = [
        (range(0x0f00, 0x100), 5),
        (range(0x1000, 0x40), 1),
        (range(0x1040, 0x20), 2),
        (range(0x1060, 0x20), 1),
        (range(0x10a0, 0x60), 1),
    ];
    assert_eq!(remaining, expected);
}

/// Times of the properties are so far apart that some bodies run before they are announced.
const STEP: u64 = EARLY_NS / 3;
const LAST_STEP: u64 = 12;
const LAST_ADDRESS: u64 = 16;

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let life = (0..LAST_ADDRESS, 1..6_u64, 0..LAST_STEP, any::<bool>(), prop::option::of(0..4_u64));
    prop::collection::vec(life, 0..14).prop_map(|lives| {
        let lives = lives.into_iter().zip(0..).map(|((start, bytes, at, is_born, lasts), code)| {
            let told = Timestamp(at * STEP);
            Life {
                range: range(start, bytes),
                told: if is_born { Told::Born(told) } else { Told::Listed(told) },
                until: lasts.map(|steps| Timestamp((at + steps) * STEP)),
                code,
            }
        });
        lives.collect()
    })
}

fn programs() -> impl Strategy<Value = Vec<Timestamp>> {
    prop::collection::vec((0..LAST_STEP).prop_map(|at| Timestamp(at * STEP)), 0..3)
}

fn map_of(lives: &[Life], programs: &[Timestamp]) -> CodeMap {
    let mut map = CodeMap::new(lives);
    programs.iter().for_each(|at| map.begin_program(*at));
    map
}

/// All addresses at all moments that can differ, and those just before.
fn everywhere() -> impl Iterator<Item = (Avma, Timestamp)> {
    let moments = (0..LAST_STEP + 6).flat_map(|step| [(step * STEP).saturating_sub(1), step * STEP]);
    moments.flat_map(|at| (0..LAST_ADDRESS + 6).map(move |address| (Avma(address), Timestamp(at))))
}

fn is_parting(life: &Life) -> bool {
    life.until.is_some_and(|until| until <= life.told.at())
}

/// The laws, word for word, over a list of all bodies.
fn by_the_laws(lives: &[Life], programs: &[Timestamp], address: Avma, at: Timestamp) -> Option<CodeId> {
    let same_program = |told: Timestamp| {
        let (first, second) = (told.min(at), told.max(at));
        !programs.iter().any(|program| first < *program && *program <= second)
    };
    let here = lives.iter().filter(|life| life.range.contains(address) && same_program(life.told.at()));
    let order = |life: &&Life| (life.told.at(), life.code);
    let last = here.clone().filter(|life| life.told.at() <= at && !is_parting(life)).max_by_key(order);
    if let Some(last) = last.filter(|life| life.until.is_none_or(|until| at < until)) {
        return Some(last.code);
    }
    let next = here.filter(|life| life.told.at() > at).min_by_key(order)?;
    let may_be = match next.told {
        Told::Born(born) => born.0 - at.0 <= EARLY_NS,
        Told::Listed(_) => true,
    };
    may_be.then_some(next.code)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn answers_are_those_of_a_list_that_is_searched_by_the_laws(lives in lives(), programs in programs()) {
        let map = map_of(&lives, &programs);
        for (address, at) in everywhere() {
            let expected = by_the_laws(&lives, &programs, address, at);
            prop_assert_eq!(map.look_up(address, at).code, expected, "{} at {:?}", address, at);
        }
    }

    #[test]
    fn no_answer_is_a_body_that_is_not_there_then(lives in lives(), programs in programs()) {
        let map = map_of(&lives, &programs);
        for (address, at) in everywhere() {
            let Some(code) = map.look_up(address, at).code else { continue };
            let life = lives[code as usize];
            prop_assert!(life.range.contains(address));
            prop_assert!(life.until.is_none_or(|until| at < until), "dead");
            if let Told::Born(born) = life.told {
                prop_assert!(at.0 + EARLY_NS >= born.0, "not born");
            }
            // Nothing that came to be over it meanwhile is forgotten.
            let between = |other: &&Life| life.told.at() < other.told.at() && other.told.at() <= at && !is_parting(other);
            prop_assert!(!lives.iter().filter(between).any(|other| other.range.contains(address)), "buried");
            let (told, at) = (life.told.at().min(at), life.told.at().max(at));
            prop_assert!(!programs.iter().any(|program| told < *program && *program <= at), "another program's");
        }
    }

    #[test]
    fn bodies_may_come_in_any_order(
        (lives, shuffled) in lives().prop_flat_map(|lives| (Just(lives.clone()), Just(lives).prop_shuffle())),
        (programs, other_programs) in programs().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let (map, other) = (map_of(&lives, &programs), map_of(&shuffled, &other_programs));
        for (address, at) in everywhere() {
            prop_assert_eq!(map.look_up(address, at), other.look_up(address, at));
        }
        prop_assert!(map.remaining().eq(other.remaining()));
    }

    #[test]
    fn an_answer_holds_as_long_as_it_says(lives in lives(), programs in programs()) {
        let map = map_of(&lives, &programs);
        for (address, at) in everywhere() {
            let answer = map.look_up(address, at);
            prop_assert!(at < answer.until);
            for (_, later) in everywhere().filter(|(other, later)| *other == address && at < *later) {
                if later < answer.until {
                    prop_assert_eq!(map.look_up(address, later), answer);
                }
            }
        }
    }

    #[test]
    fn bodies_elsewhere_count_for_nothing(lives in lives(), address in 0..LAST_ADDRESS) {
        let map = map_of(&lives, &[]);
        let here: Vec<Life> = lives.into_iter().filter(|life| life.range.contains(Avma(address))).collect();
        let alone = map_of(&here, &[]);
        for (address, at) in everywhere().filter(|(other, _)| other.0 == address) {
            prop_assert_eq!(map.look_up(address, at), alone.look_up(address, at));
        }
    }

    #[test]
    fn what_remains_is_what_is_there_last(lives in lives(), programs in programs()) {
        let map = map_of(&lives, &programs);
        let remaining: Vec<_> = map.remaining().collect();
        prop_assert!(remaining.is_sorted_by(|one, next| one.0.end() <= next.0.start()));
        let end = Timestamp((LAST_STEP + 6) * STEP);
        for address in (0..LAST_ADDRESS + 6).map(Avma) {
            let here = remaining.iter().find(|(range, _)| range.contains(address)).map(|(_, code)| *code);
            prop_assert_eq!(here, map.look_up(address, end).code);
        }
    }
}

/// Depth of ranges in each other does not make memory grow with its square.
#[test]
fn ranges_in_each_other_take_little_memory() {
    let count = 20_000_u32;
    let nested = |code: CodeId| {
        let inset = u64::from(code);
        life(code, range(inset, 2 * (u64::from(count) - inset)), Told::Born(ms(inset)), None)
    };
    let map = CodeMap::new(&(0..count).map(nested).collect::<Vec<_>>());
    assert!(map.memory() < 400 * count as usize, "{} bytes", map.memory());
    for at in [0, 1, 2, 9_999, 19_999] {
        assert_eq!(map.look_up(Avma(u64::from(count)), ms(at)).code, Some(u32::try_from(at).unwrap()));
        assert_eq!(map.look_up(Avma(0), ms(at)).code, Some(0));
    }
}
