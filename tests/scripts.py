"""Scripts that nobody thought of: hypothesis strategies for messages and turns."""

import re

from hypothesis import strategies as st

from scripted_model import (
    AssistantMessage,
    FailedTurn,
    ToolCall,
    assistant_message,
    characters,
    text,
    whole,
    words,
)

TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "先看", "👩‍🚀🎉", "\x00", "\x1b[0m", "<b>half", "</script>", "a\r\nb", "\u2028"]
    ),
    st.text(max_size=30),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
BLOCKS = st.one_of(
    st.builds(text, TEXTS),
    st.builds(ToolCall, TEXTS, TEXTS, JSON, st.none() | TEXTS),
)
MESSAGES = st.builds(
    lambda content, reason, error: assistant_message(content, reason, error_message=error),
    st.lists(BLOCKS, max_size=4),
    st.sampled_from(["stop", "length", "toolUse", "error", "aborted"]),
    st.none() | TEXTS,
)
FAILED_TURNS = st.builds(
    FailedTurn, st.sampled_from(["error", "aborted"]), TEXTS, st.none() | TEXTS
)
TURNS: st.SearchStrategy[AssistantMessage | FailedTurn] = MESSAGES | FAILED_TURNS


def pairs(said: str) -> list[str]:
    return re.findall(r"(?s)..?", said)


CHUNKS = st.sampled_from([whole, characters, words, pairs])
