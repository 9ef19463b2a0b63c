"""The table: figures, what each is judged by, the target, and whether it is met."""

import copy
import platform
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import scripted_model as kit
from tests.benchmarks import baselines
from tests.benchmarks.measure import Run, best_seconds, import_seconds, peak_bytes, slope

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
N, CALLS = 10_000, 1_000
MESSAGE = kit.assistant_message([kit.text("好")])


def row(
    what: str, figure: str = "", value: float | None = None, unit: str = "", target: str = ""
) -> str:
    """A line of the table. The target is about `value`, and `unit` says what that counts."""
    shown = met = ""
    if value is not None:
        shown = f"{value:,.{2 if value < 100 else 0}f} {unit}"
        if target:
            sign, limit = target.split()
            reached = value <= float(limit) if sign == "<=" else value >= float(limit)
            met = "met" if reached else "NOT MET"
    return f"{what:<39} {figure:>26}   {shown:<22} {target:<8} {met}".rstrip()


async def play(message: kit.AssistantMessage, look: bool, **options: Any) -> object:
    """Ours from end to end: make the model, call it, keep each event, touch its partial.

    With `look`, the content of each partial is read and kept too: a text as long as the message
    so far. So a look costs more the longer the message; who does not look does not pay.
    """
    model, kept = kit.ScriptedModel([message], **options), []
    async for event in model.stream(kit.AgentContext([kit.user_message("请求一")])):
        so_far = getattr(event, "partial", None)
        kept.append((event, so_far.content) if look and so_far is not None else event)
    return kept


def one_text(n: int, look: bool = False) -> Run:
    message = kit.assistant_message([kit.text(baselines.DELTA * n)])
    return partial(play, message, look, chunk=kit.characters)


def many_blocks(n: int) -> Run:
    return partial(play, kit.assistant_message([kit.text(f"第{i}块") for i in range(n)]), False)


def linear() -> Iterator[str]:
    yield row(f"\nOne message of n deltas, n = {', '.join(f'{n:,}' for n in SIZES)}")
    for name, made in (("a text in n pieces", one_text), ("n text blocks", many_blocks)):
        runs: dict[str, Run] = {str(n): made(n) for n in SIZES}
        milliseconds = [1e3 * seconds for seconds in best_seconds(runs, rounds=15).values()]
        megabytes = [1e-6 * peak_bytes(run) for run in runs.values()]
        for unit, costs in (("ms", milliseconds), ("MB at most", megabytes)):
            figure = " ".join(f"{cost:.{cost < 10:d}f}" for cost in costs)
            yield row(f"  {name}: {unit}", figure, slope(SIZES, costs), "slope", "<= 1.1")


def throughput() -> Iterator[str]:
    yield row(f"\nOne message of {N:,} deltas: deltas a second")
    runs: dict[str, Run] = {
        "ours": one_text(N),
        "look": one_text(N, look=True),
        "bare": partial(baselines.bare, N),
        "copies": partial(baselines.deep_copies, N),
    }
    if installed := find_spec("pydantic_ai"):
        runs["peer"] = partial(baselines.function_model, N)
    took = best_seconds(runs, rounds=11)
    rate = {name: N / seconds for name, seconds in took.items()}
    yield row("  ours, partials touched", f"{rate['ours']:,.0f}")
    yield row("  ours, text of each partial read", f"{rate['look']:,.0f}")
    by_bare = rate["bare"] / rate["ours"]
    yield row("  bare stream, no partial", f"{rate['bare']:,.0f}", by_bare, "bare/ours", "<= 3")
    by_copies = rate["ours"] / rate["copies"]
    yield row("  a deep copy per event", f"{rate['copies']:,.0f}", by_copies, "ours/copies")
    if not installed:
        yield row("  FunctionModel: skipped, pydantic-ai-slim is not installed")
        return
    by_peer = rate["ours"] / rate["peer"]
    yield row("  FunctionModel", f"{rate['peer']:,.0f}", by_peer, "ours/peer", ">= 20")
    yield row("    when our texts are read too", "", rate["look"] / rate["peer"], "ours/peer")


async def growing_context() -> object:
    """Ours: each call recorded, played and awaited, and two messages more for the next."""
    context = kit.AgentContext([])
    model = kit.ScriptedModel([MESSAGE] * CALLS)
    for call in range(CALLS):
        context.messages.append(kit.user_message(f"请求{call}"))
        context.messages.append(await model.stream(context).result())
    return model


def snapshots() -> Iterator[str]:
    yield row(f"\n{CALLS:,} calls, the context grows by two: calls a second")
    runs: dict[str, Run] = {
        "ours": growing_context,
        "list": partial(baselines.snapshots, list, CALLS, every=1),
        "deep": partial(baselines.snapshots, copy.deepcopy, CALLS, every=10),
    }
    took = best_seconds(runs, rounds=3)
    ours, bare, deep = CALLS / took["ours"], CALLS / took["list"], CALLS / (10 * took["deep"])
    yield row("  ours, whole calls", f"{ours:,.0f}", ours, "a second", ">= 1500")
    yield row("  a list copy, nothing else", f"{bare:,.0f}", bare / ours, "list/ours")
    yield row("  a deep copy (every tenth call timed)", f"{deep:,.0f}", ours / deep, "ours/copies")


def imports() -> Iterator[str]:
    yield row("\nImport in a fresh process: ms, median of 11")
    before, ours = import_seconds(processes=11)
    yield row("  asyncio, msgspec", f"{1e3 * before:.1f}")
    yield row("  scripted_model over these", f"{1e3 * ours:.1f}", 1e3 * ours, "ms", "<= 60")


async def made(kind: Any, *fields: Any) -> object:
    return [kind(*fields) for _ in range(N)]


def values() -> Iterator[str]:
    yield row("\nMaking a value: ns")
    delta, content = (0, "好", MESSAGE), (kit.text("好"),)
    runs: dict[str, Run] = {
        "TextDelta": partial(made, kit.TextDelta, *delta),
        "of TextDelta": partial(made, baselines.DataclassDelta, *delta),
        "AssistantMessage": partial(made, kit.AssistantMessage, content),
        "of AssistantMessage": partial(made, baselines.DataclassMessage, content),
    }
    took = {name: 1e9 * s / N for name, s in best_seconds(runs, rounds=25).items()}
    for name in ("TextDelta", "AssistantMessage"):
        ours, theirs = took[name], took[f"of {name}"]
        yield row(
            f"  {name}, frozen dataclass",
            f"{ours:.0f}, {theirs:.0f}",
            theirs / ours,
            "dataclass/ours",
        )


def main() -> None:
    print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}.")
    print("Best of several rounds. A busy machine still moves a figure: run it twice.")
    for part in (linear, throughput, snapshots, imports, values):
        for line in part():
            print(line, flush=True)


if __name__ == "__main__":
    main()
