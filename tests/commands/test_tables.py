"""The tables check themselves: each word once, in order, and with a meaning."""

from __future__ import annotations

import enum
import importlib
import pkgutil
import re
import types
from collections.abc import Mapping
from typing import Any

import pytest

from smpmake import commands
from smpmake.commands.compilers import assembler, launchers, linker, probes
from smpmake.commands.compilers import options as compiler_options
from smpmake.commands.compilers import words as compiler_words
from smpmake.commands.families import FAMILIES, find
from smpmake.commands.files import binutils, coreutils_options
from smpmake.commands.model import Analysis, Family, Invocation
from smpmake.commands.options import Getopt, Table, Take, Want
from smpmake.commands.watcom import compilers as watcom
from tests.commands.any_argv import NAMED
from tests.commands.disk import FakeFiles

TABLES: dict[str, Table[Any]] = {
    "compiler": compiler_options.TABLE,
    "assembler": assembler.TABLE,
    "linker": linker.TABLE,
}
GETOPTS: dict[str, Getopt[Any]] = {
    name: value
    for module in (binutils, coreutils_options)
    for name, value in vars(module).items()
    if isinstance(value, Getopt)
}
ON = pytest.mark.parametrize("name", TABLES)
ON_GETOPT = pytest.mark.parametrize("name", GETOPTS)


@ON
def test_no_word_stands_twice(name: str) -> None:
    """A word may be known both whole and as a prefix, but each only once."""
    whole: list[str] = []
    prefix: list[str] = []
    for row in TABLES[name].rows:
        if row.take is not Take.GLUED:
            whole += row.words()
        if row.take in (Take.GLUED, Take.EITHER):
            prefix += row.words()
    assert sorted(whole) == sorted(set(whole))
    assert sorted(prefix) == sorted(set(prefix))


@pytest.mark.parametrize("module", [compiler_options, assembler])
def test_words_are_sorted(module: Any) -> None:
    for row in module.OPTIONS:
        assert row.words() == sorted(row.words()), row.do
        assert row.words()


@pytest.mark.parametrize("table", [linker.LONG_FLAGS, linker.LONG_VALUES, linker.LONG_EQUALS])
def test_the_linkers_names_are_sorted(table: dict[linker.Do, str]) -> None:
    for do, names in table.items():
        assert names.split() == sorted(names.split()), do


def test_f_names_are_sorted_and_in_no_other_table() -> None:
    names = compiler_options.HARMLESS_F.split()
    assert names == sorted(set(names))
    for row in compiler_options.OPTIONS:
        for word in row.words():
            bare = word.removeprefix("-f").removeprefix("no-").rstrip("=")
            assert not (word.startswith("-f") and row.take is Take.FLAG and bare in names), word
    for name in names:
        hit = compiler_options.TABLE.find(f"-f{name}")
        assert hit is not None and hit.do is compiler_options.Do.NOTHING, name


@ON
def test_every_word_finds_its_own_row(name: str) -> None:
    table = TABLES[name]
    for row in table.rows:
        for word in row.words():
            if row.take is Take.GLUED:
                hit = table.find(word + "VALUE")
                assert hit is not None and (hit.do, hit.value) == (row.do, "VALUE"), word
            else:
                hit = table.find(word)
                assert hit is not None and hit.do is row.do, word
                assert hit.wants_next is (row.take is not Take.FLAG), word


def test_every_compiler_option_with_a_value_has_an_effect() -> None:
    """What it does is either nothing, said so, or an action that sees the value."""
    noted = {compiler_options.Do.CALL_GRAPH, compiler_options.Do.LTO, compiler_options.Do.NAMES}
    for row in compiler_options.OPTIONS:
        if row.take is not Take.FLAG:
            harmless = row.do is compiler_options.Do.NOTHING or row.do in noted
            assert harmless or row.do in compiler_words.ACTIONS, row


@pytest.mark.parametrize("module", [compiler_options, assembler, linker])
def test_every_meaning_is_some_options(module: Any) -> None:
    used = {row.do for row in module.TABLE.rows}
    meanings: type[enum.Enum] = module.Do
    assert used == set(meanings)


@ON_GETOPT
def test_no_getopt_name_stands_twice(name: str) -> None:
    names = [word for option in GETOPTS[name].options for word in option.names.split()]
    assert sorted(names) == sorted(set(names))
    assert all(re.fullmatch(r"-[\w?]|--[a-zA-Z0-9][\w-]+", word) for word in names)


@ON_GETOPT
def test_unique_abbreviations_are_understood(name: str) -> None:
    table = GETOPTS[name]
    longs = {
        word: option
        for option in table.options
        for word in option.names.split()
        if word.startswith("--")
    }
    for word, option in longs.items():
        for end in range(3, len(word) + 1):
            short = word[:end]
            others = {id(o) for other, o in longs.items() if other.startswith(short)}
            wants = longs.get(short, option).want is Want.YES
            parsed = table.parse([short, "VALUE"] if wants else [short])
            if short in longs or len(others) == 1:
                assert not parsed.wrong, short
            else:
                assert parsed.wrong == short


def test_no_suffix_is_both_known_and_foreign() -> None:
    assert not compiler_options.FOREIGN_SUFFIXES & set(compiler_options.SUFFIXES)


def one_of(family: Family) -> str:
    """A tool of that family."""
    return next(tool for tool in (family.name, *NAMED) if find(tool) is family)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family.name))
def test_every_family_finds_its_module(family: Family) -> None:
    """It is imported when it is first needed, by a name that only this test looks at."""
    nothing: dict[str, str] = {}
    assert isinstance(
        family.analyse(Invocation((one_of(family),), "/", nothing.get, FakeFiles({}))), Analysis
    )


@pytest.mark.parametrize(
    ("name", "tools"), [("watcom", watcom.TOOLS), ("launcher", launchers.QUERIES)]
)
def test_tools_with_tables_of_their_own_are_of_their_family(
    name: str, tools: Mapping[str, object]
) -> None:
    for tool in tools:
        family = find(tool)
        assert family is not None
        assert family.name == name


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(commands.__path__)])
def test_what_stands_in_tables_and_sets_hashes_in_c(name: str) -> None:
    module = importlib.import_module(f"smpmake.commands.{name}")
    for value in vars(module).values():
        if isinstance(value, enum.EnumType) and value.__module__ == module.__name__:
            assert isinstance(value.__hash__, types.WrapperDescriptorType), value


def test_patterns_compile_and_families_have_names_of_their_own() -> None:
    names = [family.name for family in FAMILIES]
    assert len(names) == len(set(names))
    for family in FAMILIES:
        re.compile(family.pattern)
    for pattern in (*probes.FILE_NAMES, *probes.FOLDER_NAMES):
        re.compile(pattern)
