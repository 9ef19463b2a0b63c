"""Nothing is said at exit: no "never retrieved", no "was destroyed", no warning."""

import os
import subprocess
import sys

import pytest

PRELUDE = """
import asyncio, gc
from scripted_model import *

def model(**options):
    return ScriptedModel([assistant_message([text("one two three")])], **options)

def context():
    return AgentContext([user_message("hello")])
"""

PROGRAMS = {
    "nobody reads": """
async def main():
    model().stream(context())
asyncio.run(main())
""",
    "nobody awaits the result": """
async def main():
    model().stream(context()).result()
    [event async for event in model().stream(context())]
asyncio.run(main())
""",
    "a failed result that nobody awaits": """
async def main():
    stream = EventStream(lambda event: True, lambda event: 1 / 0)
    stream.push("a")
    stream = EventStream(lambda event: True, lambda event: 1 / 0)
    stream.end()
asyncio.run(main())
""",
    "a reader stops half-way": """
async def main():
    async for event in model(chunk=characters).stream(context()):
        break
asyncio.run(main())
""",
    "the program ends while a paced stream plays": """
async def main():
    async for event in model(chunk=words, pace=3600).stream(context()):
        break
asyncio.run(main())
""",
    "a paced stream is abandoned and collected": """
async def main():
    stream = model(chunk=words, pace=3600).stream(context())
    await asyncio.sleep(0)
    del stream
    gc.collect()
    await asyncio.sleep(0)
asyncio.run(main())
gc.collect()
""",
    "a loop is closed by hand while a paced stream plays": """
async def main():
    stream = model(chunk=words, pace=3600).stream(context())
    await asyncio.sleep(0)
    return stream
loop = asyncio.new_event_loop()
stream = loop.run_until_complete(main())
loop.close()
assert asyncio.run(stream.result()).stop_reason == "aborted"
""",
    "a paced stream is aborted": """
async def main():
    signal = asyncio.Event()
    stream = model(chunk=words, pace=3600).stream(context(), signal=signal)
    async for event in stream:
        signal.set()
    assert (await stream.result()).stop_reason == "aborted"
asyncio.run(main())
""",
    "readers and awaiters are cancelled": """
async def main():
    stream = model(pace=3600).stream(context())
    await anext(aiter(stream))
    tasks = [asyncio.create_task(stream.result())]
    for waiting in (stream.result(), anext(reader := aiter(stream))):
        task = asyncio.ensure_future(waiting)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
asyncio.run(main())
""",
    "an exception leaves a loop over a stream": """
async def main():
    try:
        async for event in model().stream(context()):
            raise LookupError
    except LookupError:
        pass
asyncio.run(main())
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_nothing_is_said_at_exit(program: str) -> None:
    """With warnings as errors and asyncio's debug mode, a program ends in silence."""
    environment = os.environ | {"PYTHONASYNCIODEBUG": "1", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", PRELUDE + program],
        capture_output=True,
        text=True,
        env=environment,
        timeout=50,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_the_silence_is_worth_something() -> None:
    """The same check hears a task that is left pending."""
    program = """
async def main():
    asyncio.get_running_loop().create_task(asyncio.sleep(3600))
    await asyncio.sleep(0)
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
"""
    with pytest.raises(AssertionError):
        test_nothing_is_said_at_exit(program)


def test_the_trace_is_the_same_under_every_hash_seed() -> None:
    """No output depends on the order of a set or a dict of the host."""
    program = (
        PRELUDE
        + """
async def main():
    turn = assistant_message([text("a b"), tool_call("c1", "f", {"b": 1, "a": [2]})], "toolUse")
    stream = ScriptedModel([turn], chunk=words).stream(context())
    print([event async for event in stream], await stream.result())
asyncio.run(main())
"""
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
        ).stdout
        for seed in ("0", "1", "42")
    }
    assert len(said) == 1
