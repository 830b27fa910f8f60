"""Where programs of one step have what they share: each reads the memory of the
first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from regather.execution import Value
from regather.library.errors import RegatherError


def list_placements(values: Iterable[Value], axes: Mapping[int, str]
                    ) -> list[tuple[str, str]]:
    """Flags by which another program has inputs, parameters and buffers where
    `values` have them along `axes`, numbers with names: of a graph without
    backward, others would be cut."""
    flags = []
    for value in values:
        cut = {axis: shard.dimension for shard in value.shards
               for axis in shard.axes}
        for number, name in axes.items():
            if value.role not in ("parameter", "buffer") and not (
                    value.role == "input" and number in cut):
                continue
            place = f"shard {cut[number]}" if number in cut else "whole"
            flags.append(("shard", f"{value.name}=[{name}] {place}"))
    return flags


def require_equal_parts(values: Iterable[Value],
                        known: Mapping[str, Value]) -> None:
    """Raises `RegatherError` if a rank has one of `values` in another part of
    the whole than what is `known` of that name: its memory would be read as
    something else."""
    for value in values:
        other = known.get(value.name)
        if other is not None and _place(value) != _place(other):
            raise RegatherError(
                f"'{value.name}' lies in {_show(other)}, but another program of "
                f"the step has it in {_show(value)}; options={{\"shard\": ...}} "
                "can say where it lies")


def _place(value: Value) -> tuple[object, ...]:
    return (value.element_type, value.shape, value.global_shape, value.shards)


def _show(value: Value) -> str:
    cuts = ", ".join(f"dimension {shard.dimension} in {shard.count} parts"
                     for shard in value.shards)
    return f"shape {list(value.shape)} ({cuts or 'whole'})"


__all__ = ["list_placements", "require_equal_parts"]
