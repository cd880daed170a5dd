"""protoc: what is made of descriptions of messages, for C++ and Python.

An output lies below its folder as the input lies below the folder in which it was found.  Other
languages name their outputs by what the input says; plugins make what they like.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

from smpmake.commands.generators.tools import Do, made, refused, said
from smpmake.commands.model import Analysis, Invocation, Reason
from smpmake.commands.options import Row, Table, Take
from smpmake.commands.paths import join

TABLE: Table[Do] = Table(
    (
        Row(Do.QUERY, Take.FLAG, "-h --help --version --print_free_field_numbers"),
        Row(Do.SEARCH, Take.EITHER, "-I"),
        Row(Do.SEARCH, Take.NEXT, "--proto_path"),
        Row(Do.SEARCH, Take.GLUED, "--proto_path= -I="),
        Row(Do.PATTERN, Take.GLUED, "--cpp_out= --python_out= --pyi_out="),
        Row(Do.OUTPUT, Take.NEXT, "--descriptor_set_out"),
        Row(Do.OUTPUT, Take.GLUED, "--descriptor_set_out="),
        Row(Do.OUTPUT, Take.EITHER, "-o"),
        Row(Do.SIDE, Take.NEXT, "--dependency_out"),
        Row(Do.SIDE, Take.GLUED, "--dependency_out="),
        Row(Do.NOTHING, Take.GLUED, "--error_format="),
        Row(Do.NOTHING, Take.FLAG, "--include_imports --include_source_info --fatal_warnings"),
        Row(Do.NOTHING, Take.FLAG, "--deterministic_output --experimental_allow_proto3_optional"),
    )
)
#: What of a language's parameters changes no name.
_PARAMETERS: Final = re.compile(r"(?:(?:dllexport_decl=\w*|lite|speed),?)*", re.ASCII)
_SUFFIXES: Final = {
    "--cpp_out=": (".pb.h", ".pb.cc"),
    "--python_out=": ("_pb2.py",),
    "--pyi_out=": ("_pb2.pyi",),
}


def analyse(inv: Invocation) -> Analysis:
    """protoc"""
    found = said(inv, TABLE)
    if isinstance(found, Analysis):
        return found
    search = [folder for text in found.all(Do.SEARCH) for folder in text.split(":")] or ["."]
    starts = []
    for path in found.inputs:
        start = _below(path, search)
        if start is None or not path.endswith(".proto") or not inv.files.exists(path):
            return refused(Reason.WRITES_UNPREDICTABLE, path)
        starts.append(start.removesuffix(".proto"))
    outputs = []
    for option, value in found.given(Do.PATTERN):
        parameters, _, folder = value.rpartition(":")
        if not _PARAMETERS.fullmatch(parameters) or folder.endswith((".zip", ".jar")):
            return refused(Reason.WRITES_UNPREDICTABLE, value)
        folder = "" if folder == "." else folder
        for start in starts:
            # A module of Python has dots between its packages.
            name = start if option == "--cpp_out=" else start.replace("-", "_").replace(".", "/")
            outputs += [join(folder, f"{name}{suffix}") for suffix in _SUFFIXES[option]]
    outputs += found.all(Do.OUTPUT)
    if not outputs:
        return refused(Reason.WRITES_UNPREDICTABLE, "no output")
    return made(found.inputs, outputs, found.all(Do.SIDE), search=search)


def _below(path: str, search: list[str]) -> str | None:
    """An input's name below the folder in which it is found."""
    name = posixpath.normpath(path)
    for folder in search:
        above = posixpath.normpath(folder)
        if above == "." and not name.startswith(("/", "../")):
            return name
        if name.startswith(f"{above}/"):
            return name[len(above) + 1 :]
    return None
