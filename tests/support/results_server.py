"""A server of remembered results: what is PUT can be had, as from nginx or bazel-remote."""

from __future__ import annotations

import hashlib
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple


class Reply(NamedTuple):
    """What the server says instead.

    length  that it tells of the body, if that is another than it has.
    """

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None


class ResultsServer:
    """Listens on the loopback until it is closed.

    held     what it has, by the path behind its address.
    asked    methods and paths of all requests.
    headers  of the last one.
    closes_after  so many requests of a connection it closes it without a word; 0: never.
    instead  what it says to a request, where it is not what such servers say.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        """certificate: a file with that and its key, for https."""
        self.held: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        self.headers: dict[str, str] = {}
        self.instead: Callable[[str, str], Reply | None] = lambda method, path: None
        self.closes_after = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1  # one packet for headers and body

            answered = 0

            def _say(self, reply: Reply) -> None:
                server.headers = dict(self.headers.items())
                self.send_response(reply.status)
                for name, value in reply.headers:
                    self.send_header(name, value)
                length = len(reply.body) if reply.length is None else reply.length
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(reply.body)
                self.answered += 1
                if reply.length is not None or self.answered == server.closes_after:
                    self.close_connection = True

            def do_GET(self) -> None:
                path = self.path.removeprefix("/results/")
                server.asked.append(("GET", path))
                usual = Reply(200, server.held[path]) if path in server.held else Reply(404)
                self._say(server.instead("GET", path) or usual)

            def do_PUT(self) -> None:
                path = self.path.removeprefix("/results/")
                data = self.rfile.read(int(self.headers["Content-Length"]))
                server.asked.append(("PUT", path))
                reply = server.instead("PUT", path)
                if reply is None:
                    kind, _, name = path.partition("/")
                    is_right = kind == "ac" or hashlib.sha256(data).hexdigest() == name
                    reply = Reply(200 if is_right else 400)
                    if is_right:
                        server.held[path] = data
                self._say(reply)

            def log_request(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}/results"

    def names(self, kind: str) -> list[str]:
        """What it has of a kind: "ac" or "cas"."""
        return [path.partition("/")[2] for path in self.held if path.startswith(f"{kind}/")]

    def close(self) -> None:
        """Nobody listens any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
