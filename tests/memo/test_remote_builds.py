"""Whole builds with a server of remembered results."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.remembered import CONFIGURE_BEGIN
from tests.support.results_server import Reply, ResultsServer
from tests.support.space import Space

CONFIGURE: Final = f"{CONFIGURE_BEGIN}rm -f conftest*\n"


def forget(space: Space) -> None:
    """Another machine begins so: there is no store."""
    shutil.rmtree(space.root / "cache" / "smpmake" / "memo")


def test_a_second_machine_gets_the_results_of_the_first(
    space: Space, server: ResultsServer
) -> None:
    options = (f"--memo-remote={server.url}",)
    files, command = {"configure": CONFIGURE}, ["sh", "./configure"]
    space.expect_same(files, command, *options)
    assert server.held == {}
    forget(space)
    space.clear()
    space.expect_same(files, command, *options, "--memo-push")
    assert len(server.names("ac")) == 2  # of what did not fail
    assert "2 results sent" in space.smpmake("memo").out
    forget(space)
    space.clear()
    space.expect_same(files, command, *options)
    shown = space.smpmake("memo").out
    assert "last build 2 results given back, 1 commands run" in shown
    assert "server     2 results received, 1 not there" in shown
    assert "; 0 errors\n" in shown


def test_a_build_tells_once_of_a_server_that_fails(space: Space, server: ResultsServer) -> None:
    server.instead = lambda method, path: Reply(401)
    space.write({"configure": CONFIGURE})
    url = server.url.replace("//", "//me:secret@")
    ended = space.smpmake("--memo=on", f"--memo-remote={url}", "sh", "./configure")
    assert ended.status == 0
    assert ended.err.count("401 Unauthorized") == 1
    assert "secret" not in ended.err


def test_a_project_names_no_server(space: Space, server: ResultsServer) -> None:
    space.write(
        {
            "configure": CONFIGURE,
            ".smpmake.toml": f'memo = "on"\nmemo-remote = "{server.url}"\nmemo-push = true\n',
        }
    )
    ended = space.smpmake("sh", "./configure")
    assert ended.status == 0
    assert "'memo-remote' is ignored (write it into your own config.toml)" in ended.err
    assert "'memo-push' is ignored" in ended.err
    assert server.asked == []


@pytest.mark.parametrize(
    "address", ["ftp://x/y", "http://", "cache", "http://x/y?z", "http://x:port/", "http://x y/"]
)
def test_an_address_that_is_none_is_refused(space: Space, address: str) -> None:
    ended = space.smpmake("--memo=on", f"--memo-remote={address}", "true")
    assert ended.status == 125
    assert "must be an address such as" in ended.err


def test_a_check_asks_nobody(space: Space, server: ResultsServer) -> None:
    space.write({"configure": CONFIGURE})
    space.smpmake("--memo=check", f"--memo-remote={server.url}", "--memo-push", "sh", "./configure")
    assert server.asked == []


UNDONE: Final = """\
exec < /dev/null
cksum conftest.o > before
echo 'int a;' > conftest.c
gcc -c conftest.c
cksum conftest.o > after
"""


def test_what_a_result_replaces_comes_back(space: Space, server: ResultsServer) -> None:
    """make goes on behind a failure, so all is undone and run again (test_builds.py): the result
    that came from the server, too."""
    for turn in range(2):
        bad = f"bad{turn}.c"
        makefile = f"all:\n\tsh ./checks\n\tgcc -c {bad}\n\techo never > never\n"
        files = {"Makefile": makefile, "checks": UNDONE, bad: "int bad(\n", "conftest.o": "older"}
        space.clear()
        options = ("--memo=on", f"--memo-remote={server.url}", "--memo-push")
        ended = space.expect_same(files, ["make"], *options)
        assert "make ran a second time" in ended.err, ended.err
        assert f"server     {turn} results received" in space.smpmake("memo").out
        assert f"last build {1 + turn} results given back" in space.smpmake("memo").out
        forget(space)


def test_certificates_are_looked_at(
    space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whole builds, which load most of Python's library later than the build begins."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    file = tmp_path / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
    extension = ("-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run(
        ["openssl", *words.split(), *extension, "-keyout", file, "-out", f"{file}.crt"],
        check=True,
        capture_output=True,
    )
    with open(file, "a", encoding="ascii") as both:
        both.write(Path(f"{file}.crt").read_text(encoding="ascii"))
    server = ResultsServer(file)
    try:
        space.write({"configure": CONFIGURE})
        build = ["--memo=on", f"--memo-remote={server.url}", "--memo-push", "sh", "./configure"]
        ended = space.smpmake(*build)
        assert (ended.status, server.asked) == (0, [])
        assert "CERTIFICATE_VERIFY_FAILED" in ended.err
        forget(space)
        ended = space.smpmake(*build, SSL_CERT_FILE=f"{file}.crt")
        assert (ended.status, ended.err.count("certificate")) == (0, 0)
        assert len(server.names("ac")) == 2
    finally:
        server.close()
