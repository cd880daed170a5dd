"""Which host has room: by its slots, its failures, and what its compilers are."""

from __future__ import annotations

from smpmake.cluster.farm import Host
from smpmake.cluster.places import Place, Places

A, B = Host("a", "a/2", 2), Host("b", "b/4", 4)


class Checks:
    """Every compiler of every host is ours at once, but for those that `bad` names."""

    def __init__(self, *hosts: Host, most: int = 100, bad: tuple[str, ...] = ()) -> None:
        self.asked: list[tuple[str, str]] = []
        self._bad = bad
        self.places = Places(hosts, most, self._check)

    def _check(self, host: Host, compiler: str) -> None:
        self.asked.append((host.name, compiler))
        self.places.checked(host, compiler, fits=host.name not in self._bad)

    def take(self, count: int = 1, compiler: str = "gcc") -> list[Place | None]:
        return [self.places.take(compiler) for _ in range(count)]


def names(places: list[Place | None]) -> str:
    return "".join(place.host.name if place is not None else "-" for place in places)


def test_each_has_its_share() -> None:
    checks = Checks(A, B)
    assert names(checks.take(7)) == "abbabb-"
    assert checks.places.taken == checks.places.total == 6
    assert checks.asked == [("a", "gcc"), ("b", "gcc")]


def test_no_two_have_one_place() -> None:
    checks = Checks(A, B)
    taken = checks.take(6)
    assert len(set(taken)) == 6
    first = taken[0]
    assert first is not None
    checks.places.give(first)
    assert checks.take(2) == [first, None]


def test_the_user_says_how_many() -> None:
    assert names(Checks(A, B, most=3).take(4)) == "abb-"


def test_a_host_is_not_used_before_its_compiler_is_known() -> None:
    asked: list[str] = []
    places = Places[str]([A], 10, lambda host, compiler: asked.append(compiler))
    assert places.take("gcc") is None
    assert places.take("gcc") is None
    assert not places.waits("gcc")
    assert asked == ["gcc"]
    places.checked(A, "gcc", fits=True)
    assert places.waits("gcc")
    assert places.take("gcc") == Place(A, 0)
    assert places.take("g++") is None
    assert asked == ["gcc", "g++"]


def test_a_host_with_another_compiler_has_none_of_it() -> None:
    checks = Checks(A, B, bad=("a",))
    assert names(checks.take(5)) == "bbbb-"
    assert checks.places.state() == [("a", 2, 0, (), ("gcc",)), ("b", 4, 4, ("gcc",), ())]


def test_a_host_that_fails_three_times_is_left_out() -> None:
    checks = Checks(A, B)
    place = checks.take()[0]
    assert place == Place(A, 0)
    assert [checks.places.failed(A) for _ in range(3)] == [False, False, True]
    assert checks.places.hosts == (B,)
    checks.places.give(place)
    assert not checks.places.failed(A)
    assert names(checks.take(5)) == "bbbb-"
    assert checks.places.total == 4


def test_a_host_may_take_more_or_fewer() -> None:
    checks = Checks(B)
    taken = checks.take(3)
    checks.places.resize(B, 2)
    assert checks.places.total == 2
    assert checks.places.state() == [("b", 2, 3, ("gcc",), ())]
    assert checks.take() == [None]
    for place in taken:
        assert place is not None
        checks.places.give(place)
    assert names(checks.take(3)) == "bb-"
    checks.places.resize(B, 3)
    assert names(checks.take(2)) == "b-"
    checks.places.resize(B, 0)
    assert (checks.places.total, checks.places.taken) == (0, 3)
