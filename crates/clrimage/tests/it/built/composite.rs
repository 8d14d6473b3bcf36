//! Composite images, and the files beside them.

use strata_address::Rva;
use strata_clrimage::metadata::Guid;
use strata_clrimage::{Image, Layout, MapLine, NoAssemblies, Place, map_lines};
use strata_testkit::image::samples::{self, Embedded};
use strata_testkit::image::{self, Built, Changes, Kind};

fn both(built: &Built, check: impl Fn(Image<'_>)) {
    check(Image::parse(&built.file, Layout::File).unwrap());
    check(Image::parse(&built.memory, Layout::Memory).unwrap());
}

#[test]
fn components_and_their_metadata() {
    for embedded in [Embedded::Yes, Embedded::No] {
        both(&samples::composite(embedded).build(), |image| {
            assert!(image.ready_to_run().unwrap().is_composite());
            assert!(image.metadata().is_none());
            assert!(image.identity().mvid().is_zero());
            assert_eq!(image.component_count(), 2);
            for (index, (name, mvid)) in
                [("Library", samples::LIBRARY_MVID), ("Other", samples::OTHER_MVID)].into_iter().enumerate()
            {
                let component = image.component(index as u32).unwrap();
                assert_eq!((component.name, component.mvid), (name, Some(Guid(mvid))));
                assert_eq!(component.metadata.is_some(), embedded == Embedded::Yes);
                let inside = component.metadata.and_then(|metadata| metadata.assembly_name());
                assert!(inside.is_none_or(|inside| inside == name));
            }
            assert!(image.component(2).is_err());
            assert!(image.component(u32::MAX).is_err());
            assert_eq!(image.owner_composite(), None);
        });
    }
}

#[test]
fn a_map_calls_methods_without_a_name_by_their_token() {
    both(&samples::composite(Embedded::No).build(), |image| {
        let (methods, names) = (image.methods().unwrap(), image.names(&NoAssemblies));
        let lines: Vec<MapLine> = map_lines(&image, &methods, &names).collect();
        assert!(lines.iter().any(|line| line.name == "0x06000001"), "{lines:?}");
        assert!(lines.iter().all(|line| line.name.starts_with("0x06") || line.name.starts_with("0x0a")), "{lines:?}");
    });
}

#[test]
fn components_without_identity() {
    let mut composite = samples::composite(Embedded::No);
    let Kind::Composite(components) = &mut composite.kind else { unreachable!() };
    components[0].mvid = [0; 16];
    both(&composite.build(), |image| {
        assert_eq!(image.component(0).unwrap().mvid, None);
        assert_eq!(image.component(1).unwrap().mvid, Some(Guid(samples::OTHER_MVID)));
    });
    composite.changes.absent = vec![118];
    both(&composite.build(), |image| assert_eq!(image.component(1).unwrap().mvid, None));
    composite.changes = Changes { place: [(118, (0xffff_0000, 32))].into(), ..Changes::default() };
    both(&composite.build(), |image| assert_eq!(image.component(1).unwrap().mvid, None));
}

#[test]
fn a_component_says_where_its_code_is() {
    let with = |changes| {
        let built = image::Image { changes, ..samples::component() }.build();
        let image = Image::parse(&built.file, Layout::File).unwrap();
        assert_eq!(image.metadata().unwrap().assembly_name(), Some("Library"));
        assert_eq!(image.identity().mvid(), Guid(samples::LIBRARY_MVID));
        image.owner_composite().map(str::to_owned)
    };
    let owner = |bytes: &[u8]| with(Changes { content: [(116, bytes.to_vec())].into(), ..Changes::default() });
    assert_eq!(with(Changes::default()).as_deref(), Some("framework-r2r.dll"));
    assert_eq!(owner(b"without an end").as_deref(), Some("without an end"));
    assert_eq!(owner(b"\0"), None);
    assert_eq!(owner(b"\xff\0"), None);
    assert_eq!(with(Changes { absent: vec![116], ..Changes::default() }), None);
    assert_eq!(with(Changes { place: [(116, (0, 0))].into(), ..Changes::default() }), None);
}

#[test]
fn methods_of_two_assemblies_in_one_table() {
    let built = samples::composite(Embedded::No).build();
    both(&built, |image| {
        let table = image.methods().unwrap();
        assert_eq!(table.methods().len(), built.methods.len());
        let source = |index: usize| {
            let place = table.lookup(Rva(u64::from(built.methods[index].start()) + 1));
            let Some(Place::Method { method, offset: 1, .. }) = place else { panic!("{place:?}") };
            format!("{:?}", method.source)
        };
        assert_eq!(source(0), "Definition { component: 0, rid: 1 }");
        assert_eq!(source(3), "Definition { component: 1, rid: 1 }");
        assert!(source(4).contains(&format!("token: {}", 0x0600_0000 + samples::PUT)));
    });
}

#[test]
fn damaged_lists_of_components() {
    let with = |changes| {
        let built = image::Image { changes, ..samples::composite(Embedded::Yes) }.build();
        let image = Image::parse(&built.file, Layout::File).unwrap();
        (image.component_count(), image.methods().map_or(0, |table| table.methods().len()))
    };
    let list = |bytes: &[u8]| with(Changes { content: [(115, bytes.to_vec())].into(), ..Changes::default() });
    // Instances need no component.
    assert_eq!(list(&[0xff; 32]), (2, 2));
    assert_eq!(list(&[0; 64]), (4, 2));
    assert_eq!(list(&[0; 15]), (0, 2));
    assert_eq!(with(Changes { place: [(115, (0, u32::MAX))].into(), ..Changes::default() }), (0, 0));
}
