"""The command line: which command is meant, settings, their sources, and errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import pytest

from smpmake import __version__, cpus, exports, native
from smpmake.cli import closing, early, guarded, main
from smpmake.cli.exit import BySignal
from smpmake.cli.folder import part
from smpmake.cli.group import group, insert_run, parsed
from smpmake.cli.names import COMMANDS
from smpmake.cli.run import run
from smpmake.cli.settings import settings_from
from smpmake.config import ConfigError, Settings, load, merge
from smpmake.console import use_color
from smpmake.history import History
from tests.support.made import build
from tests.support.space import MAIN, SMPMAKE, Space, objects

if TYPE_CHECKING:
    from smpmake.session.early_start import EarlyStart

VALUES = {"-j", "--jobs", "--color"}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("make", "run make"),
        ("make -j4 --version", "run make -j4 --version"),
        ("-j 3 make -k", "run -j 3 make -k"),
        ("-j3 -k make", "run -j3 -k make"),
        ("--color never make", "run --color never make"),
        ("--color=never make", "run --color=never make"),
        ("-- why", "run -- why"),
        ("-j 2 -- make -q", "run -j 2 -- make -q"),
        ("run why", "run why"),
        ("-k run stop", "run -k stop"),
        ("env", "env"),
        ("env --socket x", "env --socket x"),
        ("env --socket=x --help", "env --socket=x --help"),
        ("env CC=clang make", "run env CC=clang make"),
        ("-k env -i make", "run -k env -i make"),
        ("env --socket x make", "run env --socket x make"),
        ("why", "why"),
        ("doctor --no-probe", "doctor --no-probe"),
        ("--help", "--help"),
        ("--version", "--version"),
        ("-V", "-V"),
        ("make -V", "run make -V"),
        ("./build.sh --help", "run ./build.sh --help"),
        ("-j", "run -j"),
        ("", ""),
    ],
)
def test_our_options_end_at_the_first_word_that_is_not_one(given: str, meant: str) -> None:
    assert insert_run(given.split(), VALUES) == meant.split()


@pytest.mark.parametrize(
    ("given", "folders", "rest"),
    [
        ("-C sub make -C other", ["sub"], "make -C other"),
        ("-Csub -j 2 -C deep make", ["sub", "deep"], "-j 2 make"),
        ("run -C sub make", ["sub"], "run make"),
        ("-k run -C sub run -C x", ["sub"], "-k run run -C x"),
        ("-- -C sub", [], "-- -C sub"),
        ("-j -C make", [], "-j -C make"),
        ("-C sub report", ["sub"], "report"),
    ],
)
def test_folders_to_change_to(given: str, folders: list[str], rest: str) -> None:
    parted = part(given.split())
    assert parted.folders == folders
    assert [given.split()[at] for at in parted.kept] == rest.split()


def slots_of_last(space: Space) -> int:
    return History(space.root / "state" / "smpmake" / "history.db").heads()[0].slots


@pytest.mark.slow
def test_a_build_in_a_folder(space: Space) -> None:
    space.write({"a/b/Makefile": "all: f0.o\n", "a/b/f0.c": "int x;\n"})
    space.write({"a/b/.smpmake.toml": "jobs = 3\n"})
    ended = space.smpmake("-C", "a", "-Cb", "make")
    assert ended.status == 0, ended.err
    assert slots_of_last(space) == 3
    assert (space.folder / "a/b/f0.o").exists()
    assert space.smpmake("-C", "a/b", "report").out.startswith("make\n")
    for words in (["-C", "none", "make"], ["-C", "none", "report"]):
        wrong = space.smpmake(*words)
        assert (wrong.status, wrong.err) == (125, "smpmake: -C none: No such file or directory\n")
    assert space.smpmake("-C").err == "smpmake: -C needs a folder: smpmake -C DIR COMMAND\n"


@pytest.mark.slow
def test_help_and_version(space: Space) -> None:
    shown = space.smpmake("--help")
    assert shown.status == 0
    for variable in ("JOBS", "KEEP_GOING", "FOREGROUND", "EXCLUSIVE"):
        assert f"SMPMAKE_{variable}" in shown.out.replace("\n", "").replace(" ", "")
    for variable in ("OUTPUT_SYNC", "VERBOSE", "QUIET", "COLOR"):
        assert f"SMPMAKE_{variable}" in shown.out
    for word in ("--version", "-V"):
        said = f"smpmake {__version__} (build {native.build_id()})\n"
        assert space.smpmake(word).out == said
    assert space.smpmake("run", "--help").status == 0
    assert space.smpmake().status == 0 or "Usage" in space.smpmake().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-j", "-1", "make"], ["-j", "'-1'", "0 for all usable CPUs"]),
        (["-j", "many", "make"], ["'many'", "1 to 4096", "0 for all usable CPUs"]),
        (["--color", "perhaps", "make"], ["perhaps", "always", "never"]),
        (["--no-such-option", "make"], ["--no-such-option"]),
        (["-j4"], ["COMMAND"]),
        (["--remote", "7777", "make"], ["7777"]),
        (["--recipes=some", "make"], ['\'some\' must be one of "off", "understood"']),
        (["shims", "install"], ["DIR"]),
    ],
)
def test_usage_errors_have_our_own_status(
    space: Space, arguments: list[str], words: list[str]
) -> None:
    ended = space.smpmake(*arguments)
    assert ended.status == 125
    for word in words:
        assert word in ended.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["-j", "x", "make"], "smpmake"),
        (["run", "-j", "x", "make"], "smpmake run"),
        (["-k", "run", "-j", "x"], "smpmake run"),
        (["report", "--jsn"], "smpmake report"),
    ],
)
def test_errors_name_what_was_typed(space: Space, arguments: list[str], name: str) -> None:
    ended = space.smpmake(*arguments)
    assert len(ended.err.splitlines()) == 1
    assert ended.err.endswith(f" (see {name} --help)\n"), ended.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "environ", "says"),
    [
        (
            ["-j", "x", "make"],
            {},
            "--jobs: 'x' must be a whole number from 1 to 4096, or 0 for all",
        ),
        (["make"], {"SMPMAKE_JOBS": "x"}, "SMPMAKE_JOBS: 'x' must be a whole number from 1 to"),
        (["--output-sync=x", "make"], {}, '--output-sync: \'x\' must be one of "live", "serial" ('),
        (["make"], {"SMPMAKE_OUTPUT_SYNC": "x"}, "SMPMAKE_OUTPUT_SYNC: 'x' must be one of"),
        (["make"], {"SMPMAKE_KEEP_GOING": "x"}, "SMPMAKE_KEEP_GOING: 'x' is not a valid boolean"),
        (["-q"], {}, "COMMAND is missing (see smpmake --help)"),
        (["report", "--rows", "0"], {}, "--rows: '0' must be a whole number, at least 1 ("),
        (["report", "x"], {}, "BUILD: 'x' must be a build: a number that smpmake history shows"),
        (["completion", "tcsh"], {}, "SHELL: 'tcsh' is not one of 'bash', 'fish', 'zsh' ("),
        (["export", "x"], {}, "No such command 'x' (see smpmake export --help)"),
    ],
)
def test_usage_errors_are_one_line(
    space: Space, arguments: list[str], environ: dict[str, str], says: str
) -> None:
    ended = space.smpmake(*arguments, **environ)
    assert ended.status == 125
    assert len(ended.err.splitlines()) == 1
    assert ended.err.startswith(f"smpmake: {says}"), ended.err


def every_command() -> Iterator[tuple[str, click.Command]]:
    yield "smpmake", run
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from command.commands.items()


@pytest.mark.parametrize(("name", "command"), list(every_command()))
def test_help_is_whole_and_in_words(name: str, command: click.Command) -> None:
    context = click.Context(command, max_content_width=100, terminal_width=100)
    text = command.get_help(context)
    for mark in ("INTEGER", "TEXT", "RANGE", "x>=", "<=", "..."):
        assert mark not in text.replace("COMMAND...", "").replace("[ARGS]...", ""), text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--jbos", "smpmake: no such option: --jbos; did you mean --jobs? (see smpmake --help)\n"),
        ("--no-such", "smpmake: no such option: --no-such (see smpmake --help)\n"),
        ("--frobnicate", "smpmake: no such option: --frobnicate (see smpmake --help)\n"),
    ],
)
def test_only_what_is_near_is_suggested(space: Space, option: str, says: str) -> None:
    assert space.smpmake(option, "make").err == says


@pytest.mark.slow
def test_no_jobs_are_as_many_as_there_are_cpus(space: Space) -> None:
    space.write({**objects(1), ".smpmake.toml": "jobs = 1\n"})
    assert space.smpmake("sh", "-c", "gcc -c f0.c").status == 0
    assert space.smpmake("-j0", "sh", "-c", "gcc -c f0.c").status == 0
    assert space.smpmake("sh", "-c", "gcc -c f0.c", SMPMAKE_JOBS="0").status == 0
    heads = History(space.root / "state" / "smpmake" / "history.db").heads()
    assert [head.slots for head in heads] == [cpus.usable().count] * 2 + [1]


@pytest.mark.slow
def test_help_is_quick_because_it_imports_little() -> None:
    """Not a time: what makes it slow is absent.  (docs/benchmarks.md has the time.)"""
    code = (
        "import sys\nfrom smpmake.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'asyncio', 'psutil', 'sqlite3', 'smpmake.engine'} & sys.modules.keys()\n"
        "print(heavy, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "set()"


@pytest.mark.slow
@pytest.mark.parametrize("build", [["true"], ["-q", "sh", "-c", "gcc -c f0.c"]])
def test_a_build_does_not_pay_for_reports(space: Space, build: list[str]) -> None:
    """What lays reports out is for whoever asks for one: no build imports it, to its very end."""
    space.write(objects(1))
    code = (
        "import sys\nfrom smpmake.cli import main\n"
        f"try: main({build!r})\nexcept SystemExit as end: assert end.code == 0, end.code\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted({'rich', 'jinja2', 'smpmake'} & names))\n"
    )
    assert space.ok(sys.executable, "-c", code).out == "['smpmake']\n"


def test_project_file_wins_over_the_users_and_lists_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, project = tmp_path / "config" / "smpmake", tmp_path / "project" / "deep"
    user.mkdir(parents=True)
    project.mkdir(parents=True)
    (user / "config.toml").write_text('jobs = 2\nremote = 5\nforeground = ["a"]\n')
    (tmp_path / "project" / ".smpmake.toml").write_text(
        'jobs = 7\nrecipes = "off"\nforeground = ["b"]\nkeep-going = true\n'
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    settings = load(project)
    assert (settings.jobs, settings.remote, settings.recipes) == (7, 5, "off")
    assert settings.foreground == ("a", "b")
    assert settings.keep_going
    monkeypatch.setenv("XDG_CONFIG_HOME", "/dev/null")
    assert load(tmp_path).jobs == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("job = 3", ["unknown key 'job'", "did you mean 'jobs'?"]),
        ("color-scheme = 3", ["unknown key 'color-scheme' (known: check, color"]),
        ("keep_going = true", ["unknown key 'keep_going'", "did you mean 'keep-going'?"]),
        ("jobs = -1", ["'jobs' is -1", "whole number"]),
        ("jobs = true", ["'jobs' is True"]),
        ('color = "later"', ["'color' is 'later'", '"auto"']),
        ("foreground = 3", ["list of tool names"]),
        ("history-size = 0", ["at least 1"]),
        ("jobs = ", ["not TOML"]),
        ("\udcff", ["not UTF-8"]),
    ],
)
def test_errors_in_a_file_name_file_key_and_remedy(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    path = tmp_path / ".smpmake.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ConfigError) as raised:
        merge(Settings(), path)
    for word in [str(path), *words]:
        assert word in str(raised.value)


@pytest.mark.slow
def test_a_bad_file_is_an_error_of_ours_before_anything_runs(space: Space) -> None:
    space.write({".smpmake.toml": "jbos = 3\n"})
    ended = space.smpmake("touch", "ran")
    assert ended.status == 125
    assert "did you mean 'jobs'?" in ended.err
    assert "ran" not in space.tree()


@pytest.mark.slow
def test_the_command_line_wins_over_the_environment_over_the_file(space: Space) -> None:
    space.write({**objects(2), "main.c": MAIN, ".smpmake.toml": 'foreground = ["gcc"]\njobs = 3\n'})
    by_file = space.smpmake("-v", "sh", "-c", "gcc -c f0.c")
    assert "1  user-foreground" in by_file.err
    space.write({".smpmake.toml": "jobs = 3\n"})
    space.write({"count.sh": "echo\n"})
    assert space.smpmake("sh", "-c", "gcc -c f0.c", SMPMAKE_JOBS="5").status == 0
    assert slots_of_last(space) == 5
    assert space.smpmake("-j7", "sh", "-c", "gcc -c f0.c", SMPMAKE_JOBS="5").status == 0
    assert slots_of_last(space) == 7
    pattern = space.smpmake("--foreground", "/usr/*/g?c", "-v", "sh", "-c", "gcc -c f1.c")
    assert "1  user-foreground" in pattern.err


@pytest.mark.parametrize(
    ("choice", "terminal", "environment", "expected"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", False, {"FORCE_COLOR": "1"}, True),
        ("auto", False, {"CLICOLOR_FORCE": "1"}, True),
        ("auto", True, {"CLICOLOR": "0"}, False),
        ("auto", True, {"TERM": "dumb"}, False),
    ],
)
def test_colours(choice: str, terminal: bool, environment: dict[str, str], expected: bool) -> None:
    assert use_color(choice, terminal, environment) is expected


@pytest.mark.slow
def test_summary_quiet_and_verbose(space: Space) -> None:
    space.write(objects(2))
    script = "gcc -c f0.c; gcc -c f1.c; gcc -E -x c - < f0.c > /dev/null"
    normal = space.smpmake("sh", "-c", script)
    for word in ("commands", "CPU ", "slowest", "memory", "2 in parallel, 1 in place"):
        assert word in normal.err
    quiet = space.smpmake("-q", "sh", "-c", script)
    assert len(quiet.err.splitlines()) == 1
    verbose = space.smpmake("-v", "sh", "-c", script)
    assert "1  reads-stdin: reads its source from standard input" in verbose.err
    why = space.smpmake("why")
    assert "1  reads-stdin" in why.out
    assert "gcc -E -x c -" in why.out


@pytest.mark.slow
@pytest.mark.parametrize("quiet", [False, True])
def test_ninja_is_parallel_already(space: Space, quiet: bool) -> None:
    tool = space.folder / "ninja"
    tool.write_text("#!/bin/sh\ngcc -c f0.c\n")
    tool.chmod(0o755)
    space.write(objects(1))
    said = space.smpmake(*(["-q"] if quiet else []), "./ninja").err
    first = "smpmake: ninja is parallel already: smpmake gains nothing with it"
    assert (said.splitlines()[0] == first) is not quiet


@pytest.mark.slow
def test_why_without_a_history(space: Space) -> None:
    ended = space.smpmake("why")
    assert ended.status == 125
    assert "No build is in the history" in ended.err


@pytest.mark.slow
def test_a_damaged_history_does_not_stop_a_build(space: Space) -> None:
    path = space.root / "state" / "smpmake" / "history.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database" * 100)
    space.write(objects(1))
    ended = space.smpmake("sh", "-c", "gcc -c f0.c")
    assert ended.status == 0
    assert "not in the history" in ended.err
    assert str(path) in ended.err


@pytest.mark.slow
def test_exclusive(space: Space) -> None:
    tool = space.root / "tools" / "gcc"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\ntouch a.o\n")
    tool.chmod(0o755)
    space.environment["PATH"] = f"{tool.parent}:{space.environment['PATH']}"
    space.write({"a.c": ""})
    assert space.smpmake("--exclusive", "gcc", "sh", "-c", "gcc -c a.c").status == 0


def test_the_entry_point_is_beside_the_interpreter() -> None:
    assert Path(SMPMAKE).exists()


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(space: Space, closed: str) -> None:
    space.write({**objects(2), "bad.c": "int x = oops;\n"})
    good = space.run("sh", "-c", f"{SMPMAKE} sh -c 'gcc -c f0.c; gcc -c f1.c' {closed}")
    assert good.status == 0, good.err
    assert {"f0.o", "f1.o"} <= set(space.tree())
    assert space.run("sh", "-c", f"{SMPMAKE} sh -c 'gcc -c bad.c' {closed}").status == 1
    space.expect_clean()


@pytest.mark.slow
def test_a_folder_that_is_gone(space: Space) -> None:
    space.write({"sub/x": ""})
    script = f"cd sub; rm -r ../sub; exec {SMPMAKE} gcc -dumpversion"
    ended = space.run("sh", "-c", script)
    assert ended.status == 0
    assert ended.out.strip().isdigit()
    assert "running the build plainly" in ended.err


@pytest.mark.slow
def test_a_reader_that_goes_away(space: Space) -> None:
    """`smpmake make | head -1`: the jobs' files are made, nothing hangs."""
    space.write({f"w{n}.c": "int f(void) { int unused; return 0; }\n" for n in range(4)})
    script = "; ".join(f"gcc -Wall -c w{n}.c" for n in range(4))
    ended = space.run("sh", "-c", f"{SMPMAKE} sh -c 'echo one; {script}' 2>&1 | head -1")
    assert ended.out == "one\n"
    assert {f"w{n}.o" for n in range(4)} <= set(space.tree())
    space.expect_clean()


def test_export_ninja_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "smpmake.exports.ninja", raising=False)
    monkeypatch.delattr(exports, "ninja", raising=False)
    monkeypatch.setitem(sys.modules, "ninja_syntax", None)
    with pytest.raises(SystemExit) as ended:
        main(["export", "ninja"])
    assert ended.value.code == 125
    assert "pip install ninja-syntax" in capsys.readouterr().err


def test_the_parser_makes_the_same_of_a_plain_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it gives besides is what `settings_from` leaves out."""
    seen: list[tuple[dict[str, Any], list[str]]] = []

    def note(options: dict[str, Any], command: list[str]) -> int:
        seen.append((options, command))
        return 7

    monkeypatch.setattr("smpmake.cli.early.start", note)
    words = ["make", "-j2", "--", "all", "--help"]
    assert parsed(words) == 7
    ((options, command),) = seen
    assert command == words
    assert settings_from(options) == settings_from({})


@pytest.mark.slow
@pytest.mark.parametrize("words", [["history"], ["doctor"], ["--help"], ["--version"]])
def test_who_reads_no_more_ends_us_as_any_tool(space: Space, words: list[str]) -> None:
    space.smpmake("false")
    end, nobody_reads = os.pipe()
    os.close(end)
    ended = subprocess.run(
        [SMPMAKE, *words], stdout=nobody_reads, env=space.environment, cwd=space.folder, check=False
    )
    os.close(nobody_reads)
    assert ended.returncode == -signal.SIGPIPE


@pytest.mark.slow
@pytest.mark.parametrize("words", [["history"], ["doctor"], ["--help"], ["history", "--json"]])
def test_an_answer_that_cannot_be_written_is_no_success(space: Space, words: list[str]) -> None:
    space.smpmake("false")
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [SMPMAKE, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            env=space.environment,
            cwd=space.folder,
            check=False,
        )
    said = b"smpmake: the answer could not be written: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (125, said)


@pytest.mark.parametrize(
    ("error", "number"), [(KeyboardInterrupt, signal.SIGINT), (BrokenPipeError, signal.SIGPIPE)]
)
def test_what_a_signal_ends_is_ended_by_it(error: type[BaseException], number: int) -> None:
    def ends() -> int:
        raise error

    status = guarded(ends)
    assert isinstance(status, BySignal) and status == 128 + number


@pytest.mark.parametrize("word", ["history", "doctor"])
def test_an_interrupted_command_is_ended_by_the_signal(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """Whatever click makes of it."""

    def interrupted(*_args: object, **_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(click.Command, "invoke", interrupted)
    status = guarded(lambda: parsed([word]))
    assert isinstance(status, BySignal) and status == 128 + signal.SIGINT


@pytest.mark.parametrize(
    "words",
    ["report", "history", "why", "doctor", "compare", "export ninja", "check make", "serve"],
)
def test_a_folder_that_has_been_removed(tmp_path: Path, words: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        ["sh", "-c", script, "sh", str(gone), SMPMAKE, *words.split()],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr == "smpmake: the current folder is gone: change to another one\n"


def test_a_misspelt_variable_is_told(space: Space) -> None:
    """It does nothing; variables of others that begin the same are none of ours."""
    done = space.smpmake("true", SMPMAKE_JOSB="3", SMPMAKE_TESTS_FULL="1", SMPMAKE_SERVER="x")
    assert done.err == (
        "smpmake: SMPMAKE_JOSB is no variable of smpmake: did you mean SMPMAKE_JOBS?\n"
    )


def test_a_status_format_is_told_where_it_stands(space: Space) -> None:
    wrong = "'%z' is no placeholder (known: "
    assert space.smpmake("true", SMPMAKE_STATUS="%z").err.startswith(
        f"smpmake: SMPMAKE_STATUS: {wrong}"
    )


def test_settings_are_told_by_their_options(space: Space) -> None:
    space.write({"a.c": ""})
    assert space.smpmake("--output-sync=serial", "sh", "-c", "gcc -c a.c").status == 0
    assert "output-sync=serial" in space.smpmake("report").out


class Over:
    """A build that began long ago, and in which nobody asked for anything."""

    began = 0

    def close(self) -> None:
        """It has nothing open."""


@pytest.mark.parametrize(("verbosity", "lines"), [(0, 1), (-1, 0)])
def test_q_says_nothing_of_a_build_in_which_nothing_was_parallel(
    verbosity: int,
    lines: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """However long the machine took for it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    settings = Settings(verbosity=verbosity)
    early._end(cast("EarlyStart", Over()), settings, ["make"])
    assert capsys.readouterr().err.count("ran nothing in parallel") == lines
    said = closing._said(settings, build(wall=9), None, False)
    assert said.count(b"ran nothing in parallel") == lines
