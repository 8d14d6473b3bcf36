use crate::layout::Layout;
pub(crate) fn run(_: &Layout, _: &[String]) -> anyhow::Result<()> {
    anyhow::bail!("later")
}
