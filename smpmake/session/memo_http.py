"""A server of remembered results: plain HTTP, as bazel-remote and nginx speak it.

Loaded only where such a server is used: the standard library's HTTP takes long to load.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import netrc
import socket
import urllib.parse
import urllib.request
from http import HTTPStatus
from typing import Final

from smpmake.protocol import layout
from smpmake.session.action_result import Digest, MessageError, entries_of, message

_LARGEST_MESSAGE: Final = 1 << 20
#: What a server that has closed a connection between two requests makes of the next one.
_STALE: Final = (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected)


class ServerError(Exception):
    """The server does not do what it should; the message says what it does."""


#: What goes wrong between two machines.
FAULTS: Final = (OSError, http.client.HTTPException, ServerError, ValueError)


class Address:
    """Where a server is, as the user has written it, and how it is reached.  Raises ValueError."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port
        self.is_secret = parts.scheme == "https"
        self.path = parts.path.rstrip("/")
        place = parts.netloc.rpartition("@")[2]
        self.base = f"{parts.scheme}://{place}"
        self.headers: dict[str, str] = {}
        login = _login_in(parts) or _login_of(self.host)
        if login:
            self.headers["Authorization"] = f"Basic {_encoded(login)}"
        self.proxy: urllib.parse.SplitResult | None = None
        proxy = urllib.request.getproxies().get(parts.scheme)
        if proxy and not urllib.request.proxy_bypass(place):
            self.proxy = urllib.parse.urlsplit(proxy if "://" in proxy else f"http://{proxy}")


def _login_in(parts: urllib.parse.SplitResult) -> str:
    name, password = parts.username, parts.password
    if name is None:
        return ""
    return f"{urllib.parse.unquote(name)}:{urllib.parse.unquote(password or '')}"


def _login_of(host: str) -> str:
    """What ~/.netrc has; nothing where it cannot be used."""
    try:
        found = netrc.netrc().authenticators(host)
    except (OSError, netrc.NetrcParseError, RuntimeError):
        return ""
    return f"{found[0]}:{found[2]}" if found else ""


def _encoded(login: str) -> str:
    return base64.b64encode(login.encode()).decode()


class Server:
    """One connection, which is opened when it is needed and kept; of one thread.

    received, sent  bytes of what results consist of.
    What asks raises one of FAULTS.
    """

    def __init__(self, address: Address, patience: float) -> None:
        self._address = address
        self._patience = patience  # s for each step
        self._connection: http.client.HTTPConnection | None = None
        self._is_used = False  # the connection has answered before
        self.received = self.sent = 0

    def entries(self, key: str) -> bytes | None:
        """The entries of a question; None where it has none."""
        told = self._get(f"ac/{key}", _LARGEST_MESSAGE)
        if told is None:
            return None
        try:
            digest = entries_of(told)
        except MessageError as error:
            raise ServerError(f"its answer is no result: {error}") from None
        if digest.size > layout.REMOTE_LARGEST_FILE:
            raise ServerError("its answer is too large")
        return self.content(digest)

    def content(self, digest: Digest) -> bytes | None:
        """Bytes of that digest, checked; None where they have gone."""
        data = self._get(f"cas/{digest.hash}", digest.size)
        if data is None:
            return None
        if len(data) != digest.size or hashlib.sha256(data).hexdigest() != digest.hash:
            raise ServerError("what it sent is not what was asked for")
        self.received += len(data)
        return data

    def put_content(self, data: bytes) -> Digest:
        """Stores bytes; returns by which digest."""
        digest = Digest(hashlib.sha256(data).hexdigest(), len(data))
        self._put(f"cas/{digest.hash}", data)
        return digest

    def put_result(self, key: str, entries: Digest, contents: list[Digest]) -> None:
        """Stores the answer to a question, of which all parts are there."""
        self._put(f"ac/{key}", message(entries, contents))

    def abort(self) -> None:
        """Ends what another thread is waiting for."""
        with contextlib.suppress(OSError, AttributeError):  # it has ended, or not yet begun
            self._connection.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]

    def close(self) -> None:
        """Ends the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _get(self, path: str, most: int) -> bytes | None:
        response = self._ask("GET", path, None)
        if response.status == HTTPStatus.NOT_FOUND:
            self._finish(response)
            return None
        if response.status != HTTPStatus.OK:
            raise self._refused(response)
        data = response.read(most + 1)
        if len(data) > most:
            self.close()
            raise ServerError("what it sent is too large")
        if response.length:
            self.close()
            raise ServerError("what it sent is cut")
        self._finish(response)
        return data

    def _put(self, path: str, data: bytes) -> None:
        response = self._ask("PUT", path, data)
        if response.status not in (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT):
            raise self._refused(response)
        self._finish(response)
        self.sent += len(data)

    def _refused(self, response: http.client.HTTPResponse) -> ServerError:
        self.close()
        return ServerError(f"it answers {response.status} {response.reason}")

    def _finish(self, response: http.client.HTTPResponse) -> None:
        """The connection may be used again if nothing is left in it."""
        response.read(_LARGEST_MESSAGE)
        if not response.isclosed():
            self.close()

    def _ask(self, method: str, path: str, body: bytes | None) -> http.client.HTTPResponse:
        if self._connection is not None and self._is_used:
            try:
                return self._ask_once(method, path, body)
            except _STALE:
                self.close()
        return self._ask_once(method, path, body)

    def _ask_once(self, method: str, path: str, body: bytes | None) -> http.client.HTTPResponse:
        address = self._address
        target, headers = f"{address.path}/{path}", address.headers
        if address.proxy is not None and not address.is_secret:
            target = f"{address.base}{target}"
            headers = {**headers, **self._of_proxy()}
        try:
            if self._connection is None:
                self._connection = self._connect()
                self._is_used = False
            self._connection.request(method, target, body, headers)
            response = self._connection.getresponse()
        except BaseException:
            self.close()
            raise
        self._is_used = True
        return response

    def _connect(self) -> http.client.HTTPConnection:
        address = self._address
        kind = http.client.HTTPSConnection if address.is_secret else http.client.HTTPConnection
        if address.proxy is None:
            return kind(address.host, address.port, timeout=self._patience)
        made = kind(address.proxy.hostname or "", address.proxy.port, timeout=self._patience)
        if address.is_secret:
            made.set_tunnel(address.host, address.port, self._of_proxy())
        return made

    def _of_proxy(self) -> dict[str, str]:
        login = _login_in(self._address.proxy) if self._address.proxy is not None else ""
        return {"Proxy-Authorization": f"Basic {_encoded(login)}"} if login else {}
