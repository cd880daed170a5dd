"""What happens in a folder is told at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from smpmake.disk.inotify import Watch


def test_a_write_is_told_by_its_folder(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()

    async def play() -> list[str]:
        told: asyncio.Queue[str] = asyncio.Queue()
        watch = Watch()
        for folder in folders:
            watch.add(folder, lambda: told.put_nowait("an older one"))
        for folder in folders:
            watch.add(folder, lambda name=folder.name: told.put_nowait(name))  # type: ignore[misc]
        (folders[1] / "file").write_text("x")
        first = await told.get()
        (folders[0] / "file").write_text("x")
        second = await told.get()
        watch.close()
        (folders[0] / "file").write_text("y")
        await asyncio.sleep(0)
        return [first, second, *([told.get_nowait()] if not told.empty() else [])]

    assert asyncio.run(asyncio.wait_for(play(), 30)) == ["b", "a"]
