"""Small makefiles that forgot something, each with its twin that did not."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from smpmake.checking.checking import check
from smpmake.checking.findings import Kind
from smpmake.checking.telling import Result


class Case(NamedTuple):
    """kind and path: what is found in `wrong`, and nothing is in `right`.

    more    files that are there besides, by name.
    newer   it needs make 4.4.
    at_once  it fails only where two recipes meet: no trial is sure to show it.
    """

    name: str
    kind: Kind
    path: str
    wrong: str
    right: str
    more: dict[str, str] = {}  # noqa: RUF012
    newer: bool = False
    at_once: bool = False


def checked(
    folder: Path,
    makefile: str,
    more: dict[str, str],
    make: str = "make",
    *,
    proves: bool = False,
    clean: str = "",
    sources: bool = False,
    follows: bool = False,
) -> Result:
    """What is found in a makefile, in a folder of its own."""
    for name, text in (*more.items(), ("Makefile", makefile)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return check(
        [make, "-s"], str(folder), proves=proves, clean=clean, sources=sources, follows=follows
    )


TEXT: Final = "t:\n\techo 1 >$@\n"
GEN: Final = "gen.h:\n\techo 1 >$@\n"
SUB: Final = {"sub/Makefile": "gen.h:\n\techo 1 >$@\n"}
INNER: Final = {"a/Makefile": "x:\n\techo 1 >$@\n", "b/Makefile": "y:\n\tcat ../a/x >$@\n"}
OBJECTS: Final = {
    "m.c": '#include "gen.h"\nint main(void) { return GEN; }\n',
}

CASES: Final = [
    # ------------------------------------------------------------ a product is read
    Case("read", Kind.READS, "gen.h",
         f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}",
         f"all: gen.h o\no: gen.h\n\tcat gen.h >$@\n{GEN}"),
    Case("order-only", Kind.READS, "gen.h",
         f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}",
         f"all: gen.h o\no: | gen.h\n\tcat gen.h >$@\n{GEN}"),
    Case("header", Kind.READS, "gen.h",
         "all: gen.h m.o\nm.o: m.c\n\t$(CC) -c m.c\ngen.h:\n\techo '#define GEN 1' >$@\n",
         "all: gen.h m.o\nm.o: m.c gen.h\n\t$(CC) -c m.c\ngen.h:\n\techo '#define GEN 1' >$@\n",
         OBJECTS),
    Case("pattern", Kind.READS, "gen.h",
         f"all: gen.h a.o b.o\n%.o: %.c\n\tcat $< gen.h >$@\n{GEN}",
         f"all: gen.h a.o b.o\na.o b.o: gen.h\n%.o: %.c\n\tcat $< gen.h >$@\n{GEN}",
         {"a.c": "", "b.c": ""}),
    Case("static-pattern", Kind.READS, "gen.h",
         f"all: gen.h a.o\na.o: %.o: %.c\n\tcat $< gen.h >$@\n{GEN}",
         f"all: gen.h a.o\na.o: %.o: %.c gen.h\n\tcat $< gen.h >$@\n{GEN}",
         {"a.c": ""}),
    Case("phony", Kind.READS, "gen.h",
         f".PHONY: headers\nall: headers o\no:\n\tcat gen.h >$@\nheaders: gen.h\n{GEN}",
         f".PHONY: headers\nall: headers o\no: headers\n\tcat gen.h >$@\nheaders: gen.h\n{GEN}"),
    Case("stamp", Kind.READS, "gen.h",
         "all: stamp o\no:\n\tcat gen.h >$@\nstamp:\n\techo 1 >gen.h; echo >$@\n",
         "all: stamp o\no: gen.h\n\tcat gen.h >$@\ngen.h: stamp ;\nstamp:\n"
         "\techo 1 >gen.h; echo >$@\n"),
    Case("side-output", Kind.READS, "y.tab.h",
         "all: y.tab.c lex\nlex:\n\tcat y.tab.h >$@\ny.tab.c:\n\techo >y.tab.h; echo >$@\n",
         "all: y.tab.c lex\nlex: y.tab.h\n\tcat y.tab.h >$@\ny.tab.c y.tab.h &:\n"
         "\techo >y.tab.h; echo >y.tab.c\n"),
    Case("side-output-that-is-named", Kind.READS, "y.tab.h",
         "all: y.tab.c lex\nlex: y.tab.h\n\tcat y.tab.h >$@\n"
         "y.tab.c:\n\techo >y.tab.h; echo >$@\n",
         "all: y.tab.c lex\nlex: y.tab.h\n\tcat y.tab.h >$@\ny.tab.h: y.tab.c ;\n"
         "y.tab.c:\n\techo >y.tab.h; echo >$@\n"),
    Case("side-output-of-a-pattern", Kind.READS, "g.h",
         "all: g.c lex\nlex:\n\tcat g.h >$@\n%.c: %.y\n\techo >$*.h; echo >$@\n",
         "all: g.c lex\nlex: g.h\n\tcat g.h >$@\n%.c %.h: %.y\n\techo >$*.h; echo >$*.c\n",
         {"g.y": ""}),
    Case("tool", Kind.READS, "tool",
         "all: tool o\no:\n\t./tool >$@\ntool:\n\tcp tool.sh $@; chmod +x $@\n",
         "all: tool o\no: tool\n\t./tool >$@\ntool:\n\tcp tool.sh $@; chmod +x $@\n",
         {"tool.sh": "#!/bin/sh\necho 1\n"}),
    Case("tool-that-make-starts", Kind.READS, "tool",
         "all: tool o\no:\n\t./tool\ntool:\n\tcp tool.sh $@; chmod +x $@\n",
         "all: tool o\no: tool\n\t./tool\ntool:\n\tcp tool.sh $@; chmod +x $@\n",
         {"tool.sh": "#!/bin/sh\necho 1 >o\n"}),
    Case("sourced", Kind.READS, "env.sh",
         "all: env.sh o\no:\n\t. ./env.sh; echo $$X >$@\nenv.sh:\n\techo X=1 >$@\n",
         "all: env.sh o\no: env.sh\n\t. ./env.sh; echo $$X >$@\nenv.sh:\n\techo X=1 >$@\n"),
    Case("link", Kind.READS, "link.h",
         "all: link.h o\no:\n\tcat link.h >$@\nlink.h:\n\tln -s real.h $@\n",
         "all: link.h o\no: link.h\n\tcat link.h >$@\nlink.h:\n\tln -s real.h $@\n",
         {"real.h": "1\n"}),
    Case("behind-a-link", Kind.READS, "gen.h",
         f"all: gen.h link.h o\no: link.h\n\tcat link.h >$@\nlink.h:\n\tln -s gen.h $@\n{GEN}",
         f"all: gen.h link.h o\no: link.h\n\tcat link.h >$@\n"
         f"link.h: gen.h\n\tln -s gen.h $@\n{GEN}"),
    Case("moved", Kind.READS, "gen.h",
         "all: gen.h o\no:\n\tcat gen.h >$@\ngen.h:\n\techo 1 >t.$@ && mv t.$@ $@\n",
         "all: gen.h o\no: gen.h\n\tcat gen.h >$@\ngen.h:\n\techo 1 >t.$@ && mv t.$@ $@\n"),
    Case("two-names", Kind.READS, "gen.h",
         f"all: gen.h o\no: $(CURDIR)/gen.h\n\tcat gen.h >$@\n$(CURDIR)/gen.h:\n{GEN}",
         f"all: gen.h o\no: ./gen.h\n\tcat gen.h >$@\n{GEN}"),
    Case("second-expansion", Kind.READS, "o.h",
         ".SECONDEXPANSION:\nall: o.h o\no:\n\tcat o.h >$@\no.h:\n\techo 1 >$@\n",
         ".SECONDEXPANSION:\nall: o.h o\no: $$@.h\n\tcat o.h >$@\no.h:\n\techo 1 >$@\n"),
    Case("double-colon", Kind.READS, "gen.h",
         f"all: gen.h o\no::\n\tcat gen.h >$@\n{GEN}",
         f"all: gen.h o\no:: gen.h\n\tcat gen.h >$@\n{GEN}"),
    Case("included", Kind.READS, "gen.h",
         f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}",
         f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}include deps.mk\n",
         {"deps.mk": "o: gen.h\n"}),
    Case("library", Kind.READS, "l.a",
         "all: l.a p\np:\n\tcat l.a >$@\nl.a: x.o\n\t$(AR) rc $@ x.o\nx.o:\n\techo >$@\n",
         "all: l.a p\np: l.a\n\tcat l.a >$@\nl.a: x.o\n\t$(AR) rc $@ x.o\nx.o:\n\techo >$@\n"),
    Case("own-variables", Kind.READS, "gen.h",
         f"all: gen.h o\no: X = 1\no:\n\tcat gen.h >$@\n{GEN}",
         f"all: gen.h o\no: X = 1\no: gen.h\n\tcat gen.h >$@\n{GEN}"),
    Case("not-parallel", Kind.READS, "gen.h",
         f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}",
         f".NOTPARALLEL:\nall: gen.h o\no:\n\tcat gen.h >$@\n{GEN}"),
    Case("not-parallel-targets", Kind.READS, "gen.h",
         f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}",
         f".NOTPARALLEL: all\nall: gen.h o\no:\n\tcat gen.h >$@\n{GEN}", newer=True),
    Case("wait", Kind.READS, "gen.h",
         f"all: gen.h o\no:\n\tcat gen.h >$@\n{GEN}",
         f"all: gen.h .WAIT o\no:\n\tcat gen.h >$@\n{GEN}", newer=True),
    Case("lines-of-one-recipe", Kind.READS, "gen.h",
         "all: gen.h o\no:\n\tcat gen.h >$@\ngen.h:\n\techo 1 >t\n\tmv t $@\n",
         "o:\n\techo 1 >gen.h\n\tcat gen.h >$@\n"),
    Case("blanks", Kind.READS, "gen x.h",
         "all: gen\\ x.h an\\ o\nan\\ o: s\n\tcat 'gen x.h' >'$@'\ngen\\ x.h:\n\techo 1 >'$@'\n",
         "all: gen\\ x.h an\\ o\nan\\ o: s gen\\ x.h\n\tcat 'gen x.h' >'$@'\n"
         "gen\\ x.h:\n\techo 1 >'$@'\n",
         {"s": ""}),
    # ------------------------------------------------------------ between makes
    Case("sub-make", Kind.MADE_ELSEWHERE, "sub/gen.h",
         "all: sub o\no:\n\tcat sub/gen.h >$@\n.PHONY: sub\nsub:\n\t$(MAKE) -C sub gen.h\n",
         "all: sub o\no: sub\n\tcat sub/gen.h >$@\n.PHONY: sub\nsub:\n\t$(MAKE) -C sub gen.h\n",
         SUB),
    Case("two-sub-makes", Kind.MADE_ELSEWHERE, "a/x",
         ".PHONY: a b\nall: a b\na:\n\t$(MAKE) -C a x\nb:\n\t$(MAKE) -C b y\n",
         ".PHONY: a b\nall: a b\na:\n\t$(MAKE) -C a x\nb: a\n\t$(MAKE) -C b y\n", INNER),
    Case("loop-over-folders", Kind.MADE_ELSEWHERE, "a/x",
         ".PHONY: a b\nall: a b\na b:\n\t$(MAKE) -C $@\n",
         "all:\n\tfor f in a b; do $(MAKE) -C $$f || exit; done\n", INNER),
    Case("below-two-makes", Kind.MADE_ELSEWHERE, "a/x",
         ".PHONY: c b\nall: c b\nc:\n\t$(MAKE) -f mid.mk\nb:\n\t$(MAKE) -C b y\n",
         ".PHONY: c b\nall: c b\nc:\n\t$(MAKE) -f mid.mk\nb: c\n\t$(MAKE) -C b y\n",
         {**INNER, "mid.mk": "x:\n\t$(MAKE) -C a x\n"}),
    Case("included-by-another-make", Kind.MADE_ELSEWHERE, "gen.mk",
         ".PHONY: sub\nall: gen.mk sub\ngen.mk:\n\techo X=1 >$@\nsub:\n\t$(MAKE) -f in.mk\n",
         ".PHONY: sub\nall: gen.mk sub\ngen.mk:\n\techo X=1 >$@\nsub: gen.mk\n\t$(MAKE) -f in.mk\n",
         {"in.mk": "include gen.mk\nall: ; echo $(X)\n"}),
    Case("written-down-for-the-next-build", Kind.MADE_ELSEWHERE, "a.mk",
         ".PHONY: one two\nall: one two\none two:\n\t$(MAKE) -f $@.in\n",
         ".PHONY: one two\nall: one two\none two:\n\t$(MAKE) -f $@.in X=d\n",
         {"one.in": "X = mk\na.o:\n\techo V=1 >a.$(X); echo >$@\n",
          "two.in": "X = mk\no: ; echo $(V) >$@\n-include a.$(X)\n"}),
    Case("named-by-an-empty-recipe", Kind.MADE_ELSEWHERE, "a/x",
         ".PHONY: a b\nall: a b\na:\n\t$(MAKE) -C a x\nb:\n\t$(MAKE) -C b y\n",
         ".PHONY: a b\nall: a b\na:\n\t$(MAKE) -C a x\nb: a\n\t$(MAKE) -C b y\n",
         {**INNER, "b/Makefile": "y: ../a/x\n\tcat ../a/x >$@\n../a/x: ; @:\n"}),
    # ------------------------------------------------------------ too early
    Case("old", Kind.OLD, "v",
         "all: o v\no:\n\tcat v >$@\nv: force\n\techo 2 >$@\nforce:\n",
         "all: o v\no: v\n\tcat v >$@\nv: force\n\techo 2 >$@\nforce:\n", {"v": "1\n"}),
    Case("looked-for", Kind.IN_VAIN, "opt",
         "all: o opt\no:\n\tif [ -f opt ]; then cat opt; fi >$@\nopt:\n\techo >$@\n",
         "all: o opt\no: opt\n\tif [ -f opt ]; then cat opt; fi >$@\nopt:\n\techo >$@\n"),
    Case("header-before-another", Kind.IN_VAIN, "first/m.h",
         "all: m.o first/m.h\nm.o: m.c\n\t$(CC) -Ifirst -Ilast -c m.c\n"
         "first/m.h:\n\techo 'int m;' >$@\n",
         "all: m.o first/m.h\nm.o: m.c first/m.h\n\t$(CC) -Ifirst -Ilast -c m.c\n"
         "first/m.h:\n\techo 'int m;' >$@\n",
         {"m.c": "#include <m.h>\n", "last/m.h": "", "first/keep": ""}),
    Case("reader-comes-first", Kind.IN_VAIN, "opt",
         "all: o opt\no:\n\t-cat opt >$@\nopt:\n\techo >$@\n",
         "all: o opt\no:\n\t-cat opt >$@\nopt: o\n\techo >$@\n"),
    # ------------------------------------------------------------ two recipes, one file
    Case("one-temporary-file", Kind.BOTH_WRITE, "tmp.y",
         "all: a b\na:\n\techo a >tmp.y; cp tmp.y $@\nb:\n\techo b >tmp.y; cp tmp.y $@\n",
         "all: a b\na:\n\techo a >$@.y; cp $@.y $@\nb:\n\techo b >$@.y; cp $@.y $@\n"),
    Case("two-targets-of-one-rule", Kind.BOTH_WRITE, "b",
         "all: a b\na b:\n\techo 1 >a; echo 1 >b\n",
         "all: a b\na b &:\n\techo 1 >a; echo 1 >b\n"),
    Case("log", Kind.BOTH_WRITE, "log",
         "all: a b\na:\n\techo a >log; echo >$@\nb:\n\techo b >log; echo >$@\n",
         "all: a b\na:\n\techo a >>log; echo >$@\nb:\n\techo b >>log; echo >$@\n"),
    Case("same-bytes", Kind.SAME_BYTES, "tmp.y",
         "all: a b\na:\n\techo 1 >tmp.y; cp tmp.y $@\nb:\n\techo 1 >tmp.y; cp tmp.y $@\n",
         "all: a b\na:\n\techo 1 >$@.y; cp $@.y $@\nb:\n\techo 1 >$@.y; cp $@.y $@\n"),
    Case("same-bytes-by-another-name", Kind.SAME_BYTES, "x",
         "all: a b\na b:\n\techo 1 >$@.new; mv -f $@.new x; echo >$@\n",
         "all: a b\na:\n\techo 1 >x; echo >$@\nb: a\n\techo 1 >x; echo >$@\n"),
    Case("writers-in-order", Kind.BOTH_WRITE, "tmp.y",
         "all: a b\na:\n\techo a >tmp.y; cp tmp.y $@\nb:\n\techo b >tmp.y; cp tmp.y $@\n",
         "all: a b\na:\n\techo a >tmp.y; cp tmp.y $@\nb: a\n\techo b >tmp.y; cp tmp.y $@\n"),
    Case("two-makes-write", Kind.BOTH_WRITE, "x",
         ".PHONY: a b\nall: a b\na b:\n\t$(MAKE) -f in.mk $@.x\n",
         ".PHONY: a b\nall: a b\nb: a\na b:\n\t$(MAKE) -f in.mk $@.x\n",
         {"in.mk": "%.x:\n\techo $@ >x\n"}),
    # ------------------------------------------------------------ folders
    Case("folder", Kind.FOLDER, "share",
         "all: dirs data\ndirs:\n\tmkdir share\ndata:\n\tcp f share/f\n",
         "all: dirs data\ndirs:\n\tmkdir share\ndata: | dirs\n\tcp f share/f\n", {"f": ""}),
    Case("own-folder", Kind.FOLDER, "obj",
         "all: obj obj/a\nobj:\n\tmkdir obj\nobj/a:\n\techo >$@\n",
         "all: obj/b obj/a\nobj/b:\n\tmkdir -p obj; echo >$@\nobj/a:\n\tmkdir -p obj; echo >$@\n"),
    Case("installed-into", Kind.FOLDER, "d",
         "all: dirs data\ndirs:\n\tinstall -d d\ndata:\n\tinstall -m644 f d\n",
         "all: dirs data\ndirs:\n\tinstall -d d\ndata: dirs\n\tinstall -m644 f d\n", {"f": ""}),
    Case("installed-with-its-folder", Kind.FOLDER, "d",
         "all: a b\na:\n\tinstall -D -m644 f d/a\nb:\n\tinstall -m644 f d/b\n",
         "all: a b\na:\n\tinstall -D -m644 f d/a\nb:\n\tinstall -vD -m644 f d/b >/dev/null\n",
         {"f": ""}),
    # ------------------------------------------------------------ removals
    Case("removed", Kind.REMOVES, "t",
         f"all: o clean\no: t\n\tcat t >$@\nclean: t\n\trm t\n{TEXT}",
         f"all: o clean\no: t\n\tcat t >$@\nclean: o t\n\trm t\n{TEXT}"),
    Case("moved-away", Kind.REMOVES, "t",
         f"all: o p\no: t\n\tcat t >$@\np: t\n\tmv t p\n{TEXT}",
         f"all: o p\no: t\n\tcat t >$@\np: t o\n\tmv t p\n{TEXT}"),
    Case("cleaned-first", Kind.CLEARS, "t",
         f"all: clean t\nclean:\n\trm -f t u\n{TEXT}",
         f"all: clean t\nclean:\n\trm -f t u\nt: | clean\n{TEXT}"),
    Case("cleaned-where-it-was", Kind.CLEARS, "t",
         f"all: clean t\nclean:\n\trm -f t u\n{TEXT}",
         f"all: clean t\nclean:\n\trm -f t u\nt: clean\n{TEXT}", {"t": ""}),
]  # fmt: skip
