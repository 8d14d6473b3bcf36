//! Which crate may know which: data goes one way, so arrows between crates only point against it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The crates in the order of the way of data; each may depend only on those before it. Dev-dependencies are free.
const ORDER: [&str; 16] = [
    "strata-address",
    "strata-stack",
    "strata-nettrace",
    "strata-perfdata",
    "strata-clrimage",
    "strata-diagnostics",
    "strata-unwind",
    "strata-recording",
    "strata-record",
    "strata-profile",
    "strata-resolve",
    "strata-digest",
    "strata-export",
    "strata-report",
    "strata-testkit",
    "strata-cli",
];

/// Arrows that the order alone would allow but the design does not.
const FORBIDDEN: [(&str, &str); 12] = [
    ("strata-clrimage", "strata-nettrace"),
    ("strata-clrimage", "strata-perfdata"),
    ("strata-unwind", "strata-clrimage"),
    ("strata-perfdata", "strata-nettrace"),
    ("strata-diagnostics", "strata-nettrace"),
    ("strata-unwind", "strata-nettrace"),
    ("strata-unwind", "strata-perfdata"),
    ("strata-profile", "strata-record"),
    ("strata-profile", "strata-recording"),
    ("strata-resolve", "strata-record"),
    ("strata-report", "strata-export"),
    ("strata-export", "strata-resolve"),
];

#[test]
fn arrows_point_one_way() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let normal = dependencies.filter(|dependency| dependency["kind"].is_null());
        let ours =
            normal.map(|dependency| dependency["name"].as_str().unwrap()).filter(|name| name.starts_with("strata-"));
        arrows.insert(name.to_owned(), ours.map(str::to_owned).collect());
    }
    arrows.remove("xtask");
    let place = |name: &str| {
        let found = ORDER.iter().position(|known| *known == name);
        found.unwrap_or_else(|| {
            panic!("{name} has no place in the way of data yet: give it one here and in ARCHITECTURE.md")
        })
    };
    assert_eq!(arrows.len(), ORDER.len(), "a crate is gone: {:?}", arrows.keys());
    for (from, to) in arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to))) {
        assert!(place(to) < place(from), "{from} must not depend on {to}");
        assert!(!FORBIDDEN.contains(&(from.as_str(), to.as_str())), "{from} must not depend on {to}");
    }
    // What turns profiles into views is left of nothing that reads input, and the other way round.
    let readers = ["strata-nettrace", "strata-perfdata", "strata-diagnostics", "strata-unwind", "strata-recording"];
    for view in ["strata-profile", "strata-digest", "strata-export", "strata-report"] {
        for reader in readers {
            assert!(!arrows[view].contains(reader), "{view} must not depend on {reader}");
        }
    }
}
