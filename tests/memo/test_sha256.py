"""Our own SHA-256, with the CPU's instructions and without, beside hashlib's."""

from __future__ import annotations

import hashlib
import random
import subprocess
from pathlib import Path

import pytest

from smpmake import native

SOURCES = Path(native.__file__).parent
PROGRAM = """
#include "base/sha256.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    static char room[1 << 20];
    size_t size = fread(room, 1, sizeof room, stdin);
    for (int plain = 0; plain < 2; plain++) {
        struct sha256 sum;
        unsigned char digest[SHA256_SIZE];
        sha256_begin(&sum);
        sum.plain = plain;
        for (size_t at = 0, piece = 1; at < size; at += piece) {
            piece = (size_t)atoi(argv[1 + at % (size_t)(argc - 1)]);
            piece = piece < size - at ? piece : size - at;
            sha256_add(&sum, room + at, piece);
        }
        sha256_end(&sum, digest);
        for (size_t i = 0; i < SHA256_SIZE; i++)
            printf("%02x", digest[i]);
        puts("");
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sha256")
    (folder / "sum.c").write_text(PROGRAM)
    sources = (folder / "sum.c", SOURCES / "base/sha256.c")
    subprocess.run(["cc", "-O2", f"-I{SOURCES}", "-o", folder / "sum", *sources], check=True)
    return folder / "sum"


@pytest.mark.parametrize("size", [0, 1, 55, 56, 57, 63, 64, 65, 119, 128, 1000, 70000])
def test_it_is_sha256(program: Path, size: int) -> None:
    data = random.Random(size).randbytes(size)
    for pieces in (["1"], ["64"], ["63", "65"], ["7", "200", "64", "1"], ["100000"]):
        said = subprocess.run([program, *pieces], input=data, capture_output=True, check=True)
        assert said.stdout.decode().split() == [hashlib.sha256(data).hexdigest()] * 2
