"""Which texts of shells give a command's output a file of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from smpmake.decide.redirects import alone

ALONE = [
    "sed s/a/b/ x > out",
    "sed s/a/b/ x >out",
    "sed s/a/b/ x 1> out",
    "sed s/a/b/ x >| out",
    "> out sed s/a/b/ x",
    "sed s/a/b/ x > d/out",
    "sed s/a/b/ x > $f",
    'sed s/a/b/ x > "d/$f"',
    "set -e; echo '  SED out'; sed 's/;/{/' x > out; rm -f x",
    "cd d && sed s/a/b/ x > out",
    "cd d && /usr/bin/sed s/a/b/ x > out && mv out o2",
    "sed s/a/b/ x > out\nrm -f x\n",
    "sed s/a/b/ \\\n x \\\n > out; \\\n rm x",
    "if test -f x; then sed s/a/b/ x > out; fi",
    "for f in a b; do sed s/a/b/ $f > $f.out; done",
    "{ sed s/a/b/ x > out; }",
    "(cd d; sed s/a/b/ x > out; true)",
    "trap 'rm -f x; kill -s HUP $$' HUP; sed s/a/b/ x > out",
    "echo x > y; sed s/a/b/ x > out",
    "sed s/a/b/ < x > out",
    "sed s/a/b/ x > a; sed s/a/b/ a > out; sed s/a/b/ out > b",
    "sed -e 's/\\(a\\)/\\1/' x > out",
    "LC_ALL=C sed s/a/b/ x > out",
    "env LC_ALL=C sed s/a/b/ x > out",
    "[ -e x ] && sed s/a/b/ x > out",
    "X=1; Y='a b' sed s/a/b/ x > out",
    ": && ./x2.y-z+1 2> /dev/null; sed s/a/b/ x > out",
    "sed 's/case/`$(#/' \"$f\" > out",
    "sed -e 's/a/it'\\''s/' x > out",
    "sed s/\\;/\\>/ x > out",
]
NOT_ALONE = [
    "sed s/a/b/ x",
    "sed s/a/b/ x >> out",
    "sed s/a/b/ x 2> out",
    "sed s/a/b/ x > out 2>&1",
    "sed s/a/b/ x &> out",
    "sed s/a/b/ x > out > other",
    "sed s/a/b/ x > other",
    "{ sed s/a/b/ x; echo end; } > out",
    "{ sed s/a/b/ x; echo end; } 2>/dev/null > out",
    "{ sed s/a/b/ x; echo end\n} > out",
    "{ sed s/a/b/ x; echo end; }>out",
    "( sed s/a/b/ x; echo end ) > out",
    "(sed s/a/b/ x; echo end)>out",
    "( sed s/a/b/ x & echo end ) > out; sed y > out",
    "if true; then sed s/a/b/ x; echo; fi > out",
    "for f in a b; do sed s/a/b/ $f; done > out",
    "while read f; do sed s/a/b/ $f; done < list > out",
    "case x in x) sed s/a/b/ x;; esac > out",
    "case x in x) sed s/a/b/ x > out;; esac",
    "exec > out; sed s/a/b/ x; echo end",
    "exec sed s/a/b/ x > out",
    "eval 'sed s/a/b/ x; echo end' > out; sed x > out",
    "f() { sed s/a/b/ x; echo end; }; f > out",
    "f ( ) { sed s/a/b/ x > out; }; f",
    "function f { sed s/a/b/ x; echo end; }; f > out",
    "alias sed='echo a; sed'\nsed x > out",
    ". ./inner > out; sed x > out",
    "sed s/a/b/ x > out || echo failed",
    "if sed s/a/b/ x > out; then echo yes; fi",
    "{ if sed s/a/b/ x > out; then echo yes; fi; }",
    "! sed s/a/b/ x > out",
    "while sed s/a/b/ x > out; do break; done",
    "sed s/a/b/ x > out & wait",
    "sed s/a/b/ x > out | cat",
    "cat x | sed s/a/b/ > out",
    "cat <(sed s/a/b/ x) > out; sed x > out",
    "sed s/a/b/ x > out # because",
    "# it isn't\n{ sed s/a/b/ x; echo end; } > out # don't",
    "echo `sed s/a/b/ x > out`",
    "echo $(sed s/a/b/ x > out)",
    'echo "$(sed s/a/b/ x > out)"',
    "sed s/a/b/ x > out <<E\nE\n",
    "echo $'\\'' ; { sed x; echo; } > out # '",
    "sed 's/a/b/ x > out",
    "make; \\\n{ sed s/a/b/ x; \\\n echo end; \\\n} > out",
    "sed s/a/b/ x > out; sed s/a/b/ y",
    "cat x > out",
    "X=1 . ./lib; sed x > out",
    "command . ./lib; sed x > out",
    "\\. ./lib; sed x > out",
    "'.' ./lib; sed x > out",
    "$D ./lib; sed x > out",
    "< x . ./lib; sed x > out",
    "2> x . ./lib; sed x > out",
    "command exec > out; $S x; echo end; sed x > d/out",
    "E=exec; $E > out; $S x; echo end; sed x > d/out",
    "e'x'ec > out; sed x > d/out",
    "command eval 'sed() { command sed x; echo end; }'; sed x > out",
    "builtin eval x; sed x > out",
    "> out; sed x > out; X=1 > out",
    "(true); . ./lib; sed x > out",
    "(:)#'\n{ sed x; echo end; } > out; #'\nsed x > d/out",
    "x>#'\n{ sed x; echo end; } > out; #'\nsed x > d/out",
    "shopt -s expand_aliases; sed x > out",
    "e* > out; sed x > d/out",
    "~/exec > out; sed x > d/out",
    "sed '>' '$x'; echo end",
    'sed ">" "$x"; echo end',
    "sed \\> $x; echo end",
    "sed s/a/b/ x; echo ' > out'",
    "sed x '; }' > out; { sed x ';'; echo end; } > out",
    "",
]


@pytest.mark.parametrize("text", ALONE)
def test_a_file_of_its_own(text: str) -> None:
    assert alone(text, "sed", "out")


@pytest.mark.parametrize("text", NOT_ALONE)
def test_a_file_of_others_too_or_a_status_that_counts(text: str) -> None:
    assert not alone(text, "sed", "out")


@pytest.mark.parametrize("text", [*ALONE, *NOT_ALONE])
@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_no_shell_disagrees(text: str, shell: str, tmp_path: Path) -> None:
    """What the shell has `sed` write to is nobody else's if we say so: the shell is the oracle.

    Its sed writes "sed" where it writes, and everything else may write, too.
    """
    if not alone(text, "sed", "out"):
        return
    (tmp_path / "d").mkdir()
    tool = tmp_path / "sed"
    tool.write_text("#!/bin/sh\necho sed\n")
    tool.chmod(0o755)
    for folder in (tmp_path, tmp_path / "d"):
        for name in ("x", "a", "b"):
            (folder / name).write_text("text\n")
    text = text.replace("/usr/bin/sed", str(tool))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "f": "out"}
    command = [shell, "-c", text]
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    written = [p for p in tmp_path.rglob("*out") if p.is_file()]
    written += [p for p in tmp_path.rglob("o2") if p.is_file()]
    assert written
    assert all(path.read_text() == "sed\n" for path in written)
