"""What a project's earlier builds taught."""

from __future__ import annotations

from pathlib import Path

import pytest

from smpmake.decide.known_failures import KnownFailures, digest_of


def test_a_project_is_kept_apart(tmp_path: Path) -> None:
    known = KnownFailures("/project", tmp_path)
    digest = digest_of(b"/project", b"gcc\0-c\0a\nb.c\0")
    known.add(digest, b"gcc\0-c\0a\nb.c\0")
    known.save()
    assert digest in KnownFailures("/project", tmp_path)
    assert digest not in KnownFailures("/other", tmp_path)
    again = KnownFailures("/project", tmp_path)
    again.discard(digest)
    again.save()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_as_none(tmp_path: Path) -> None:
    KnownFailures("/project", tmp_path)
    known = KnownFailures("/project", tmp_path)
    known.add("0" * 32, b"gcc\0")
    known.save()
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"\xff\0garbage\n" + b"short\tline\n")
    assert len(KnownFailures("/project", tmp_path)) == 0


def test_secrets_are_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of this command nor of one that was stored as it came."""
    monkeypatch.setenv("DEPLOY_TOKEN", "from-the-environment")
    known = KnownFailures("/project", tmp_path, secrets=("code_word",))
    known.add("0" * 32, b"gcc\0-DAPI_KEY=sesame one\0-DCODE_WORD=open\0-Dx=from-the-environment\0")
    known.save()
    (file,) = tmp_path.iterdir()
    assert file.read_text() == f"{'0' * 32}\tgcc '-DAPI_KEY=***' '-DCODE_WORD=***' '-Dx=***'\n"
    file.write_text(f"{'1' * 32}\tgcc -DPASSWORD=sesame a.c\n")
    KnownFailures("/project", tmp_path).save()
    assert "sesame" not in file.read_text()
    assert "1" * 32 in KnownFailures("/project", tmp_path)
