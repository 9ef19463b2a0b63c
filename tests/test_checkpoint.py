"""The checkpoint: a model that keeps the contract passes, and each broken one is caught."""

import asyncio
import importlib
import logging
from typing import Any

import pytest

from scripted_model import ScriptedModel, assistant_message, characters, project, text
from scripted_model.checkpoint import BEHAVIOURS, Checkpoint, check_model, checkpoint
from tests.broken_models import (
    ZOO,
    AsyncStreamMethod,
    HonestModel,
    HonestWithOwnStream,
    HonestWithTask,
    NeverEnds,
    RaisesInTheCallbackOnExhaustion,
    RepeatsTheLastTurn,
)

module = importlib.import_module("scripted_model.checkpoint")


def judge(cls: Any, *names: str) -> Checkpoint:
    async def main() -> Any:
        return await checkpoint(cls, *names)

    return asyncio.run(main(), debug=False)


def named(found: Checkpoint, state: str) -> tuple[str, ...]:
    return tuple(row.name for row in found.rows if row.state == state)


@pytest.mark.parametrize("cls", [ScriptedModel, HonestModel, HonestWithOwnStream, HonestWithTask])
def test_an_honest_model_passes_every_behaviour(cls: type) -> None:
    """A model that keeps the contract passes, whatever its stream and its playback are made of."""
    found = judge(cls)
    assert found.passed is True, found
    assert named(found, "passed") == tuple(BEHAVIOURS)


@pytest.mark.parametrize("cls", ZOO, ids=lambda cls: cls.__name__)
def test_a_broken_model_fails_where_it_is_broken(
    cls: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each broken model is caught by the behaviour that it breaks, and no other lies."""
    monkeypatch.setattr(module, "QUIET", 0.1)
    failed, not_reached, words = ZOO[cls]
    found = judge(cls)
    assert named(found, "FAILED") == failed, found
    assert named(found, "not reached") == not_reached, found
    first = next(row for row in found.rows if row.name == failed[0])
    assert words in first.why
    assert found.passed is False
    assert repr(found).splitlines()[-2:] == [
        f"{failed[0]}: {first.why}",
        f"hint: {BEHAVIOURS[failed[0]].hint}",
    ]


def test_the_zoo_has_a_broken_model_for_every_behaviour() -> None:
    """No behaviour of the checkpoint goes unproved."""
    assert {name for failed, _, _ in ZOO.values() for name in failed} == set(BEHAVIOURS)


def test_the_table_is_stable_text() -> None:
    """The repr is the table and one hint, the same on every run."""
    assert repr(judge(RepeatsTheLastTurn)) == "\n".join(
        [
            "not quite: 13 of 14 behaviours passed",
            "  returns first       passed",
            "  snapshot            passed",
            "  one turn a call     passed",
            "  cursor at the call  passed",
            "  trace               passed",
            "  content index       passed",
            "  no future           passed",
            "  partial on time     passed",
            "  tool call           passed",
            "  one ending          passed",
            "  result              passed",
            "  exhaustion          FAILED",
            "  failure             passed",
            "  pre-abort           passed",
            "exhaustion: expected a single error event, got start → text_delta → done",
            "hint: With no turn left push one error event; do not raise, do not repeat.",
        ]
    )


class Stub:
    def __init__(self, turns: Any) -> None: ...

    def stream(self, context: Any, *, signal: Any = None) -> Any: ...


class Unfinished(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("blank", [..., None, Stub, Unfinished])
def test_a_blank_is_not_yet(blank: Any) -> None:
    """A blank is neither right nor wrong, and shows no table."""
    found = judge(blank)
    assert found.passed is None
    assert repr(found).startswith("not yet: ")
    assert len(repr(found).splitlines()) == 1


def test_an_async_stream_method_is_named_and_hides_the_rest() -> None:
    """What every behaviour needs fails once; the others are not reached."""
    found = judge(AsyncStreamMethod)
    assert named(found, "FAILED") == ("returns first",)
    assert len(named(found, "not reached")) == len(BEHAVIOURS) - 1
    assert "write `def stream`, not `async def`" in repr(found)


class PlaysInAForgottenCoroutine(HonestModel):
    async def play(self, stream: Any, turn: Any, signal: Any) -> None:
        super().play(stream, turn, signal)


class TaskThatRaises(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        self.task = asyncio.create_task(self.fail())

    async def fail(self) -> None:
        raise KeyError("先看")


def test_an_exception_in_every_playback_fails_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no playback works there is one failure, with the line; nothing after it is judged."""
    monkeypatch.setattr(module, "QUIET", 0.05)
    found = judge(TaskThatRaises)
    assert named(found, "FAILED") == ("trace",), found
    assert named(found, "passed") == ("returns first",)
    assert "got no event; your code raised KeyError: '先看' (line " in repr(found)


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (PlaysInAForgottenCoroutine, "play' was never awaited"),
        (TaskThatRaises, "your code raised KeyError: '先看' (line "),
    ],
)
def test_what_goes_wrong_in_a_callback_is_told_in_words(
    cls: type, words: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception where no one looks is the reason that is shown, and asyncio prints nothing."""
    monkeypatch.setattr(module, "QUIET", 0.05)
    with caplog.at_level(logging.WARNING, "asyncio"):
        assert words in repr(judge(cls, "one ending"))
    assert not caplog.records


def test_the_loop_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the checkpoint no task is left, and the loop's handler and task factory are back."""
    monkeypatch.setattr(module, "QUIET", 0.05)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        seen: list[Any] = []

        def handler(loop: Any, context: Any) -> None:
            seen.append(context)

        loop.set_exception_handler(handler)
        bystander = asyncio.create_task(asyncio.Event().wait())
        for cls in (HonestWithTask, RaisesInTheCallbackOnExhaustion, TaskThatRaises):
            await checkpoint(cls)
        assert asyncio.all_tasks() == {asyncio.current_task(), bystander}
        assert loop.get_exception_handler() is handler
        assert loop.get_task_factory() is None
        assert not seen
        bystander.cancel()

    asyncio.run(main())


def test_an_interrupted_checkpoint_leaves_the_loop_as_it_was() -> None:
    """A cell that is interrupted while it waits puts everything back, too."""

    async def main() -> None:
        async def cell() -> Any:
            return await checkpoint(NeverEnds, "one ending")

        waiting = asyncio.create_task(cell())
        for _ in range(5):
            await asyncio.sleep(0)
        assert asyncio.get_running_loop().get_task_factory() is not None
        waiting.cancel()
        await asyncio.wait({waiting})
        assert waiting.cancelled()
        assert asyncio.get_running_loop().get_task_factory() is None
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


class FloodsWithoutEnd(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        stream = super().stream(context, signal=signal)
        first = project(assistant_message([text("先看")]))

        class Flood:
            result = stream.result

            async def __aiter__(self) -> Any:
                event = next(first)
                await asyncio.sleep(0)
                while True:
                    yield event

        return Flood()


def test_a_flood_of_events_is_no_hang() -> None:
    """A stream that gives events for ever, without a pause, fails like one that gives too few."""
    found = judge(FloodsWithoutEnd, "trace", "one ending")
    assert found.rows[0].why == "event 1: expected text_delta at content index 0, got start"
    assert found.rows[1].why == "100 events came, and no end"


class HangsInACoroutine(HonestModel):
    def stream(self, context: Any, *, signal: Any = None) -> Any:
        stream = super().stream(context, signal=signal)
        self.task = asyncio.create_task(asyncio.Event().wait())
        return stream


def test_a_task_that_waits_for_ever_is_cancelled() -> None:
    """A model that leaves a waiting task behind passes on its merits, and the task is gone."""
    assert judge(HangsInACoroutine).passed is True


def test_without_await_the_repr_says_so() -> None:
    """A forgotten `await` starts nothing and is told in words."""
    assert repr(checkpoint(HonestModel)) == (
        "This check has to be awaited: write `await checkpoint(…)`."
    )


def test_check_model_tells_a_subset_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model half written is held to the named behaviours only."""

    async def main(cls: Any, *names: str) -> Any:
        return await check_model(cls, *names)

    assert repr(asyncio.run(main(RepeatsTheLastTurn, "snapshot", "trace"))) == (
        "passed: checked snapshot, trace."
    )
    assert repr(asyncio.run(main(RepeatsTheLastTurn, "exhaustion"))) == (
        "not quite: exhaustion: expected a single error event, got start → text_delta → done\n"
        "hint: With no turn left push one error event; do not raise, do not repeat."
    )
    assert asyncio.run(main(Stub, "trace")).passed is None


@pytest.mark.parametrize("given", [HonestModel([]), "MyModel", module])
def test_a_thing_that_is_no_class_is_told_so(given: Any) -> None:
    """An instance is answered in one sentence, not with a table of failures."""
    found = judge(given)
    assert found.passed is False
    assert repr(found) == "not quite: pass the class itself, not an instance: checkpoint(MyModel)"


def test_a_factory_serves_as_a_class() -> None:
    """What counts is that it makes a model of a list of turns."""
    assert judge(lambda turns: HonestModel(turns)).passed


def test_a_model_may_cut_its_text_and_must_not_pause() -> None:
    """Several deltas a block are fine; a pace is asked about, and nothing false is said."""
    assert judge(lambda turns: ScriptedModel(turns, chunk=characters)).passed
    found = judge(lambda turns: ScriptedModel(turns, pace=0.25), "returns first", "trace")
    assert "Is there a pace?" in repr(found)


class CannotBeBuilt(HonestModel):
    def __init__(self, turns: Any) -> None:
        raise KeyError("先看")


def test_a_model_that_cannot_be_built_fails_in_the_first_row() -> None:
    """Something is FAILED, so that there is something to repair first."""
    found = judge(CannotBeBuilt)
    assert named(found, "FAILED")[:1] == ("returns first",)
    assert "building the model: your code raised KeyError" in repr(found)


class RunsOn(HonestModel):
    def play(self, stream: Any, turn: Any, signal: Any) -> None:
        while not stream.closed:
            pass


def test_a_loop_without_an_end_is_paid_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The behaviours after the one that ran on are not reached."""
    monkeypatch.setattr(module, "LIMIT", 0.2)
    found = judge(RunsOn)
    assert len(named(found, "FAILED")) == 1
    assert len(named(found, "not reached")) >= len(BEHAVIOURS) - 2
    assert "a loop without an end?" in repr(found)
