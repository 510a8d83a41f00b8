"""``demo``: the main job on a small graph, in words."""

from rich.console import Console


def demo() -> None:
    """Show in a few seconds what Memory Graph does, on a small graph of its own. Leaves nothing behind."""
    from app.demo.show import tell  # noqa: PLC0415 - no other command needs the story
    from app.demo.story import play  # noqa: PLC0415

    tell(play(), Console(highlight=False))
