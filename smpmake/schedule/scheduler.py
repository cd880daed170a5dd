"""Which command runs when: events in, actions out.

Pure: no clock, no disk, no await.  The caller performs the actions in their order and reports what
became of them by the next event.  Commands start in the order of issue, except that what somebody
waits for in the foreground comes first, with everything that it depends on.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum

from smpmake.schedule.classes import Class
from smpmake.schedule.hazards import Hazards
from smpmake.schedule.job import NEXT, NOBODY, Job, Mode, State


class _Action:
    """What is to be done about a job; equal to the same about the same job."""

    __slots__ = ("cause", "job")

    def __init__(self, job: Job, cause: Job | None = None) -> None:
        self.job = job
        self.cause = cause

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Action)
            and type(other) is type(self)
            and (other.job, other.cause) == (self.job, self.cause)
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.job!r}, {self.cause!r})"


class Start(_Action):
    """Run a deferred job in the slot that it now holds."""

    __slots__ = ()


class Grant(_Action):
    """Let a foreground command's shim become the real tool."""

    __slots__ = ()


class Resume(_Action):
    """Let a paused command go on: there is a slot for it again."""

    __slots__ = ()


class Cancelled(_Action):
    """A command will not run; `cause` is the job whose failure is to blame, if one is."""

    __slots__ = ()


Action = Start | Grant | Resume | Cancelled


class Room(Enum):
    """What there is for one more command: `SMALLER` for none that needs as much as this one."""

    FREE = "free"
    SMALLER = "smaller"
    NONE = "none"


_Entry = tuple[float, int, Job]  # of a queue, which is a heap
_Queues = tuple[list[_Entry], list[_Entry]]  # of those in a hurry, and of the others

_UNSTARTED = (State.WAITING, State.READY)
_WANTS_SLOT = (State.READY, State.RESUMING)
_LOOK_AHEAD = 32  # jobs that are asked for when one is too large for now


class Scheduler:
    """Slots, hazards and the queue.  One instance a server.

    rank    what the queue is ordered by: the order of issue, if nothing else is wanted.
    room    what there is for a job beside so many that have a slot; asked with those who wait in
            the foreground.  One for which it is free starts.  The only one must find room in time.
    classes those in which only so many jobs run at once.
    held    jobs that were too large at the last turn.
    short   whether there was no room for any then, though a slot is free.
    counts  how many jobs are in each state, or came to that end.
    """

    def __init__(
        self,
        slots: int,
        rank: Callable[[Job], float] = lambda job: job.number,
        room: Callable[[Job, int, Collection[Job]], Room] = lambda job, busy, waiting: Room.FREE,
        classes: Sequence[Class] = (),
    ) -> None:
        self.hazards = Hazards()
        self.slots = slots
        self._free = list(range(slots))
        self._lanes = slots
        self._parked: list[int] = []
        self._rank = rank
        self._room = room
        self.held = 0
        self.short = False
        self._full: dict[Class, _Queues] = {each: ([], []) for each in classes}
        self._urgent: list[_Entry] = []
        self._queue: list[_Entry] = []
        self._alone: Job | None = None
        self._waiting: dict[Job, None] = {}
        self.counts = dict.fromkeys(State, 0)

    @property
    def wanting(self) -> int:
        """Jobs that could run, and have no slot."""
        return self.counts[State.READY] + self.counts[State.RESUMING]

    @property
    def crowded(self) -> bool:
        """Whether jobs wait for a class that is full."""
        return any(urgent or queue for urgent, queue in self._full.values())

    @property
    def busy(self) -> int:
        """Slots in use."""
        return self.slots - len(self._free)

    def issue(self, job: Job, now: int) -> list[Action]:
        """A command enters."""
        actions: list[Action] = []
        if job.mode is Mode.FOREGROUND:
            job.urgent = True
        self._enter(job, self.hazards.enter(job), now, actions)
        return actions if job.state is State.WAITING else self._dispatch(actions)

    def finished(self, job: Job, *, ok: bool, now: int, told: bool = False) -> list[Action]:
        """A running command ended; what needs its outputs is cancelled if it failed, unless its
        driver is told that: then it runs, and fails by itself."""
        actions: list[Action] = []
        self._release(job)
        self._set(job, State.DONE if ok else State.FAILED)
        self._retire(job, now, actions, cause=None if ok or told else job)
        return self._dispatch(actions)

    def cancel(
        self, which: Callable[[Job], bool], now: int, cause: Job | None = None
    ) -> list[Action]:
        """Takes commands that have not started out.

        Light deferred ones stay: they go with what they wait for, whether that ends well or not
        (an object without its dependency file, moved into place, would be half a result).
        """
        actions: list[Action] = []
        for job in [j for j in self.hazards.present() if j.state in _UNSTARTED and which(j)]:
            if not (job.light and job.mode is Mode.DEFERRED):
                self._cancel(job, now, actions, cause)
        return self._dispatch(actions)

    def wait(self, waiter: Job, blockers: set[Job], now: int) -> list[Action]:
        """Somebody in the foreground waits for commands, and is granted when they ended."""
        actions: list[Action] = []
        waiter.urgent = True
        self._waiting[waiter] = None
        self._enter(waiter, blockers, now, actions)
        return actions

    def waiting(self) -> list[Job]:
        """Who waits in the foreground."""
        return list(self._waiting)

    def withdraw(self, waiter: Job, now: int) -> list[Action]:
        """A waiter went away."""
        actions: list[Action] = []
        self._cancel(waiter, now, actions, None)
        return actions

    def drop_assumed_blockers(self, now: int) -> list[Action]:
        """Of some commands it is known now that they ask for what they read."""
        actions: list[Action] = []
        for job, blockers in self.hazards.resolved():
            self._let_go(job, blockers, now, actions)
        return self._dispatch(actions)

    def wait_less(self, waiter: Job, blockers: set[Job], now: int) -> list[Action]:
        """It has turned out that somebody in the foreground has to wait for these alone."""
        actions: list[Action] = []
        self._let_go(waiter, set(waiter.blockers) - blockers, now, actions)
        return self._dispatch(actions)

    def _let_go(self, job: Job, blockers: set[Job], now: int, actions: list[Action]) -> None:
        for blocker in blockers & job.blockers:
            job.blockers.discard(blocker)
            del blocker.followers[job]
        if job.state is State.WAITING and not job.blockers:
            self._ready(job, now, actions)

    def pause(self, job: Job) -> list[Action]:
        """A running command has to wait for others: they may have its slot meanwhile.

        Its lane in the pool stays taken, so another lane is opened for who gets the slot.
        """
        if job.state is not State.RUNNING or job.slot is None:
            return []
        self._set(job, State.PAUSED)
        self._leave_classes(job)
        if self._alone is job:
            self._alone = None
        if not self._parked:
            self._parked.append(self._lanes)
            self._lanes += 1
        heapq.heappush(self._free, heapq.heappop(self._parked))
        return self._dispatch([])

    def resume(self, job: Job) -> list[Action]:
        """What a paused command waited for has come; a Resume follows when it has a slot again."""
        if job.state is not State.PAUSED:
            return [Resume(job)]
        self._set(job, State.RESUMING)
        self._push(self._urgent, job)
        return self._dispatch([])

    def again(self, job: Job) -> list[Action]:
        """A running job came to nothing through no fault of its own: back to the queue."""
        self._release(job)
        job.light = False
        self._set(job, State.READY)
        self._push(self._urgent, job)
        return self._dispatch([])

    def _set(self, job: Job, state: State) -> None:
        """The one place where a job's state changes."""
        if state not in NEXT[job.state]:
            raise AssertionError(f"{job!r} cannot become {state.value}")
        if job.mode is Mode.WAITER and job.state is State.WAITING:
            self._waiting.pop(job, None)
        self.counts[job.state] -= 1
        self.counts[state] += 1
        job.state = state

    def _enter(self, job: Job, blockers: set[Job], now: int, actions: list[Action]) -> None:
        """It waits behind its blockers, or is ready."""
        self.counts[State.WAITING] += 1
        if not blockers:
            self._ready(job, now, actions)
            return
        job.blockers = blockers
        for blocker in blockers:
            blocker.followers[job] = None
        if job.urgent:
            self._boost(job)

    def _ready(self, job: Job, now: int, actions: list[Action]) -> None:
        self._set(job, State.READY)
        job.ready_at = now
        if job.light:
            self._run(job, actions)
        else:
            self._push(self._urgent if job.urgent else self._queue, job)

    def _push(self, queue: list[_Entry], job: Job) -> None:
        heapq.heappush(queue, (self._rank(job), job.number, job))

    def _boost(self, job: Job) -> None:
        """What `job` waits for, and what that waits for, goes to the front."""
        todo = [job]
        while todo:
            for blocker in todo.pop().blockers:
                if not blocker.urgent:
                    blocker.urgent = True
                    if blocker.state in _WANTS_SLOT:
                        self._push(self._urgent, blocker)
                    todo.append(blocker)

    def dispatch(self) -> list[Action]:
        """Looks again: there may be room by now."""
        return self._dispatch([])

    def _dispatch(self, actions: list[Action]) -> list[Action]:
        """Adds the starts of those for which there is room."""
        passed_over: list[_Entry] = []
        self.short = False
        while self._free and self._alone is None:
            # A job that was hurried stands in both queues; its state tells whether it still counts.
            queue = (self._first() if self._full else self._urgent) or self._queue
            if not queue:
                break
            job = queue[0][2]
            if job.state not in _WANTS_SLOT:
                heapq.heappop(queue)
                continue
            full = next((each for each in job.classes if each.is_full), None)
            if full is not None:  # others pass
                job.full = full
                heapq.heappush(self._full[full][not job.urgent], heapq.heappop(queue))
                continue
            if job.exclusive and self.busy:
                break
            room = self._room(job, self.busy, self._waiting)
            if room is Room.NONE:
                self.short = True
                break
            entry = heapq.heappop(queue)
            if room is Room.FREE:
                self._take_slot(job, actions)
                continue
            # Smaller ones may go first, but not past what somebody waits for.
            passed_over.append(entry)
            if job.urgent or len(passed_over) > _LOOK_AHEAD:
                break
        self.held = len(passed_over)
        for entry in passed_over:
            heapq.heappush(self._urgent if entry[2].urgent else self._queue, entry)
        return actions

    def _first(self) -> list[_Entry] | None:
        """The queue whose head comes first: of those, too, who wait for a class that has room."""
        able = [queues for each, queues in self._full.items() if not each.is_full]
        for nth in range(2):
            queues = [(self._urgent, self._queue)[nth], *(each[nth] for each in able)]
            waiting = [queue for queue in queues if queue]
            if waiting:
                return min(waiting, key=lambda queue: queue[0][:2])
        return None

    def _leave_classes(self, job: Job) -> None:
        for each in job.classes:
            each.used -= 1

    def _take_slot(self, job: Job, actions: list[Action]) -> None:
        for each in job.classes:
            each.used += 1
        if job.exclusive:
            self._alone = job
        slot = heapq.heappop(self._free)
        if job.state is State.RESUMING:
            heapq.heappush(self._parked, slot)  # its own lane it has kept
            self._set(job, State.RUNNING)
            actions.append(Resume(job))
        else:
            job.slot = slot
            self._run(job, actions)

    def _run(self, job: Job, actions: list[Action]) -> None:
        self._set(job, State.RUNNING)
        if job.mode is Mode.WAITER:
            self._set(job, State.DONE)
        actions.append(Start(job) if job.mode is Mode.DEFERRED else Grant(job))

    def _release(self, job: Job) -> None:
        """Gives a job's slot back."""
        if job.slot is not None:
            # What ends while it is paused has given its slot back; only its lane becomes free.
            paused = job.state in (State.PAUSED, State.RESUMING)
            if not paused:
                self._leave_classes(job)
            heapq.heappush(self._parked if paused else self._free, job.slot)
            job.slot = None
        if self._alone is job:
            self._alone = None

    def _retire(self, job: Job, now: int, actions: list[Action], cause: Job | None) -> None:
        """Leaves the table; followers that need what was not made are cancelled, others go on.

        By a list of those that are still to leave: chains may be as long as a build.
        """
        leaving = deque([job])
        while leaving:
            job = leaving.popleft()
            self.hazards.leave(job)
            followers, job.followers = job.followers, {}
            lost = frozenset(job.operands.writes) if cause is not None else frozenset()
            for follower in followers:
                follower.blockers.discard(job)
                if follower.state is not State.WAITING:
                    continue
                if lost and not lost.isdisjoint(follower.operands.reads):
                    self._withdraw(follower, actions, cause)
                    leaving.append(follower)
                elif not follower.blockers:
                    follower.waited_for = job
                    self._ready(follower, now, actions)

    def _cancel(self, job: Job, now: int, actions: list[Action], cause: Job | None) -> None:
        if job.state in _UNSTARTED:
            self._withdraw(job, actions, cause)
            self._retire(job, now, actions, cause=cause or job)
            self._sweep()

    def _sweep(self) -> None:
        """Takes those out of the queues that went away meanwhile; else only a free slot does."""
        if sum(map(len, self._queues())) > 2 * self.wanting + _LOOK_AHEAD:
            for queue in self._queues():
                queue[:] = [entry for entry in queue if entry[2].state in _WANTS_SLOT]
                heapq.heapify(queue)

    def _queues(self) -> Iterator[list[_Entry]]:
        for queues in ((self._urgent, self._queue), *self._full.values()):
            yield from queues

    def _withdraw(self, job: Job, actions: list[Action], cause: Job | None) -> None:
        """It will not run: a blocker that ends later must not find it."""
        self._set(job, State.CANCELLED)
        for blocker in job.blockers:
            blocker.followers.pop(job, None)
        job.blockers = NOBODY
        actions.append(Cancelled(job, cause))
