"""Activation checkpointing as tags instead of a second run.

Traced as it is, ``torch.utils.checkpoint`` would write the recomputation into
the backward pass. Regather decides itself what is recomputed, so a
checkpointed function is traced once and its nodes carry the user's wish.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from regather.fx import private
from regather.fx.origin import Recorder
from regather.fx.private import checkpoint as upstream

_Policy = upstream.CheckpointPolicy
_NAMES = {
    _Policy.MUST_SAVE: "must_save",
    _Policy.PREFER_SAVE: "prefer_save",
    _Policy.MUST_RECOMPUTE: "must_recompute",
    _Policy.PREFER_RECOMPUTE: "prefer_recompute",
    _Policy.MUST_CPU_OFFLOAD: "offload",
    # Offloading is one way to save.
    _Policy.PREFER_CPU_OFFLOAD: "prefer_save",
}


class _Tagger(private.TorchDispatchMode):
    """Asks a selective policy about each operation."""

    def __init__(self, policy: Callable[..., Any], recorder: Recorder) -> None:
        super().__init__()
        self._policy = policy
        self._recorder = recorder

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        # The policy may look at the result, so it is asked afterwards; the
        # recorder has marked the nodes by then and is told to mend them.
        with self._recorder.deferring() as mend:
            result = func(*args, **kwargs)
        if func in private.IGNORED_OPS:
            mend("prefer_recompute")
            return result
        context = upstream.SelectiveCheckpointContext(
            is_recompute=False, op_output=result
        )
        wish = self._policy(context, func, *args, **kwargs)
        if isinstance(wish, bool):
            wish = _Policy.MUST_SAVE if wish else _Policy.PREFER_RECOMPUTE
        mend(_NAMES[wish])
        return result


@contextlib.contextmanager
def _tagging(recorder: Recorder, context_fn: Callable[[], Any]) -> Iterator[None]:
    forward, _ = context_fn()
    if private.CachingMode and isinstance(forward, private.CachingMode):
        with _Tagger(forward.policy_fn, recorder):
            yield
        return
    outer, recorder.recompute = recorder.recompute, "prefer_recompute"
    try:
        with forward:
            yield
    finally:
        recorder.recompute = outer


@contextlib.contextmanager
def as_tags(recorder: Recorder | _Nobody) -> Iterator[None]:
    """Makes checkpointed functions tag their nodes, in a ``with`` block."""

    def replacing(original: Callable[..., Any]) -> Callable[..., Iterator[None]]:
        signature = inspect.signature(original)

        def generator(*args: Any, **kwargs: Any) -> Iterator[None]:
            given = signature.bind(*args, **kwargs).arguments
            with _tagging(
                recorder, given.get("context_fn", upstream.noop_context_fn)
            ):
                yield

        return generator

    class Reentrant:
        @staticmethod
        def apply(function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
            with _tagging(recorder, upstream.noop_context_fn):
                return function(*args)

    with contextlib.ExitStack() as stack:
        for module, name in private.checkpoint_generators():
            original = getattr(module, name)
            stack.enter_context(
                mock.patch.object(module, name, replacing(original))
            )
        if hasattr(upstream, "CheckpointFunction"):
            stack.enter_context(
                mock.patch.object(upstream, "CheckpointFunction", Reentrant)
            )
        yield


class _Nobody:
    """A recorder that records nothing."""

    recompute: str | None = None

    @contextlib.contextmanager
    def deferring(self) -> Iterator[Callable[[str], None]]:
        yield lambda wish: None


@contextlib.contextmanager
def without_recomputation() -> Iterator[None]:
    """Makes checkpointed functions run once, in a ``with`` block."""
    with as_tags(_Nobody()):
        yield
