"""What the kit says when it is used wrongly: named errors whose message tells the fix.

A failure of the *model* is never one of these. It is an `error` event and a message whose
stop reason is "error" or "aborted" (chapter 08).
"""


class ScriptedModelError(Exception):
    """The base of every error that this package raises."""


class ContentError(ScriptedModelError, TypeError):
    """Something stands where a content block, or a list of them, is wanted."""


class ContextError(ScriptedModelError, TypeError):
    """The context of a call, or its signal, is not what a model can be called with."""


class ScriptError(ScriptedModelError, TypeError, ValueError):
    """A script cannot be played: the message names the turn by its index."""


class NoRunningLoopError(ScriptedModelError, RuntimeError):
    """`stream()` was called where no event loop runs, so nothing could ever be played."""


class PlainForError(ScriptedModelError, TypeError):
    """A stream was read with `for` instead of `async for`."""


class NotAwaitedError(ScriptedModelError, AttributeError, TypeError):
    """`stream.result()` was used as if it were the result; its `await` is missing."""


class NoResultError(ScriptedModelError, RuntimeError):
    """A stream was closed without a result, so there is none to wait for."""


class UnhandledEventError(ScriptedModelError, ValueError):
    """An event that does not end a stream was asked for the stream's result."""


class UnplayedTurnsError(ScriptedModelError, AssertionError):
    """A script has turns that no call has taken (an AssertionError: it fails a test)."""


class InvalidDataError(ScriptedModelError, ValueError):
    """Data that is not the JSON form of a value: the message names the path and what was
    expected there."""


class NotRecordableError(ScriptedModelError, TypeError):
    """Something that is no model, or no stream, was to be recorded."""
