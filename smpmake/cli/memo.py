"""`smpmake memo`: the results that smpmake remembers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import click

from smpmake import private, units
from smpmake.cli.settings import settings_from
from smpmake.options import BY_NAME
from smpmake.protocol import layout
from smpmake.session import memo as store

_OFF: Final = "smpmake remembers no results yet: the next build will."


@click.group(invoke_without_command=True)
@click.pass_context
def memo(context: click.Context) -> None:
    """Show which results smpmake remembers, and what they saved.

    A build remembers the results of its compiles, links and archives; from the second time on also
    those of configure's checks.
    """
    if context.invoked_subcommand is None:
        for line in lines(store.folder(), _most_bytes()):
            click.echo(line)


@memo.command()
@click.argument("hours", type=click.FloatRange(min=0), default=24.0)
def trim(hours: float) -> None:
    """Forget the results that no build has used for HOURS (24).

    A CI job says this before it saves its cache: the cache then holds what its last builds used.
    """
    since = time.time_ns() - int(hours * 3600 * 1e9)
    click.echo(_forgotten(store.trim(store.folder(), since)))


@memo.command()
def clear() -> None:
    """Forget all results.  Builds that are running remember anew."""
    click.echo(_forgotten(store.clear(store.folder())))


def _forgotten(count: int) -> str:
    return f"smpmake has forgotten {count} {'command' if count == 1 else 'commands'}."


def _most_bytes() -> int:
    option = BY_NAME["memo_size"]
    said = os.environ.get(option.variable)
    return settings_from({option.name: option.from_text(said)} if said else {}).memo_size << 20


def lines(folder: Path, most: int) -> Iterator[str]:
    """What the user is shown of a store that may take so many bytes."""
    files = list(store.files_of(folder))
    if fault := private.fault_of(folder, private.ANOTHER_CACHE):
        yield f"smpmake remembers no results: {fault}"
        return
    if not files:
        yield _OFF
        return
    size = sum(info.st_blocks * 512 for _, info in files)
    commands = sum(path.parent.parent.name == "q" for path, _ in files)
    counts = store.counts_of(folder)
    last, days = counts["last"], counts["days"].values()
    yield f"store      {folder}"
    yield f"size       {units.size(size)}, of at most {units.size(most)}"
    yield f"commands   {commands}"
    ran = sum(last.get("misses", {}).values())
    yield (
        f"last build {last.get('hits', 0)} results given back, {ran} commands run, "
        f"{units.seconds(last.get('saved_us', 0) / 1e6)} of CPU time saved"
    )
    if last.get("ahead"):
        yield f"           {last['ahead']} checks of configure ran ahead of their script"
    if "remote" in last:
        yield from _of_server(last["remote"])
    hits, saved_us = (sum(each) for each in zip(*days, strict=True)) if days else (0, 0)
    yield f"last week  {hits} results given back, {units.seconds(saved_us / 1e6)} saved"
    yield from _reasons("run because", last.get("misses", {}), last.get("examples", {}))
    yield from _reasons("not kept because", last.get("unkept", {}))


def _of_server(counts: Mapping[str, int]) -> Iterator[str]:
    """What the last build had from a server (--memo-remote), and gave it."""
    missed = max(0, counts["asked"] - counts["hits"])  # a content may be fetched alone
    yield (
        f"server     {counts['hits']} results received, {missed} not there, "
        f"{units.size(counts['received'])}; {counts['errors']} errors"
    )
    if counts["stored"] or counts["dropped"]:
        yield (
            f"           {counts['stored']} results sent, {units.size(counts['sent'])}; "
            f"{counts['dropped']} not sent"
        )


def _reasons(
    head: str, counts: Mapping[str, Any], examples: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """The most frequent first."""
    for number, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        why = layout.MEMO_WHY_SENTENCES.get(
            int(number) if number.isdecimal() else 0, "of a newer reason"
        )
        what = "different now: " if number == str(layout.MEMO_UNKNOWN) else ""
        example = f" ({what}{units.printable(examples[number])})" if number in examples else ""
        yield f"  {count:6} {head} {why}{example}"
