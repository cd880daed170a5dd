"""How busy the machine was, from texts as /proc has them."""

from __future__ import annotations

import pytest

from smpmake.records import Sample
from smpmake.session.machine import Machine, Moment, memory
from smpmake.session.sampler import Sampler


class Proc:
    """A /proc of two CPUs, and a clock."""

    def __init__(self) -> None:
        self.cpus = [[100, 0, 0, 900, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1000, 0, 0, 0, 0, 0, 0]]
        self.waited: int | None = 5_000_000
        self.time = 10.0

    def read(self, path: str) -> str:
        if path == "/proc/pressure/cpu":
            if self.waited is None:
                raise FileNotFoundError(path)
            return f"some avg10=1.00 avg60=0.00 avg300=0.00 total={self.waited}\nfull x total=0\n"
        assert path == "/proc/stat"
        rows = [f"cpu{n} {' '.join(map(str, row))}" for n, row in enumerate(self.cpus)]
        return "\n".join(["cpu  1 2 3 4 5 6 7 8 9 10", *rows, "intr 5", ""])

    def machine(self, *own: int) -> Machine:
        return Machine(frozenset(own), self.read, lambda: self.time)


def test_what_was_busy_stolen_and_waited_for() -> None:
    proc = Proc()
    machine = proc.machine(0, 1)
    proc.cpus = [[130, 0, 10, 930, 10, 0, 10, 10, 99, 0], [50, 0, 0, 1050, 0, 0, 0, 0, 0, 0]]
    proc.waited, proc.time = 5_250_000, 11.0
    assert machine.look() == pytest.approx((110 / 200, 10 / 200, 0.25))
    assert machine.count == 2


def test_only_the_cpus_that_a_build_may_use_count() -> None:
    proc = Proc()
    machine = proc.machine(1)
    proc.cpus = [[200, 0, 0, 900, 0, 0, 0, 0], [25, 0, 0, 1075, 0, 0, 0, 0]]
    proc.time = 11.0
    assert machine.look().busy == pytest.approx(0.25)


def test_two_looks_in_one_tick_say_the_same() -> None:
    proc = Proc()
    machine = proc.machine(0, 1)
    assert machine.look() == Moment(0.0, 0.0, -1.0)
    proc.cpus[0][0] += 100
    proc.cpus[1][3] += 100
    proc.time = 11.0
    assert machine.look() == machine.look()


def test_a_kernel_that_does_not_measure_pressure() -> None:
    proc = Proc()
    proc.waited = None
    machine = proc.machine(0)
    proc.cpus[0][0] += 100
    proc.time = 11.0
    assert machine.look() == Moment(1.0, 0.0, -1.0)


def test_samples_have_it_all() -> None:
    """The real one: what it says is in the sample, whatever it is."""
    samples: list[Sample] = []
    sampler = Sampler(samples, lambda: (1, 2, 3, 4), 0)
    one = sampler.take_sample()
    assert samples[-1] == one
    assert (one.done, one.running, one.queued, one.held) == (1, 2, 3, 4)
    assert 0 <= one.cpu <= 1 and 0 <= one.stolen <= one.cpu and one.memory > 0
    assert sampler.watched >= 1


def test_the_first_sample_is_of_the_builds_beginning() -> None:
    """It is there before anybody asks for one, so that a report's curves begin with the build."""
    samples: list[Sample] = []
    sampler = Sampler(samples, lambda: (0, 0, 0, 0), 0)
    (first,) = samples
    assert first.memory > 0 and sampler.memory > first.memory
    assert sampler.take_sample().at > first.at


def test_memory_in_use_is_what_nobody_could_have() -> None:
    text = "MemTotal:  1000 kB\nMemFree:  100 kB\nMemAvailable:  600 kB\nHugePages_Total: 0\n"
    assert memory(lambda path: text) == (1000 * 1024, 400 * 1024)
    old = text.replace("MemAvailable", "Other")  # a kernel before 3.14
    assert memory(lambda path: old) == (1000 * 1024, 900 * 1024)
