"""Rust's tools get a job server: with their processes, too, there are no more than slots (P6)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support import needs
from tests.support.counting import counting_launcher, most_at_once
from tests.support.space import SMPMAKE, Space
from tests.support.variants import often

#: Says which tokens it can have, one of which it keeps when it ends.
CARGO = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *flags = getenv("CARGO_MAKEFLAGS");
    int from, to, wanted = argc > 1 ? atoi(argv[1]) : 0;
    char token;
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
        if (read(from, &token, 1) != 1)
            return 1;
    fcntl(from, F_SETFL, O_NONBLOCK);
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


def test_who_has_a_number_or_a_server_keeps_it(space: Space, cargo: Path) -> None:
    """cargo would say that it does not take the number."""
    assert space.smpmake("-j3", "--", str(cargo), "0", "-j2").out == "none\n"
    assert space.smpmake("-j3", "--", str(cargo), "0", "--jobs", "2").out == "none\n"
    env = ("env", "CARGO_MAKEFLAGS=--jobserver-auth=3,4")
    assert space.smpmake("-j3", "--", *env, str(cargo)).out == "--jobserver-auth=3,4\n"


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
