"""Rust's tools get a job server: with their processes, too, there are no more than slots (P6)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import needs
from tests.support.counting import counting_launcher, most_at_once
from tests.support.space import SMPMAKE, Space
from tests.support.variants import often

#: Says which tokens it can have, one of which it keeps when it ends.  A read that finds none is not
#: to wait: lto1 of gcc 13 and newer, below a build script, goes on only when it is told so.
#: "again" is for who becomes himself first, as a stranger; "words" for who is to say what he was
#: given.
CARGO = r"""
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *flags = getenv("CARGO_MAKEFLAGS");
    int from, to, wanted = argc > 1 ? atoi(argv[1]) : 0;
    char token;
    if (wanted == 0 && argc > 1 && strcmp(argv[1], "again") == 0) {
        unsetenv("CARGO_MAKEFLAGS");
        return execv("/proc/self/exe", (char *[]){argv[0], argv[2], NULL});
    }
    if (argc > 1 && strcmp(argv[1], "words") == 0) {
        for (int i = 1; i < argc; i++)
            puts(argv[i]);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "count") == 0) {
        for (char **each = environ; *each != NULL; each++)
            wanted += strncmp(*each, "CARGO_MAKEFLAGS=", 16) == 0;
        printf("%d\n", wanted);
        return 0;
    }
    if (flags == NULL) {
        puts("none");
        return 0;
    }
    if (strncmp(flags, "-j --jobserver-", 15) != 0 ||
        sscanf(strstr(flags, "-auth="), "-auth=%d,%d", &from, &to) != 2) {
        puts(flags);
        return 0;
    }
    for (int i = 0; i < wanted; i++)
        if (poll(&(struct pollfd){from, POLLIN, 0}, 1, -1) != 1 || read(from, &token, 1) != 1)
            return 1;
    puts(read(from, &token, 1) == 1 ? "more" : "no more");
    return 0;
}
"""
MEMBERS = [f"c{n}" for n in range(4)]
CRATES = {
    "Cargo.toml": f"[workspace]\nmembers = {MEMBERS}\nresolver = '2'\n".replace("'", '"'),
    **{
        f"{name}/Cargo.toml": f'[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'
        for name in MEMBERS
    },
    **{f"{name}/src/lib.rs": "pub fn one() -> u32 { 1 }\n" for name in MEMBERS},
    # One after the other, and looked at: they wait, and hold what cargo has given them.
    "c0/build.rs": 'fn main() {\n    for name in ["a", "b"] {\n'
    '        let out = std::env::var("OUT_DIR").unwrap();\n'
    '        let status = std::process::Command::new("gcc")\n'
    '            .args(["-c", &format!("{name}.c"), "-o", &format!("{out}/{name}.o")])\n'
    "            .stdout(std::process::Stdio::piped()).status().unwrap();\n"
    "        assert!(status.success());\n    }\n}\n",
    "c0/a.c": "int a;\n",
    "c0/b.c": "int b;\n",
}


@pytest.fixture
def cargo(space: Space) -> Path:
    """A program of that name."""
    needs.require("gcc")
    source = space.root / "cargo.c"
    source.write_text(CARGO)
    space.ok("gcc", "-o", str(space.root / "cargo"), str(source))
    return space.root / "cargo"


@pytest.mark.parametrize(("slots", "lent"), [(1, 0), (2, 1), (4, 3)])
def test_what_is_idle_is_lent(space: Space, cargo: Path, slots: int, lent: int) -> None:
    ended = space.smpmake(f"-j{slots}", "--", str(cargo), str(lent))
    assert (ended.status, ended.out) == (0, "no more\n"), ended.err
    space.expect_clean()


def test_who_ends_without_giving_back_has_nothing_any_more(space: Space, cargo: Path) -> None:
    script = f"{cargo} 2; {cargo} 2; {cargo} 2"
    ended = space.smpmake("-j3", "--", "sh", "-c", script)
    assert ended.out == "no more\n" * 3, ended.err


def said(space: Space, *lines: str) -> list[str]:
    """What each line of a script prints, with three slots."""
    ended = space.smpmake("-j3", "--", "sh", "-c", "\n".join(lines))
    assert "internal error" not in ended.err
    return ended.out.splitlines()


def test_who_has_a_number_keeps_it(space: Space, cargo: Path) -> None:
    """cargo would say that it does not take the number."""
    numbers = ("-j2", "-j 2", "--jobs 2", "--jobs=2", "-qj2", "-vrj 2", "-j")
    others = ("-pjson", "-qpj", "-- -j2", "-q", "--job")
    assert said(space, *(f"{cargo} 2 {words}" for words in numbers)) == ["none"] * len(numbers)
    assert said(space, *(f"{cargo} 2 {words}" for words in others)) == ["no more"] * len(others)


def test_a_variable_may_be_a_number(space: Space, cargo: Path) -> None:
    lines = [f"CARGO_BUILD_JOBS={number} {cargo} 2" for number in ("1", "")]
    assert said(space, *lines) == ["none", "no more"]


def test_who_has_a_server_keeps_it(space: Space, cargo: Path) -> None:
    fifo = space.root / "fifo"
    named = f"-j --jobserver-auth=fifo:{fifo}"
    variables = ("CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS")
    lines = [f"{each}='{named}' {cargo} 2" for each in variables]
    os.mkfifo(fifo)
    assert said(space, *lines) == [named, "none", "none"]
    fifo.unlink()
    assert said(space, *lines) == ["no more"] * 3


def test_descriptors_that_were_not_passed_are_no_server(space: Space, cargo: Path) -> None:
    """make names them all the same, but to its own kind."""
    os.mkfifo(space.folder / "fifo")
    line = f"CARGO_MAKEFLAGS='-k --jobserver-auth=8,9' {cargo} 2"
    lines = ("exec 7<> fifo", f"{line} 8<&7 9>&7", f"{line} 9>&7")
    assert said(space, *lines) == ["-k --jobserver-auth=8,9", "no more"]


def test_the_variable_is_there_once(space: Space, cargo: Path) -> None:
    had = ("", "-k", "-k --jobserver-auth=8,9")
    lines = [f"CARGO_MAKEFLAGS='{each}' {cargo} count" for each in had]
    assert said(space, *lines) == ["1"] * 3


def test_who_asks_again_is_given_the_same(space: Space, cargo: Path) -> None:
    """As rustup's cargo does, which becomes the real one, and its like that drop variables."""
    assert said(space, *[f"{cargo} again 2"] * 2) == ["no more"] * 2
    space.expect_clean()


def test_the_interpreter_of_a_script_has_its_words_once(space: Space, cargo: Path) -> None:
    space.write({"script": f"#!{cargo} words\n"})
    (space.folder / "script").chmod(0o755)
    assert said(space, "./script a b") == ["words", "./script", "a", "b"]


def test_who_may_open_few_files_has_them_low(space: Space, cargo: Path) -> None:
    lines = [f"(ulimit -n {files}; {cargo} 2)" for files in (300, 64, 32)]
    assert said(space, *lines) == ["no more"] * 3


def test_a_process_in_another_namespace(space: Space, cargo: Path) -> None:
    """Where its number is another one: that of a process that lives on."""
    if space.run("unshare", "-fp", "true").status != 0:
        pytest.skip("no namespaces of processes here")
    assert said(space, f"unshare -fp {cargo} 2", f"{cargo} 2") == ["no more"] * 2


def test_without_a_session_nothing_is_different(space: Space, cargo: Path) -> None:
    assert space.run(str(cargo)).out == "none\n"
    assert space.smpmake("--no-guard", "-j3", "--", str(cargo)).out == "none\n"


def test_below_a_make_with_a_job_server_none_is_lent(space: Space, cargo: Path) -> None:
    smp = space.root / "smp"
    smp.symlink_to(SMPMAKE)
    space.write({"Makefile": f"all:\n\t+@{smp} -q -j3 -- {cargo}\n"})
    assert space.run("make", "-s", "-j3").out == "no more\n"


@pytest.mark.slow
@pytest.mark.parametrize("slots", often([1], [1, 2, 4]))
def test_p6_with_the_real_cargo(space: Space, slots: int) -> None:
    needs.require("cargo")
    space.environment["RUSTC_WRAPPER"] = str(counting_launcher(space))
    space.environment["CARGO_HOME"] = str(space.root / "cargo-home")
    space.write(CRATES)
    ended = space.smpmake(f"-j{slots}", "--", "cargo", "build", "--offline")
    assert ended.status == 0, ended.err
    assert "warning" not in ended.err, ended.err
    assert len(os.listdir(space.root / "counts")) > len(MEMBERS)
    assert most_at_once(space) <= slots
    assert len(list(space.folder.glob("target/debug/build/c0-*/out/[ab].o"))) == 2
    assert sorted(os.listdir(space.root / "at-work")) == []
    space.expect_clean()
