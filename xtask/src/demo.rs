use crate::layout::Layout;
pub(crate) fn run(_: &Layout) -> anyhow::Result<()> {
    anyhow::bail!("later")
}
