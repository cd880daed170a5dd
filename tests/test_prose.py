"""The documentation is plain English: the actor first, one idea a sentence, one word a thing.

Code, links' targets and names in backquotes are not prose.  A rule that a sentence has to break
is a rule to be reworded here, not a sentence to be excepted.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click
import pytest

from smpmake.cli.group import group
from smpmake.cli.names import COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name != "architecture.md"),
]
#: Whether the texts of --help are held to the same rules.
HELP_IS_PLAIN: Final = True
#: Words in docs/, all pages together.
MOST_WORDS: Final = 30_000
#: Words in a sentence.
LONGEST: Final = 30
#: A sentence with a comma every so many words is a list of names, and may be longer.
WORDS_PER_NAME: Final = 4
#: What stands for a name in backquotes.
NAME: Final = "NAME"


class Rule(NamedTuple):
    """What to lose, how it is recognised, and a sentence that has it."""

    name: str
    pattern: str
    example: str
    better: str


PEOPLE = ("people", "users", "somebody", "everybody", "anybody", "those")
NOT_PEOPLE = "".join(rf"(?<!\b{word} )" for word in PEOPLE)
#: A predicate without anybody who tells, believes or knows.
TOLD = r"(?:told|said|heard of|believed|meant|taken back|taken for granted|known (?:by|to|of))"

RULES = (
    Rule(
        "free who",
        rf"{NOT_PEOPLE}\bwho(?:ever|m)?\b",
        "A small library lets whoever opens a file wait.",
        "Any process that opens a file waits.",
    ),
    Rule(
        "what as a subject",
        r"(?:^|[.;:] )What\b(?![^.]*\?)",
        "What is over sooner gets no figure.",
        "Shorter builds get no figure.",
    ),
    Rule(
        "what as a noun",
        r"\bwhat (?:is|was|are|were|has|have|had|does|did|goes|comes|follows|remains|stays)\b",
        "The report counts what is deferred.",
        "The report counts the deferred commands.",
    ),
    Rule(
        "German order",
        r"\bas ever\b|\bas it comes\b|\bthe (?:better|sooner|more|less) it is\b|\bnor (?:is|are)\b"
        r"|\balso (?:if|where) it\b|^(?:So|As) (?:it is|are|was) with\b",
        "The option says as ever how many tools run.",
        "As usual, the option sets the number of tools.",
    ),
    Rule(
        "passive without an actor",
        rf"\b(?:is|are|was|were|be|been) (?:not )?{TOLD}\b",
        "What it prints is told at the end.",
        "smpmake prints it at the end.",
    ),
    Rule(
        "beside, behind, stands",
        r"\bbeside\b|\bbehind (?:it|them|ours|its back|that)\b"
        r"|\bstand(?:s|ing)? (?:there|still|here|in the way|behind|as it)\b",
        "A job runs beside the driver.",
        "A job runs at the same time as the driver.",
    ),
    Rule(
        "none as a predicate",
        r"\b(?:is|are|was|were) none\b|\bnone (?:is|are|was|were)\b"
        r"|(?<![Tt]here )\b(?:is|are|was|were) no (?!longer\b|more\b)",
        "A line that has failed is none any more.",
        "A line that has failed is no longer a job.",
    ),
    Rule(
        "comma before the last word",
        r", (?:too|so|say|then|though)(?=[.;:)]|$)",
        "A source that always warns is compiled twice, so.",
        "A source that always warns is therefore compiled twice.",
    ),
    Rule(
        "all as a noun",
        r"(?:^|\b(?:when|if|whether|that|where|until) )"
        r"[Aa]ll (?:is|has|was|works|goes|of it|else)\b"
        r"|\bby (?:itself|themselves)\b",
        "It builds one file to see whether all works here.",
        "It builds one file to check that everything works.",
    ),
    Rule(
        "metaphor",
        r"\b(?:house|doors?|guests?|neighbours?|lessons?|strays?|cellar|scoreboard|affair|at work"
        r"|mended|learnt|riddles?|ancestor's own|hack)\b",
        "The server has guests at its door.",
        "The server has connected clients.",
    ),
    Rule(
        "riddle as a heading",
        r"^# (?:How it is|Little|A flood|A second name|Whose|What (?:goes|comes|no longer))\b",
        "# Little of everything",
        "# Low memory",
    ),
    Rule(
        "two words for one thing",
        r"\b(?:deferred|in the foreground|foreground commands?|backgrounded)\b",
        "It runs in the foreground.",
        "It runs in place.",
    ),
)


class Passage(NamedTuple):
    """A paragraph, an item of a list, a heading ("# ...") or a cell of a table."""

    line: int
    text: str
    is_cell: bool = False


def passages(text: str) -> Iterator[Passage]:
    """The prose of a page, without code."""
    begun, words, fenced = 0, list[str](), False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
        ends = fenced or not stripped or re.match(r"```|\||#|[-*] |\d+\. ", stripped) is not None
        if ends and words:
            yield Passage(begun, plain(" ".join(words)))
            words = []
        if (
            fenced
            or not stripped
            or stripped.startswith(("```", "!["))
            or (line.startswith("    ") and not words)
        ):
            continue
        if stripped.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                if not re.fullmatch(r"[-: ]*", cell):
                    yield Passage(number, plain(cell), is_cell=True)
        elif stripped.startswith("#"):
            yield Passage(number, "# " + plain(stripped.lstrip("# ")))
        else:
            begun = begun if words else number
            words.append(re.sub(r"^(?:[-*]|\d+\.) ", "", stripped))


def plain(text: str) -> str:
    """Markdown without its marks: a name for what is in backquotes, a link's words."""
    text = re.sub(r"``.+?``|`[^`]*`", NAME, text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\*\*|(?<!\w)\*|\*(?!\w)", "", re.sub(r"\s+", " ", text)).strip()


def sentences(text: str) -> list[str]:
    """A passage's sentences; one that ends with a colon before a list is one, too."""
    return [part for part in re.split(r"(?<=[.?!])(?<!\.\.)[\"')]* +", text) if part]


def is_too_long(sentence: str) -> bool:
    words = re.findall(r"\S*\w\S*", sentence)
    commas = len(re.findall(r"[,;]", sentence))
    return len(words) > LONGEST and commas * WORDS_PER_NAME < len(words)


def is_a_chain(sentence: str) -> bool:
    """More than one semicolon, and not between the names of a list."""
    words = len(re.findall(r"\S*\w\S*", sentence))
    marks = len(re.findall(r"[,;]", sentence))
    return sentence.count(";") > 1 and marks * WORDS_PER_NAME < words


def broken(text: str) -> Iterator[tuple[int, str, str]]:
    """What is wrong with a page: a line, a rule's name, a sentence."""
    for passage in passages(text):
        for rule in RULES:
            # cells have phrases: a rule about sentences' beginnings is not for them
            if passage.is_cell and rule.pattern.startswith("(?:^|[.;:] )What"):
                continue
            if re.search(rule.pattern, passage.text):
                yield passage.line, rule.name, passage.text
        if not passage.text.startswith("#") and not passage.is_cell:
            for sentence in sentences(passage.text):
                if is_too_long(sentence):
                    yield passage.line, f"more than {LONGEST} words", sentence
                if is_a_chain(sentence):
                    yield passage.line, "a chain of semicolons", sentence


def helps() -> Iterator[tuple[str, str]]:
    """The texts of every command's --help, by its name."""
    yield "smpmake", inspect.cleandoc(group.help or "")
    for name, (_, line) in COMMANDS.items():
        command = group.get_command(click.Context(group), name)
        assert command is not None
        texts = [line, command.help or ""]
        texts += [each.help or "" for each in command.params if isinstance(each, click.Option)]
        yield name, "\n\n".join(inspect.cleandoc(text.replace("\b", "")) for text in texts)


PLACES = {
    **{str(page.relative_to(ROOT)): page.read_text() for page in PAGES},
    **({f"{name} --help": text for name, text in helps()} if HELP_IS_PLAIN else {}),
}


@pytest.mark.parametrize("place", PLACES)
def test_is_plain_english(place: str) -> None:
    found = [f"{place}:{line}: {rule}: {text}" for line, rule, text in broken(PLACES[place])]
    assert found == []


def test_the_documentation_is_short_enough_to_be_read() -> None:
    pages = (ROOT / "docs").glob("*.md")
    assert sum(len(page.read_text().split()) for page in pages) <= MOST_WORDS


def test_every_command_has_its_texts() -> None:
    assert {name for name, text in helps() if text.strip()} == {"smpmake", *COMMANDS}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_finds_its_example_and_lets_the_better_one_pass(rule: Rule) -> None:
    found = {name for _, name, _ in broken(rule.example)}
    assert rule.name in found
    assert rule.name not in {name for _, name, _ in broken(rule.better)}


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("word " * 31 + ".", True),
        ("word " * 30 + ".", False),
        ("name, " * 40 + ".", False),
        ("A `list of many words in code " + "word " * 40 + "` counts as one.", False),
        ("```\n" + "word " * 40 + "\n```", False),
        ("| " + "word " * 40 + " |", False),
        ("- " + "word " * 31 + ".", True),
        ("word " * 20 + ".  And " + "word " * 20 + ".", False),
        ("One thing happens here today; then another thing happens; then a third one.", True),
        ("One thing happens here today; then another thing happens.", False),
    ],
)
def test_sentences_are_counted(text: str, is_wrong: bool) -> None:
    assert bool(list(broken(text))) is is_wrong


def test_code_is_no_prose() -> None:
    text = "Run `who -a`.\n\n```sh\nwho; echo whoever\n```\n\n    who\n\n[text](who.md)\n"
    assert list(broken(text)) == []


def test_a_finding_names_its_line() -> None:
    text = "# Heading\n\nAll is well with us.\n\n- one\n- it is compiled twice, so.\n"
    assert [(line, rule) for line, rule, _ in broken(text)] == [
        (3, "all as a noun"),
        (6, "comma before the last word"),
    ]
