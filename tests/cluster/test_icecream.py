"""What icecream's scheduler and its client say."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from smpmake.cluster import icecream
from smpmake.cluster.farm import ClusterError
from smpmake.cluster.icecream import Icecream, scheduler_of, slots_of

LISTED = """\
200-ICECC 1.4.0: 36s uptime, 3 hosts, 0 jobs in queue (0 total).
200 Use 'help' for help and 'quit' to quit.
 there (10.0.0.2:10245) [x86_64] speed=0.00 jobs=0/8 load=94
 busy.example (10.0.0.3:10245) [x86_64] speed=58.12 jobs=3/4 load=494
 here (10.0.0.1:10245) [x86_64] speed=0.00 jobs=0/2 load=94
 selfish (10.0.0.4:0) [x86_64] speed=0.00 jobs=0/16 load=94
200 done
"""
SENT = """\
ICECC[1] 2026-01-01 00:00:00: asking for host to use
ICECC[1] 2026-01-01 00:00:00: Have to use host 10.0.0.2:10245 - Job ID: 10 - env: x86_64
ICECC[1] 2026-01-01 00:00:00: <write_fd_to_server from cpp>
"""
GONE = "ICECC[1] 2026-01-01 00:00:00: sent 129714 bytes (24%)\n"
HERE = "ICECC[1] 2026-01-01 00:00:00: local build forced by remote exception: Error 102\n"


def test_what_other_machines_take() -> None:
    assert slots_of(LISTED, "here") == 12
    assert slots_of(LISTED, "elsewhere") == 14
    assert slots_of("200 done\n", "here") == 0


@pytest.mark.parametrize(
    ("log", "sent", "host"),
    [
        (None, None, ""),
        ("", None, ""),
        (SENT, None, "10.0.0.2:10245"),
        (SENT + GONE, True, "10.0.0.2:10245"),
        (SENT + GONE + HERE, False, "10.0.0.2:10245"),
        ("ICECC[1]: building myself, but telling localhost\n", False, ""),
    ],
)
def test_how_far_a_compile_is(
    tmp_path: Path, log: str | None, sent: bool | None, host: str
) -> None:
    client = Icecream("/usr/bin/icecc", "")
    state = client.prepare(tmp_path)
    if log is not None:
        (state / "log").write_text(log)
    assert client.is_sent(tmp_path) is sent
    assert client.host_of(tmp_path) == host
    client.prepare(tmp_path)
    assert client.is_sent(tmp_path) is None


def test_where_the_scheduler_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ICECC_SCHEDULER", "USE_SCHEDULER"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "icecc.conf"
    assert scheduler_of(str(file)) == "127.0.0.1"
    file.write_text('# ICECC_SCHEDULER_HOST="no"\nICECC_SCHEDULER_HOST=""\n')
    assert scheduler_of(str(file)) == "127.0.0.1"
    file.write_text('ICECC_NETNAME=""\nICECC_SCHEDULER_HOST="far"\n')
    assert scheduler_of(str(file)) == "far"
    monkeypatch.setenv("USE_SCHEDULER", "farther")
    assert scheduler_of(str(file)) == "farther"


def test_a_scheduler_that_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def answer() -> None:
            line, _ = server.accept()
            with line:
                assert line.recv(100) == b"listcs\n"
                for part in (LISTED[:100], LISTED[100:]):
                    line.sendall(part.encode())

        thread = threading.Thread(target=answer)
        thread.start()
        (host,) = icecream.hosts(f"127.0.0.1:{port - 1}")
        thread.join()
    assert (host.name, host.slots >= 12) == ("icecream", True)
    with pytest.raises(ClusterError, match="does not answer"):
        icecream.hosts(f"127.0.0.1:{port - 1}")
