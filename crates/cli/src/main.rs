//! x
use std::time::Duration;
fn main() {
    let mut args = std::env::args().skip(1);
    let what = args.next().unwrap();
    let target = if what == "-p" {
        strata_record::Target::Process(args.next().unwrap().parse().unwrap())
    } else {
        strata_record::Target::Command(args.map(Into::into).collect())
    };
    let settings = strata_record::Settings {
        output: "/tmp/x.strata".into(),
        frequency_hz: 999,
        stack_bytes: std::env::var("STK").map_or(8192, |v| v.parse().unwrap()),
        duration: Some(Duration::from_secs(5)),
        recorder: "strata 0.1.0".into(),
    };
    let control = strata_record::Control::new().unwrap();
    let out = strata_record::record(&target, &settings, &control, &mut |p| {
        if !matches!(p, strata_record::Progress::Running(_)) {
            eprintln!("{p:?}")
        }
    });
    eprintln!("{out:#?}");
}
