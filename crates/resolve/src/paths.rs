//! Parts of paths, as the kernel and bundles write them.

/// The kernel's mark of a file that is gone from its folder.
pub(crate) const DELETED: &str = " (deleted)";

/// A path without the kernel's mark of a deleted file.
pub(crate) fn without_mark(path: &str) -> &str {
    path.strip_suffix(DELETED).unwrap_or(path)
}

/// What is behind the last `/`; the mark of a deleted file stays.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What is behind the last `/` or `\`: of a path that Windows may have written.
pub(crate) fn file_name_anywhere(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The file name without the extension that images have; what an assembly that was loaded from memory is called by has none.
pub(crate) fn stem(path: &str) -> &str {
    without_extension(file_name(path))
}

/// The same of a path that Windows may have written.
pub(crate) fn stem_anywhere(path: &str) -> &str {
    without_extension(file_name_anywhere(path))
}

fn without_extension(file_name: &str) -> &str {
    match file_name.rsplit_once('.') {
        Some((stem, extension)) if ["dll", "exe"].iter().any(|known| extension.eq_ignore_ascii_case(known)) => stem,
        _ => file_name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_extensions_of_images_are_cut() {
        let check = |path, expected| assert_eq!(stem(path), expected);
        check("/app/System.Collections.dll", "System.Collections");
        check("/app/Shop.EXE", "Shop");
        check("System.Collections", "System.Collections");
        check("/app/shop", "shop");
        check(r"/app/a\b.dll", r"a\b");
        assert_eq!(stem_anywhere(r"C:\app\Shop.Core.dll"), "Shop.Core");
        assert_eq!(stem_anywhere("/app/shop.dll"), "shop");
    }
}
