"""`smpmake completion`: what a shell asks when somebody presses Tab.

Behind our own options stands any command: the shell completes it as it always does.  The scripts in
shells/ ask for lines `TYPE<Tab>VALUE<Tab>HELP`:

plain    a word;  file, dir: the shell's own names
command  a command, which is word VALUE of the line
behind   hand over: the command that begins with word VALUE is completed
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Final, NamedTuple

import click
from click.shell_completion import ShellComplete, split_arg_string

from smpmake.cli import folder
from smpmake.cli.names import COMMANDS, first_word, is_ours, options_with_values
from smpmake.units import one_line

SHELLS: Final = ("bash", "fish", "zsh")
#: What has a command of the user's behind its options.
_PREFIXES: Final = ("bench", "run")


class Item(NamedTuple):
    """A line for the shell."""

    type: str
    value: str
    help: str = ""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--at", type=int, hidden=True)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="")
def completion(shell: str, at: int | None, words: tuple[str, ...]) -> None:
    """Print a script that completes smpmake's command line in your shell.

    \b
    bash: write into ~/.bashrc: eval "$(smpmake completion bash)"
    zsh:  write into ~/.zshrc, behind compinit: eval "$(smpmake completion zsh)"
    fish: run once: smpmake completion fish > ~/.config/fish/completions/smpmake.fish

    Your shell completes the command behind smpmake's options as it does without smpmake.
    """
    if at is None:
        script = resources.files("smpmake.cli").joinpath("shells", shell)
        click.echo(script.read_text(encoding="utf-8"), nl=False)
        return
    for item in complete(words, at):
        click.echo("\t".join(one_line(text.replace("\t", " ")) for text in item))


def complete(words: Sequence[str], at: int) -> Iterator[Item]:
    """What word `at` of a command line may be; words[0] is smpmake itself."""
    from smpmake.cli.run import run

    joined, places = _joined([*words[:at], *(words[at : at + 1] or [""])])
    plain = [" ".join(split_arg_string(word)) for word in joined][1:]
    places = places[1:]
    last = len(plain) - 1
    kept = folder.part(plain).kept
    if last in kept:
        words, places = [plain[at] for at in kept], [places[at] for at in kept]
        yield from _behind_options(run, words, places, ours=True)
    elif not plain[last].startswith(folder.WORD):
        yield Item("dir", plain[last])


def _joined(words: Sequence[str]) -> tuple[list[str], list[int]]:
    """The words, and where each began; bash takes `--color=never` for three."""
    joined: list[str] = []
    places: list[int] = []
    for at, word in enumerate(words):
        if joined and joined[-1].startswith("--") and (word == "=" or joined[-1].endswith("=")):
            joined[-1] += word
        else:
            joined.append(word)
            places.append(at)
    return joined, places


def _behind_options(
    command: click.Command, words: list[str], places: list[int], *, ours: bool
) -> Iterator[Item]:
    """The last word; `command` takes the options, `ours`: names of ours may follow."""
    before, last = words[:-1], words[-1]
    at = first_word(before, options_with_values(command))
    if at < len(before) and before[at] == "--":
        at, ours = at + 1, False
    elif at == len(before) and last.startswith("-"):
        yield from _by_click(command, before, last)
        if ours and "--version".startswith(last):
            yield Item("plain", "--version", "Show the version and exit.")
        return
    elif at > len(before):  # the value of an option
        yield from _by_click(command, before, last)
        return
    if at == len(before):
        if ours:
            found = ((name, text) for name, (_, text) in COMMANDS.items() if name.startswith(last))
            yield from (Item("plain", name, text) for name, text in found)
        yield Item("command", str(places[at]))
    elif ours and is_ours(before[at:]):
        yield from _of_ours(before[at], words[at + 1 :], places[at + 1 :])
    else:
        yield Item("behind", str(places[at]))


def _of_ours(name: str, words: list[str], places: list[int]) -> Iterator[Item]:
    from smpmake.cli.group import group

    command = group.get_command(click.Context(group), name)
    assert command is not None
    if name in _PREFIXES:
        yield from _behind_options(command, words, places, ours=False)
    else:
        yield from _by_click(command, words[:-1], words[-1])


def _by_click(command: click.Command, before: list[str], last: str) -> Iterator[Item]:
    for item in ShellComplete(command, {}, "smpmake", "").get_completions(before, last):
        yield Item(item.type, item.value, item.help or "")
