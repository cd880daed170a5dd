"""Random makefiles of one recipe, whose lines read, write and remove the same few files.

What a line does may depend on a file `mode`: what was learnt of it is wrong then.
"""

from __future__ import annotations

import random

FILES = ("a", "b", "c", "d/a", "d/e")
LINKS = ("l", "d/l")
LINES = (
    *("cat {0} {1} > {2} 2> /dev/null; :", "sed s/1/2/ {0} > {2}-t && mv {2}-t {2} || :") * 2,
    "test -f {0} && cat {0} > {2} || echo none > {2}",
    "cat {0} > t; cat t t > {2}; rm t",
    "cat {0} >> {2} || :",
    *("rm -f p && cat {0} {1} | sed s/2/3/ > p", "cat p | sort > {2}-t && mv {2}-t {2}") * 2,
    *("sort < {0} > {2}", "cat p >> {2} || :"),
    "echo '{3}' > {2}; :",
    "echo '{3}' >> log; :",
    "rm -f {0} && echo gone >> {2}",
    "{{ cat {0}; echo end; }} > {2}; :",
    "cmp -s {0} {1} && echo same > {2} || echo differ > {2}",
    "if grep -q odd mode; then cat {0} > {2}; else cat {1} > {2}; fi; :",
    "ls . d > {2}; :",
    "for f in d/*; do echo $$f; done > {2}; :",
    "cp {0} {4} && rm {4} || :",
    "chmod 600 {0} || :",
    "mkdir -p n && echo '{3}' > n/{3}; :",
    "mkdir -p m/{3} && cat {0} > m/{3}/x && mv m/{3}/x {2} ; rm -rf m",
    "ln -sf {0} {5} && cat {5} > {2} || :",
    "cat {0} > {2} & wait; :",
    "$(MAKE) -s inner",
)
#: What is learnt of these is wrong where `mode` is another.
WRONG = (
    "if grep -q odd mode; then cat {0} > {2}; else cat {0} > {1}; fi; :",
    "if grep -q odd mode; then cat {0} > {2}; fi; :",
    "if grep -q odd mode; then rm -f {0}; fi; :",
    "if grep -q odd mode; then exit 3; fi; cat {0} > {2} || :",
)


def makefile(seed: int, length: int = 16) -> str:
    """One in four has a line of which something wrong is learnt."""
    dice = random.Random(seed)
    lines = []
    wrong = dice.randrange(length) if seed % 4 == 0 else -1
    for number in range(length):
        text = dice.choice(WRONG if number == wrong else LINES)
        names = [dice.choice(FILES) for _ in range(3)]
        text = text.format(*names, number, dice.choice(FILES) + "-u", dice.choice(LINKS))
        lines.append(f"\t@{text}\n")
    return f"all:\n{''.join(lines)}inner:\n\t@cat a b > c || :\n"


def files(seed: int) -> dict[str, str]:
    """What is there before the first build."""
    dice = random.Random(seed)
    names = [name for name in FILES if dice.random() < 0.7]
    made = {name: f"{name} 1\n" for name in ("d/here", *names)}
    return {**made, "mode": "even\n", "Makefile": makefile(seed)}
