"""The message of a result is the one that Bazel's Remote Execution API has."""

from __future__ import annotations

import pytest

from smpmake.session.action_result import Digest, MessageError, entries_of, message


def test_the_message_is_as_the_interface_has_it() -> None:
    """Bytes as protoc's own classes for remote_execution.proto write them."""
    one, two = Digest("ab" * 32, 300), Digest("cd" * 32, 5000000000)
    written = (
        b"\x12P\n\x07entries\x12E\n@" + b"ab" * 32 + b"\x10\xac\x02"
        b"\x12\x8e\x01\nBc/" + b"cd" * 32 + b"\x12H\n@" + b"cd" * 32 + b"\x10\x80\xe4\x97\xd0\x12"
    )
    assert message(one, [two]) == written
    assert entries_of(written) == one
    # stdout_raw, stdout_digest, execution_metadata: what a server may add.
    more = b"*\x01x2D\n@" + b"ef" * 32 + b"\x10\x01J\x03\n\x01w"
    assert entries_of(written + more) == one
    with pytest.raises(MessageError, match="failure"):
        entries_of(written + b" \xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")


def test_a_message_that_is_cut_is_none() -> None:
    whole = message(Digest("ab" * 32, 300), [])
    for end in range(len(whole)):
        with pytest.raises(MessageError):
            entries_of(whole[:end])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x12",
        b"\x12\x02\x12\x00",
        b"\x12\x00",
        b"\x0b",
        b"\xff" * 20,
        b"\x12\x04\x12\x02\x0a\x00",
    ],
)
def test_garbage_is_no_message(data: bytes) -> None:
    with pytest.raises(MessageError):
        entries_of(data)
