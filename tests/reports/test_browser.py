"""The page in a real browser: what it draws, what a reader can do with it, and what it must not do.

`pytest -m browser` runs them; they need chromium, and install it where they may.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from smpmake.records import BuildRecord
from tests.support.made import S, build, ran
from tests.support.pages import HOSTILE, browser, forest, hostile, large, long, ordinary, page_of

pytestmark = pytest.mark.browser

DRAWN = "performance.getEntriesByName('smpmake-drawn').length > 0"
#: What the browser may take to load and draw ten thousand commands: a requirement, so a time.
LIMIT = 3000

#: Notes what is written on a canvas, from the last time that it was cleared: words and where.
TEXTS = """
    const pen = CanvasRenderingContext2D.prototype, write = pen.fillText, fill = pen.fillRect;
    window.written = [];
    pen.fillRect = function (x, y, wide, tall) {
        if (this.canvas.id === "canvas" && !x && !y && tall > 60) window.written = [];
        fill.call(this, x, y, wide, tall);
    };
    pen.fillText = function (words, x, y) {
        if (this.canvas.id === "canvas") {
            const wide = this.measureText(words).width;
            const left = x - { left: 0, center: wide / 2, right: wide }[this.textAlign];
            window.written.push({ words, left, right: left + wide, y });
        }
        write.call(this, words, x, y);
    };
"""

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as made:
        yield made


@pytest.fixture
def show(chromium: Browser, tmp_path: Path) -> Iterator[Open]:
    """Opens a record's page.  At the end of the test nothing was wrong and nothing was fetched."""
    wrong: list[str] = []
    requests: list[str] = []
    contexts = []

    def opened(record: BuildRecord, width: int = 1280, fragment: str = "", **context: Any) -> Page:
        file = tmp_path / "page.html"
        file.write_text(page_of(record, 3))
        made = chromium.new_context(viewport={"width": width, "height": 900}, **context)
        contexts.append(made)
        made.add_init_script(TEXTS)
        page = made.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if is_wrong(said) else None)
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri() + fragment)
        if context.get("java_script_enabled", True):
            wait(page, DRAWN)
        return page

    yield opened
    for made in contexts:
        made.close()
    assert wrong == []
    assert {url.partition("#")[0] for url in requests} == {(tmp_path / "page.html").as_uri()}


def is_wrong(said: ConsoleMessage) -> bool:
    """That we read the canvas back in order to test it does not count."""
    return said.type in ("error", "warning") and "readback" not in said.text


def wait(page: Page, condition: str) -> None:
    """Waits for it.  The browser's own way of waiting evaluates text, which the page forbids."""
    end = time.monotonic() + 15
    while not page.evaluate(f"Boolean({condition})"):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)


def seen(page: Page) -> tuple[float, float]:
    """The range of time that the timeline shows, as soon as it is drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    data = page.locator("#canvas").evaluate("(canvas) => ({...canvas.dataset})")
    return float(data["from"]), float(data["to"])


def at(page: Page, number: int) -> tuple[float, float]:
    """Where a command of `ordinary` is on the screen: ten seconds, two lanes."""
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    middle, lane = {0: (1.0, 0), 1: (1.5, 1), 2: (6.0, 0), 3: (3.5, 1)}[number]
    return box["x"] + 96 + (box["width"] - 96) * middle / 10, box["y"] + 24 + 28 * lane + 12


def has_ink(page: Page, x: float, y: float) -> list[int]:
    """The colour of the canvas at a point of the screen."""
    found: list[int] = page.evaluate(
        """([x, y]) => {
            const canvas = document.getElementById("canvas"), box = canvas.getBoundingClientRect();
            const scale = canvas.width / box.width;
            const data = canvas.getContext("2d")
                .getImageData((x - box.left) * scale, (y - box.top) * scale, 1, 1).data;
            return [...data].slice(0, 3);
        }""",
        [x, y],
    )
    return found


def test_commands_are_drawn_in_their_lanes(show: Open) -> None:
    page = show(ordinary())
    assert seen(page) == (0, 10)
    x, y = at(page, 0)
    assert has_ink(page, x, y + 9) == [0x00, 0x72, 0xB2]
    x, y = at(page, 2)
    assert has_ink(page, x, y + 9) == [0x00, 0x9E, 0x73]


def test_other_machines_have_lanes_of_their_own(show: Open) -> None:
    """As many as they had at once, below the slots."""
    there = [
        ran(2, 0, 1, 5, host="far", sent=102 * S, outputs=("/src/x.o",)),
        ran(3, 0, 2, 6, host="far", slot=2, sent=103 * S),
        ran(4, 0, 5, 8, host="near"),
    ]
    page = show(build(ran(0, 0, 0, 9), ran(1, 0, 0, 9, slot=1), *there))
    seen(page)
    names = [each["words"] for each in page.evaluate("window.written")]
    assert [name for name in names if name in ("slot 0", "slot 1", "slot 2", "far", "near")] == [
        *("slot 0", "slot 1"),
        *("far", "near"),
    ]
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    x = box["x"] + 96 + (box["width"] - 96) * 0.3
    page.mouse.click(x, box["y"] + 24 + 28 * 2 + 6 + 6)
    assert "far, after 1.00 s here" in page.inner_text("#details")


def test_zoom_and_pan_by_buttons_wheel_mouse_and_keys(show: Open) -> None:
    page = show(ordinary())
    page.click("#zoom-in")
    assert seen(page) == (2.5, 7.5)
    page.focus("#canvas")
    page.keyboard.press("ArrowRight")
    assert seen(page) == pytest.approx((3.25, 8.25))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    assert seen(page) == pytest.approx((3.5, 6.5))
    page.keyboard.press("-")
    assert seen(page) == pytest.approx((2.5, 7.5))
    x, y = at(page, 2)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 200, y, steps=4)
    page.mouse.up()
    assert seen(page)[0] < 2 and seen(page)[1] - seen(page)[0] == pytest.approx(5)
    page.keyboard.press("0")
    assert seen(page) == (0, 10)
    page.wait_for_timeout(500)  # who scrolls past is not held up
    page.mouse.wheel(0, -300)
    wait(page, "document.getElementById('canvas').dataset.to < 10")
    page.click("#zoom-out")
    page.click("#zoom-all")
    assert seen(page) == (0, 10)


def test_a_wheel_that_scrolls_the_page_goes_on_doing_so(show: Open) -> None:
    page = show(ordinary())
    x, y = at(page, 0)
    page.mouse.move(x, y)
    before = page.evaluate("scrollY")
    page.mouse.wheel(0, 240)
    wait(page, f"scrollY > {before}")
    assert seen(page) == (0, 10)


def test_search_counts_dims_and_goes_on(show: Open) -> None:
    page = show(ordinary())
    x, y = at(page, 2)
    bright = has_ink(page, x, y + 9)
    page.fill("#search", "GCC")
    assert page.inner_text("#matches") == "4 of 6"
    assert seen(page) == (0, 10)
    dim = has_ink(page, x, y + 9)
    assert sum(dim) > sum(bright) + 200
    page.fill("#search", "alpha")
    assert page.inner_text("#matches") == "2 of 6"
    page.press("#search", "Enter")
    assert page.inner_text("#details h3") == "gcc lib/alpha.o"
    page.press("#search", "Enter")
    assert page.inner_text("#details h3") == "ar all.a"
    page.press("#search", "Shift+Enter")
    assert page.inner_text("#details h3") == "gcc lib/alpha.o"
    page.fill("#search", "nothing like it")
    assert page.inner_text("#matches") == "0 of 6"


def test_a_click_opens_the_command_that_was_clicked(show: Open) -> None:
    page = show(ordinary())
    page.mouse.click(*at(page, 1))
    assert page.inner_text("#details pre.command") == "g++ -c beta.cc"
    page.keyboard.press("Escape")
    assert not page.is_visible("#details")
    page.mouse.click(*at(page, 2))
    assert page.inner_text("#details pre.command") == "ar cr all.a lib/alpha.o beta.o"
    for words in ("6.00 s", "status 0", "/src", "all.a", "Kept waiting", "ld (reads all.a)"):
        assert words in page.inner_text("#details")
    assert page.url.endswith("#job-2")
    page.click("#details a >> text=gcc beta.o")
    assert page.inner_text("#details pre.command") == "g++ -c beta.cc"
    page.click("#close")
    assert page.evaluate("document.activeElement.id") == "canvas"


def test_a_failed_command_leads_to_what_it_printed(show: Open) -> None:
    page = show(ordinary(), fragment="#job-3")
    assert "failed, status 1" in page.inner_text("#details")
    page.click("#details a >> text=its output")
    assert "bad.c:1: error: no" in page.inner_text("#failure-3")


def test_the_timeline_is_usable_by_keys_alone(show: Open) -> None:
    page = show(ordinary())
    page.focus("#canvas")
    page.keyboard.press("Shift+ArrowRight")
    first = page.text_content("#said")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowRight")
    assert page.text_content("#said") != first
    page.keyboard.press("Enter")
    assert page.is_visible("#details")
    assert page.evaluate("document.activeElement.id") == "details"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "canvas"


def test_everything_in_reach_of_the_tab_key_has_a_name_and_shows_its_focus(show: Open) -> None:
    page = show(ordinary())
    names = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        found = page.evaluate(
            """() => {
                const at = document.activeElement;
                const label = at.labels?.[0]?.textContent;
                const name = at.ariaLabel || label || at.textContent.trim() || at.title;
                return [at.tagName, name, getComputedStyle(at).outlineStyle];
            }"""
        )
        if found[0] == "BODY":
            break
        assert found[1], found
        assert found[2] != "none", found
        names.add(found[1].strip())
    assert {"Critical path", "Zoom in", "Search commands", "Filter commands"} <= names


def test_colours_and_the_critical_path_change_what_is_drawn(show: Open) -> None:
    page = show(ordinary())
    assert "compile 3" in page.inner_text("#legend")
    for mode, words in (
        ("language", "(archives) 1"),
        ("folder", "lib 1"),
        ("failure", "failed 1"),
        ("duration", "5 s and more 1"),
    ):
        page.select_option("#colour", mode)
        assert words in page.inner_text("#legend").replace("\xa0", " ")
    page.select_option("#colour", "kind")
    x, y = at(page, 3)
    page.mouse.move(0, 0)
    before = has_ink(page, x, y)
    page.click("#critical")
    assert page.get_attribute("#critical", "aria-pressed") == "true"
    seen(page)
    assert has_ink(page, x, y) != before


def test_the_tooltip_says_what_is_under_the_pointer(show: Open) -> None:
    page = show(ordinary())
    page.mouse.move(*at(page, 2))
    assert page.inner_text("#tip").startswith("ar all.a\n6.00 s from 3.00 s")
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 500, box["y"] + box["height"] - 20)
    assert "CPU 50%" in page.inner_text("#tip")


def strip(page: Page, seconds: float, wall: float = 10) -> tuple[float, float]:
    """Where a moment is on the overview."""
    page.locator("#overview").scroll_into_view_if_needed()
    box = page.locator("#overview").bounding_box()
    assert box is not None
    return box["x"] + 96 + (box["width"] - 96) * seconds / wall, box["y"] + box["height"] / 2


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def test_the_brush_draws_moves_and_resizes_what_is_in_view(show: Open) -> None:
    page = show(ordinary())
    drag(page, strip(page, 4), strip(page, 6))
    assert seen(page) == pytest.approx((4, 6), abs=0.05)
    drag(page, strip(page, 5), strip(page, 7))  # in the middle of it
    assert seen(page) == pytest.approx((6, 8), abs=0.1)
    drag(page, strip(page, 8), strip(page, 9))  # at its edge
    assert seen(page) == pytest.approx((6, 9), abs=0.15)
    drag(page, strip(page, 6), strip(page, 9.5))  # an edge drawn over the other
    assert seen(page) == pytest.approx((9, 9.5), abs=0.15)
    page.mouse.click(*strip(page, 2))
    begin, end = seen(page)
    assert (begin + end) / 2 == pytest.approx(2, abs=0.1) and end - begin <= 10 / 8 + 0.01
    drag(page, strip(page, 2), strip(page, -3))  # not beyond the beginning
    assert seen(page)[0] == 0
    page.mouse.dblclick(*strip(page, 7))
    assert seen(page) == (0, 10)
    page.focus("#overview")
    page.keyboard.press("+")
    assert seen(page) == pytest.approx((2, 8))


def hide_to(page: Page, steps: int) -> None:
    """Moves the slider so many limits up."""
    page.focus("#least")
    page.keyboard.press("Home")
    for _ in range(steps):
        page.keyboard.press("ArrowRight")
    seen(page)


def test_what_is_shorter_is_hidden(show: Open) -> None:
    page = show(ordinary())  # of 1, 2, 2.8 and 6 s
    x, y = at(page, 3)
    assert has_ink(page, x, y + 9) == [0x00, 0x72, 0xB2]
    page.fill("#search", "gcc")
    hide_to(page, 11)
    assert page.inner_text("#least-said") == "2 s"
    assert page.inner_text("#hidden-said") == "1 of 4 hidden"
    x, y = at(page, 3)
    assert sum(has_ink(page, x, y + 9)) > 3 * 240
    page.mouse.click(x, y)
    assert not page.is_visible("#details")
    page.press("#search", "Enter")
    assert page.inner_text("#matches") == "1 of 1"  # of alpha and bad, and two that never ran
    page.keyboard.press("Escape")
    # A bar of the histogram is the same limit; again, and nothing is hidden.
    page.click("#lengths rect[data-least='5.0'] >> nth=0")
    assert page.inner_text("#hidden-said") == "3 of 4 hidden"
    assert page.locator("#lengths rect.out").count() == 4
    page.click("#lengths rect[data-least='5.0'] >> nth=0")
    assert page.inner_text("#least-said") == "nothing"
    assert page.inner_text("#hidden-said") == ""


def tree(page: Page) -> dict[str, tuple[str, str, str]]:
    """Each row's name with its level, weighted seconds and commands."""
    rows = page.locator("#tree tbody tr").all()
    found = {}
    for row in rows:
        name = row.locator("th").inner_text().strip("▾▸ \n")
        cells = row.locator("td").all_inner_texts()
        found[name] = (row.get_attribute("aria-level") or "", cells[0], cells[3])
    return found


def test_folders_are_a_tree_with_sums(show: Open) -> None:
    page = show(forest())
    rows = tree(page)
    assert rows["all"][::2] == ("1", "7")
    assert rows["lib"][::2] == ("2", "4")
    assert rows["a"][::2] == ("3", "2")
    assert rows["b"] == ("3", "0.25 s", "1")  # the other half is app's, which ran beside it
    assert rows["app/deep/down"][::2] == ("2", "1")  # nothing to choose on the way
    assert rows["/usr/gen"] == ("2", "0.40 s", "1")
    assert "(here)" in rows
    page.click("#tree [aria-label='Close lib']")
    assert {"a", "b"}.isdisjoint(tree(page)) and tree(page)["lib"] == rows["lib"]
    assert page.evaluate("document.activeElement.ariaLabel") == "Open lib"
    page.keyboard.press("Enter")
    assert tree(page) == rows
    page.click("#tree thead button >> text=Commands")
    assert next(name for name, row in tree(page).items() if row[0] == "2") == "lib"
    page.click("#tree thead button >> text=Commands")
    assert [name for name, row in tree(page).items() if row[0] == "2"][-1] == "lib"


def test_a_folder_is_shown_in_the_timeline(show: Open) -> None:
    page = show(forest())
    page.click("#tree button[title*='of lib/a ']")
    assert page.input_value("#search") == "folder:lib/a"
    assert page.inner_text("#matches") == "2 of 7"
    assert seen(page) == pytest.approx((0, 3.24))  # three seconds, and a little around them
    page.click("#tree button[title*='of lib ']")
    assert page.inner_text("#matches") == "4 of 7"
    page.locator("#tree tr", has_text="(here)").first.locator("button").click()
    assert page.inner_text("#matches") == "1 of 7"


def test_a_search_zooms_to_what_it_found(show: Open) -> None:
    page = show(forest())
    page.fill("#search", ".o")
    assert page.inner_text("#matches") == "7 of 7"
    page.fill("#search", "/z.o")
    assert seen(page) == (0, 8)
    page.press("#search", "Enter")
    assert seen(page) == pytest.approx((2, 4.5))  # half a second, a fifth of what is seen
    page.fill("#search", "own.o")
    page.click("#next")
    begin, end = seen(page)
    assert (begin + end) / 2 == pytest.approx(4.01) and end - begin < 0.5
    assert page.evaluate("document.getElementById('overview').getBoundingClientRect().top") >= 0
    page.fill("#search", "")
    assert page.is_disabled("#next")


def swatches(page: Page) -> dict[str, str]:
    """The legend: names and colours."""
    found: list[list[str]] = page.evaluate(
        """[...document.querySelectorAll("#legend li")].map((each) =>
            [each.textContent, getComputedStyle(each.firstChild).backgroundColor])"""
    )
    return {words.rpartition(" ")[0]: colour for words, colour in found}


def test_where_one_kind_has_all_the_time_colours_are_those_of_folders(show: Open) -> None:
    assert show(ordinary()).input_value("#colour") == "kind"
    page = show(forest())
    assert page.input_value("#colour") == "folder"
    first = swatches(page)
    assert len(set(first.values())) == len(first) == 6
    other = forest()
    del other.commands[0]
    assert swatches(show(other)) == first  # by their names, not by their places
    page = show(build(ran(0, 0, 0, 1), ran(1, 0, 1, 9, slot=1)))
    assert page.input_value("#colour") == "duration"


def test_colours_of_durations_go_from_short_to_long(show: Open) -> None:
    page = show(forest())
    page.select_option("#colour", "duration")
    names = list(swatches(page))
    assert names[0].startswith("under ") and names[-1].endswith(" and more")
    assert len(set(swatches(page).values())) == len(names)
    dark = show(forest(), color_scheme="dark")
    dark.select_option("#colour", "duration")
    # What is long stands out from the paper.
    assert sum(map(int, re.findall(r"\d+", list(swatches(page).values())[-1]))) < 200
    assert sum(map(int, re.findall(r"\d+", list(swatches(dark).values())[-1]))) > 450


def over_each_other(boxes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [
        (a["words"], b["words"])
        for at, a in enumerate(boxes)
        for b in boxes[:at]
        if a["left"] < b["right"]
        and b["left"] < a["right"]
        and abs(a["y"] - b["y"]) < min(a.get("tall", 9), b.get("tall", 9))
    ]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("record", [ordinary, forest, long, lambda: large(400)])
def test_words_never_stand_on_each_other(
    show: Open, record: Callable[[], BuildRecord], width: int
) -> None:
    page = show(record(), width=width)
    for _ in range(9):
        seen(page)
        written = page.evaluate("window.written")
        axis = [each for each in written if each["y"] == 11]
        assert axis and over_each_other(axis) == []
        names = [each for each in written if each["right"] < 100]
        assert over_each_other(names) == []
        page.click("#zoom-in")
    pictures = page.evaluate(
        """[...document.querySelectorAll("svg.chart")].map((svg) =>
            [...svg.querySelectorAll("text")].map((each) => {
                const { left, right, top, bottom } = each.getBoundingClientRect();
                const tall = (bottom - top) * 0.7; // of capitals and figures
                return { words: each.textContent, left, right, y: (top + bottom) / 2, tall };
            }))"""
    )
    assert pictures
    for boxes in pictures:
        assert over_each_other(boxes) == []
        assert min(box["tall"] for box in boxes) >= 7.5  # as of letters of 11 px
        assert max(box["right"] for box in boxes) <= width


def test_from_a_minute_on_the_axis_is_a_clock(show: Open) -> None:
    page = show(long())
    seen(page)
    words = [each["words"] for each in page.evaluate("window.written") if each["y"] == 11]
    assert words[0] == "h:min:s" and words[1:3] == ["0:00", "15:00"] and words[-1].count(":") == 2


def test_on_a_telephone_everything_can_be_reached_and_read(show: Open) -> None:
    page = show(large(400, 16), width=390)
    for control in ("#search", "#next", "#colour", "#critical", "#least", "#zoom-all", "#overview"):
        box = page.locator(control).bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390, control
    page.fill("#search", "component_7")
    page.press("#search", "Enter")
    page.click("#close")
    page.click("#tree tbody button >> nth=1")
    hide_to(page, 5)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    small = page.evaluate(
        """[...document.querySelectorAll("body *")].filter((each) =>
            each.offsetParent && [...each.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
            && parseFloat(getComputedStyle(each).fontSize) < 11.5).map((each) => each.outerHTML)"""
    )
    assert [each for each in small if not each.startswith("<text")] == []


def column(page: Page, number: int) -> list[str]:
    return page.locator(f"#grid tr.row > :nth-child({number})").all_inner_texts()


def test_the_table_sorts_and_filters(show: Open) -> None:
    page = show(ordinary())
    page.click("#grid thead button >> text=Took")
    assert column(page, 6) == ["6.00 s", "2.80 s", "2.00 s", "1.00 s", "", ""]
    page.click("#grid thead button >> text=Took")
    assert column(page, 6) == ["1.00 s", "2.00 s", "2.80 s", "6.00 s", "", ""]
    assert page.get_attribute("#grid th >> nth=5", "aria-sort") == "ascending"
    page.click("#grid thead button >> text=Command")
    assert column(page, 2)[0] == "ar all.a"
    page.fill("#filter", "beta")
    assert sorted(column(page, 1)) == ["1", "2"]
    page.fill("#filter", "")
    page.select_option("#which", "failed")
    assert column(page, 2) == ["gcc bad.o"]
    page.click("#grid tr.row button")
    assert page.inner_text("#details h3") == "gcc bad.o"
    page.keyboard.press("Escape")
    page.click("#groups table >> nth=0 >> button >> text=Commands")
    assert page.inner_text("#groups table >> nth=0 >> tbody tr >> nth=0").startswith("C\t")


def test_ten_thousand_commands_within_three_seconds(show: Open) -> None:
    page = show(large(10_000))
    took = page.evaluate("performance.getEntriesByName('smpmake-drawn')[0].startTime")
    assert took < LIMIT
    assert len(column(page, 1)) < 60  # only what is seen exists
    page.evaluate("document.getElementById('grid').scrollTop = 1e9")
    wait(page, "document.querySelector('#grid tr.row:nth-last-child(2)').ariaRowIndex > 10000")
    page.click("#grid thead button >> text=#")
    assert column(page, 1)[:3] == ["0", "1", "2"]
    page.fill("#search", "component_77")
    assert page.inner_text("#matches").endswith(" of 10,000")
    drawing = page.evaluate(
        """() => {
            const before = performance.now();
            for (let n = 0; n < 5; n++) document.getElementById("zoom-in").click();
            return new Promise((done) => requestAnimationFrame(() =>
                requestAnimationFrame(() => done(performance.now() - before))));
        }"""
    )
    assert drawing < LIMIT
    # On canvases: nothing that is drawn is an element.
    assert page.evaluate("document.querySelectorAll('body *').length") < 3500


def test_dark_and_light(show: Open) -> None:
    page = show(ordinary(), color_scheme="dark")

    def paper() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    x, y = at(page, 0)
    assert paper() == "rgb(20, 23, 27)"
    assert has_ink(page, x, y - 25) == [20, 23, 27]
    page.click("#theme")
    assert paper() == "rgb(255, 255, 255)"
    x, y = at(page, 0)
    assert has_ink(page, x, y - 25) == [255, 255, 255]
    page.reload()
    wait(page, DRAWN)
    assert paper() == "rgb(255, 255, 255)"
    page.evaluate("localStorage.clear()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_readable_on_their_paper(show: Open, scheme: str) -> None:
    """WCAG AA: 4.5 to 1."""
    page = show(ordinary(), color_scheme=scheme)
    worst = page.evaluate(
        """() => {
            const style = getComputedStyle(document.documentElement);
            const light = (name) => {
                const hex = style.getPropertyValue(name).trim();
                const part = (at) => {
                    const v = parseInt(hex.slice(at, at + 2), 16) / 255;
                    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
                };
                return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
            };
            const contrast = (a, b) =>
                (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
            const words = ["--ink", "--soft", "--accent", "--bad", "--good"];
            const papers = ["--paper", "--raised"];
            return Math.min(...words.flatMap((w) => papers.map((paper) => contrast(w, paper))));
        }"""
    )
    assert worst >= 4.5


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("record", [ordinary, hostile, lambda: large(200, 16)])
def test_the_page_never_scrolls_sideways(
    show: Open, record: Callable[[], BuildRecord], width: int
) -> None:
    page = show(record(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    number = page.evaluate("document.querySelector('#grid tr.row').dataset.number")
    page.click(f"#grid tr.row[data-number='{number}'] button")
    assert page.is_visible("#details")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints(show: Open) -> None:
    page = show(ordinary(), color_scheme="dark")
    made = page.pdf()
    assert made.startswith(b"%PDF-") and len(made) > 10_000
    page.emulate_media(media="print")
    for gone in ("nav", ".controls", "#keys", "#all-commands"):
        assert not page.locator(gone).first.is_visible(), gone
    for there in ("h1", "#canvas", "#costliest", "#failures", "svg.chart"):
        assert page.locator(there).first.is_visible(), there


def test_paper_is_white_and_the_screen_dark_again_afterwards(show: Open) -> None:
    page = show(ordinary(), color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_it_is_still_a_report(show: Open, scheme: str) -> None:
    made = ordinary()
    made.status = 0  # of what failed there are no findings
    page = show(made, java_script_enabled=False, color_scheme=scheme, width=390)
    for there in ("h1", ".findings", ".figures", "#costliest", "#failures", "#groups", "#builds"):
        assert page.locator(there).first.is_visible(), there
    assert "drawn by a script" in page.inner_text("#timeline")
    assert not page.is_visible("#theme") and not page.is_visible("#canvas")


def test_what_a_hostile_project_says_does_nothing(show: Open) -> None:
    page = show(hostile())
    page.fill("#search", "<script>")
    page.press("#search", "Enter")
    for number in range(len(HOSTILE)):
        page.evaluate(f"location.hash = '#job-{number}'")
        wait(page, f"document.querySelector('#details h3') && location.hash.endsWith('{number}')")
    page.mouse.move(*at(page, 0))
    for mode in ("language", "folder", "duration", "failure", "kind"):
        page.select_option("#colour", mode)
    page.fill("#filter", "onerror")
    assert page.evaluate("window.__pwned") is None
    assert page.locator("img, iframe, [onerror], [onload], [onmouseover]").count() == 0
    assert page.locator("script").count() == 2
    assert "<script>window.__pwned=1</script>" in page.inner_text("#failures")


def test_a_build_of_nothing_is_no_error(show: Open) -> None:
    assert "nothing to run in parallel" in show(build()).inner_text("h1")
