"""The still pictures: what is where, and that no words stand on each other."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest

from smpmake.reports import charts
from smpmake.reports.document import document
from tests.support.made import build, ran
from tests.support.pages import earlier, forest, large, long, ordinary


def stand_by_their_points(picture: charts.Curve) -> bool:
    """Each point's words are nearer to it than to any other, or a line leads from them to it."""
    spots = [*((x, y) for x, y, _ in picture.points), picture.measured]
    led = {line[:2] for line in picture.lines if line[4] == "leader"}

    def away(spot: tuple[float, float], label: charts.Label) -> float:
        left, top, right, bottom = label.box
        across, down = (
            max(left - spot[0], spot[0] - right, 0),
            max(top - spot[1], spot[1] - bottom, 0),
        )
        return float(across**2 + down**2)

    names = [label for label in picture.labels if label.kind.startswith("value")]
    own = [min((spot for spot in spots if spot), key=lambda spot: away(spot, n)) for n in names]
    near = [spot for spot, n in zip(own, names, strict=True) if away(spot, n) < 14**2]
    return len({*near, *led}) >= len(names)


def made(curve: dict[int, float], wall: float, here: int = 4) -> dict[str, Any]:
    """As much of a document as the curve needs."""
    return {
        "what_if": [{"cpus": cpus, "seconds": value} for cpus, value in curve.items()],
        "figures": {"wall": wall, "critical_path": min(curve.values()), "extra_cpus": here},
    }


def stand_apart(picture: charts.Picture) -> bool:
    boxes = [label.box for label in picture.labels]
    inside = all(
        left >= 0 and right <= picture.width and top >= 0 and bottom <= picture.height
        for left, top, right, bottom in boxes
    )
    return inside and not any(
        a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
        for a, b in combinations(boxes, 2)
    )


@pytest.mark.parametrize("scale", [0.01, 1, 60, 3600])
def test_no_words_of_a_curve_stand_on_each_other(scale: float) -> None:
    curve = {2**n: scale * (1 + 30 / 2**n) for n in range(9)}
    picture = charts.what_if(made(curve, scale * 9))
    assert picture is not None and stand_apart(picture)
    ours = [label.words for label in picture.labels if "strong" in label.kind]
    assert len(ours) == 3 and ours[0] == "4"  # whatever else has no room
    assert ours[1].endswith(" measured") and not ours[2].endswith(" measured")
    assert stand_by_their_points(picture)


def test_twice_is_as_far_everywhere() -> None:
    picture = charts.what_if(made({2**n: 1024 / 2**n for n in range(9)}, 256))
    assert picture is not None
    for place in (0, 1):
        steps = [b[place] - a[place] for a, b in pairwise(picture.points)]
        assert max(steps) - min(steps) <= 0.11 and abs(steps[0]) > 10
    assert picture.measured == pytest.approx(picture.points[2][:2], abs=0.1)


def test_a_curve_of_one_point_or_of_no_time_is_none_or_flat() -> None:
    assert charts.what_if(made({1: 5.0}, 5.0, 1)) is None
    picture = charts.what_if(made({1: 0.0, 2: 0.0}, 0.0, 2))
    assert picture is not None and stand_apart(picture)


def test_lengths_count_every_command_that_ended() -> None:
    picture = charts.lengths(document(forest()))
    assert picture is not None and stand_apart(picture)
    counts = [bar for bar in picture.bars if bar.kind == "count"]
    least = [bar.least for bar in counts if bar.title[0] != "0"]
    assert least == [0.02, 0.2, 0.5, 1.0, 2.0]  # of 20, 200, 400, 500 ms, 1, 2 and 4 s
    assert [bar.title for bar in counts if bar.least == 0.2] == ["2 of 0.2 s or more: 0.6 s"]
    assert sum(int(bar.title.split()[0]) for bar in counts) == 7
    tallest = max((bar for bar in picture.bars if bar.kind == "time"), key=lambda bar: bar.tall)
    assert tallest.least == 2.0


@pytest.mark.parametrize("record", [ordinary, long, lambda: large(400)])
def test_words_of_real_pictures_stand_apart(record: Any) -> None:
    made = record()
    made.status = 0
    page = document(made)
    pictures = [charts.lengths(page), charts.what_if(page), charts.builds(earlier(30)[::-1])]
    assert all(picture is not None and stand_apart(picture) for picture in pictures)


def test_one_command_is_no_distribution() -> None:
    assert charts.lengths(document(build(ran(0, 0, 0, 5)))) is None


def test_the_last_build_has_its_words_among_many() -> None:
    rows = [{"id": 100 + n, "wall": 3700.0 + n, "status": 0} for n in range(40)]
    picture = charts.builds(rows)
    words = [label.words for label in picture.labels]
    assert "1 h 02 min" in words and "139" in words and stand_apart(picture)


@pytest.mark.parametrize("wall", [9.0, 5.2, 4.6, 4.1])
def test_the_measured_time_and_the_simulated_one_have_their_own_words(wall: float) -> None:
    """Beside other programs a build takes longer than it is simulated: two points above each other,
    of which the upper one must not seem to say what the lower one does."""
    picture = charts.what_if(made({1: 8.0, 2: 4.0, 4: 2.2, 8: 2.0, 16: 2.0}, wall, here=2))
    assert picture is not None and picture.measured is not None
    assert stand_apart(picture) and stand_by_their_points(picture)
    words = {label.words: label for label in picture.labels if "value strong" in label.kind}
    assert set(words) == {f"{wall} s measured", "4.0 s"}
    (x, simulated, _), measured = picture.points[1], picture.measured[1]
    assert picture.measured[0] == x and measured < simulated

    def nearer(label: charts.Label) -> float:
        middle = (label.box[1] + label.box[3]) / 2
        return min((measured, simulated), key=lambda y: abs(y - middle))

    led = [line for line in picture.lines if line[4] == "leader"]
    assert nearer(words[f"{wall} s measured"]) == measured or led
    assert nearer(words["4.0 s"]) == simulated or led


def test_words_that_are_the_same_stand_there_once() -> None:
    picture = charts.what_if(made({1: 8.0, 2: 4.0, 4: 2.2}, 4.01, here=2))
    assert picture is not None
    said = [label.words for label in picture.labels if "value strong" in label.kind]
    assert said == ["4.0 s measured"]
