"""How the figures are taken. The garbage collector stays on, as it does for users."""

import asyncio
import gc
import math
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

Run = Callable[[], Coroutine[Any, Any, object]]
"""One run of a contender. What it returns is kept until the clock has stopped."""

_fine = time.get_clock_info("process_time").resolution < 1e-5  # it is not on Windows
_clock = time.process_time if _fine else time.perf_counter  # other programs' time is not ours


def best_seconds(contenders: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """The shortest time of each. They take turns, so that a busy moment hits them all alike."""

    async def measure() -> dict[str, float]:
        best = dict.fromkeys(contenders, math.inf)
        for _ in range(rounds):
            for name, run in contenders.items():
                gc.collect()
                start = _clock()
                kept = await run()
                best[name] = min(best[name], _clock() - start)
                del kept
        return best

    return asyncio.run(measure())


def peak_bytes(run: Run) -> int:
    """The most memory that a run held at once, in a run of its own: tracing slows it down."""
    tracemalloc.start()
    asyncio.run(run())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def slope(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The power of n with which a cost grows: least squares through the logarithms."""
    return statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, costs)]).slope


def import_seconds(processes: int) -> tuple[float, float]:
    """What `import asyncio, msgspec` takes, and what `import scripted_model` takes after it.

    Medians over fresh processes; one more before them fills the caches on disk.
    """
    program = (
        "from time import perf_counter as now; a = now(); import asyncio, msgspec; b = now();"
        " import scripted_model; print(b - a, now() - b)"
    )
    command = [sys.executable, "-c", program]
    lines = [subprocess.check_output(command, text=True) for _ in range(processes + 1)]
    before, ours = zip(*(map(float, line.split()) for line in lines[1:]), strict=True)
    return statistics.median(before), statistics.median(ours)
