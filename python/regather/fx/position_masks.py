"""Masks by position, known without computing them.

Models compare positions, often for each sequence of a batch and together with
other conditions that hold everywhere. An integer that depends on nothing but
its place is linear in it,

    value[i, j, ...] = constant + factors[0] * i + factors[1] * j + ...

and a truth value says whether such numbers are at most zero. So a mask of any
size is known by a handful of numbers: that it hides just what comes later, or
that it is the same for each sequence of a batch. What is not of this form is not
known.

Each node is looked at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node

_aten = torch.ops.aten
# What added to any usual score gives itself, in f32 and wider.
LOWEST = -1e30
# Masks are made of a few nodes, one behind the other.
_DEEPEST = 48


@dataclass(frozen=True)
class Linear:
    """Factors are those of the dimensions, 0 for one of size 1."""

    constant: int
    factors: tuple[int, ...]

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """Dimensions are broadcast as those of tensors."""
        rank = max(len(self.factors), len(other.factors))
        mine, others = (one.with_rank(rank).factors for one in (self, other))
        return Linear(self.constant + times * other.constant,
                       tuple(a + times * b for a, b in zip(mine, others)))

    def with_rank(self, rank: int) -> Linear:
        return Linear(self.constant,
                       (0,) * (rank - len(self.factors)) + self.factors)

    def times(self, number: int) -> Linear:
        return Linear(self.constant * number,
                       tuple(factor * number for factor in self.factors))

    def bounds(self, shape: list[int]) -> tuple[int, int]:
        """The least and the greatest value."""
        ends = [factor * (size - 1) for factor, size in zip(self.factors, shape)]
        return (self.constant + sum(min(end, 0) for end in ends),
                self.constant + sum(max(end, 0) for end in ends))


@dataclass(frozen=True)
class Known:
    """An integer; or, with ``numbers``, the first where it and ``others`` are at
    most zero and the second elsewhere. Numbers of truth values are True and
    False."""

    linear: Linear
    numbers: tuple[float, float] | None = None
    others: tuple[Linear, ...] = ()

    @property
    def linears(self) -> tuple[Linear, ...]:
        return (self.linear, *self.others)

    def map(self, function: Callable[[Linear], Linear | None]) -> Known | None:
        mapped = [function(linear) for linear in self.linears]
        if any(one is None for one in mapped):
            return None
        first, *others = (one for one in mapped if one is not None)
        return replace(self, linear=first, others=tuple(others))


class PositionMasks:
    """Masks of one graph."""

    def __init__(self) -> None:
        self._known: dict[Node, Known | None] = {}

    def hides_later(self, mask: Node, hidden: bool | None = None) -> bool:
        """Whether what ``mask`` adds to square scores, or hides where it is
        ``hidden``, is what has a later column than row."""
        shape = _shape(mask)
        if shape is None or len(shape) < 2 or shape[-2] != shape[-1]:
            return False
        known = self._find(mask)
        if known is None or known.numbers is None or known.others:
            return False
        numbers = known.numbers
        if hidden is not None:
            numbers = tuple(-math.inf if number == hidden else 0.0
                            for number in numbers)
        linear = known.linear
        if numbers[0] <= LOWEST and numbers[1] == 0:
            # Of integers, what is not at most zero is at least one.
            linear = Linear(1, ()).plus(linear, -1)
        elif not (numbers[0] == 0 and numbers[1] <= LOWEST):
            return False
        *outer, row, column = linear.with_rank(len(shape)).factors
        return (not any(outer) and row < 0 and column == -row
                and -column < linear.constant <= 0)

    def find_shared(self, mask: Node) -> Known | None:
        """What is known of a mask that is the same for everything but rows and
        columns, with linear numbers of these two."""
        shape, known = _shape(mask), self._find(mask)
        if shape is None or len(shape) < 2 or known is None or (
                known.numbers is None):
            return None

        def take_last(linear: Linear) -> Linear | None:
            factors = linear.with_rank(len(shape)).factors
            return (None if any(factors[:-2])
                    else Linear(linear.constant, factors[-2:]))

        return known.map(take_last)

    def _find(self, node: Any, depth: int = 0) -> Known | None:
        if not isinstance(node, Node):
            return None
        if node not in self._known:
            self._known[node] = None
            if node.op == "call_function" and depth < _DEEPEST:
                self._known[node] = self._look(node, depth + 1)
        return self._known[node]

    def _operand(self, operand: Any, depth: int) -> Known | None:
        """Of an operation with a number or a tensor."""
        if isinstance(operand, bool):
            return Known(Linear(0, ()), (operand, operand))
        if isinstance(operand, int):
            return Known(Linear(operand, ()))
        if isinstance(operand, float):
            return Known(Linear(0, ()), (operand, operand))
        return self._find(operand, depth)

    # Operators

    def _look(self, node: Node, depth: int) -> Known | None:
        shape = _shape(node)
        if shape is None or 0 in shape:
            return None
        if node.target in _MADE:
            return _MADE[node.target](node, shape)
        if node.target in _VIEWS:
            known = self._find(node.args[0], depth)
            before = _shape(node.args[0])
            if known is None or before is None:
                return None
            view = _VIEWS[node.target]
            return known.map(lambda linear: view(
                node, linear.with_rank(len(before)), before, shape))
        if node.target is _aten._to_copy.default:
            return _convert(self._find(node.args[0], depth), node)
        if node.target in _ARITHMETIC:
            return self._calculate(node, depth)
        if node.target in _COMPARISONS:
            return self._compare(node, depth)
        if node.target in _CONJUNCTIONS:
            return self._combine(node, shape, depth)
        if node.target in (_aten.logical_not.default, _aten.bitwise_not.default):
            known = self._find(node.args[0], depth)
            if known is None or not _is_truth(known):
                return None
            assert known.numbers is not None
            return replace(known, numbers=(not known.numbers[0],
                                           not known.numbers[1]))
        if node.target in (_aten.where.self, _aten.masked_fill.Scalar,
                           _aten.masked_fill.Tensor):
            return self._choose(node, shape, depth)
        if node.target in (_aten.tril.default, _aten.triu.default):
            return self._cut(node, shape, depth)
        if node.target is _aten.cat.default:
            return self._join(node, depth)
        if node.target is _aten.index.Tensor:
            return self._look_up(node, depth)
        if node.target is _aten.cumsum.default:
            return self._count(node, shape, depth)
        return None

    def _calculate(self, node: Node, depth: int) -> Known | None:
        """A sum, a difference or a product."""
        if node.kwargs or len(node.args) != 2:
            return None
        a, b = (self._operand(operand, depth) for operand in node.args)
        if node.target is _aten.rsub.Scalar:
            a, b = b, a
        if a is None or b is None or _is_truth(a) or _is_truth(b):
            return None
        sign = _ARITHMETIC[node.target]
        if a.numbers is None and b.numbers is None:
            if sign:
                return Known(a.linear.plus(b.linear, sign))
            if any(b.linear.factors):
                a, b = b, a
            return (None if any(b.linear.factors)
                    else Known(a.linear.times(b.linear.constant)))
        first, second = _as_number(a), _as_number(b)
        function: Callable[[float, float], float] = (
            (lambda x, y: x + sign * y) if sign else lambda x, y: x * y)
        if second is not None and a.numbers is not None:
            return replace(a, numbers=_both(lambda x: function(x, second),
                                            a.numbers))
        if first is not None and b.numbers is not None:
            return replace(b, numbers=_both(lambda y: function(first, y),
                                            b.numbers))
        return None

    def _compare(self, node: Node, depth: int) -> Known | None:
        a, b = (self._operand(operand, depth) for operand in node.args[:2])
        if a is None or b is None:
            return None
        relation = _COMPARISONS[node.target]
        if a.numbers is not None and (number := _as_number(b)) is not None:
            return replace(a, numbers=_both(lambda x: relation(x, number),
                                            a.numbers))
        if a.numbers is not None or b.numbers is not None:
            return None
        difference = a.linear.plus(b.linear, -1)
        if not any(difference.factors):
            is_so = relation(difference.constant, 0)
            return Known(Linear(0, (0,) * len(difference.factors)),
                          (is_so, is_so))
        # At most zero, or at most minus one.
        if relation(0, 1) and not relation(1, 0):
            return Known(difference.plus(Linear(int(not relation(0, 0)), ())),
                          (True, False))
        if relation(1, 0) and not relation(0, 1):
            return Known(difference.times(-1).plus(
                Linear(int(not relation(0, 0)), ())), (True, False))
        return None

    def _combine(self, node: Node, shape: list[int], depth: int) -> Known | None:
        """`and`, and `or` of which one operand is the same everywhere."""
        operands = [self._operand(operand, depth) for operand in node.args]
        if any(one is None or not _is_truth(one) for one in operands):
            return None
        is_and = _CONJUNCTIONS[node.target]
        for one, other in (operands, operands[::-1]):
            assert one is not None
            everywhere = _get_constant(one, shape)
            if everywhere is not None:
                return other if bool(everywhere) == is_and else one
        both = [_hold_where_low(one) for one in operands if one is not None]
        if not is_and or None in both:
            return None
        first, second = (one for one in both if one is not None)
        return replace(first, others=(*first.others, *second.linears))

    def _choose(self, node: Node, shape: list[int], depth: int) -> Known | None:
        if node.target is _aten.where.self:
            condition, chosen, others = node.args
        else:
            others, condition, chosen = node.args
        truth = self._find(condition, depth)
        numbers = [_as_number(self._operand(one, depth))
                   for one in (chosen, others)]
        if truth is None or not _is_truth(truth) or None in numbers:
            return None
        assert truth.numbers is not None
        return replace(truth, numbers=_both(
            lambda is_so: numbers[0] if is_so else numbers[1], truth.numbers))

    def _cut(self, node: Node, shape: list[int], depth: int) -> Known | None:
        """A triangle of one number, with zeros besides."""
        number = _as_number(self._find(node.args[0], depth))
        diagonal = node.args[1] if len(node.args) > 1 else 0
        if number is None or not isinstance(diagonal, int) or len(shape) < 2:
            return None
        # Column - row is at most the diagonal, or the other way round.
        sign = 1 if node.target is _aten.tril.default else -1
        zero: float = False if node.meta["val"].dtype == torch.bool else 0.0
        return Known(Linear(-sign * diagonal, (*(0 for _ in shape[:-2]),
                                                 -sign, sign)), (number, zero))

    def _join(self, node: Node, depth: int) -> Known | None:
        """Pieces of one linear number."""
        pieces: Any = node.args[0]
        found: Linear | None = None
        length = 0
        for piece in pieces:
            known, shape = self._find(piece, depth), _shape(piece)
            if known is None or known.numbers is not None or not shape:
                return None
            dim = _normalized(node.args[1] if len(node.args) > 1 else 0,
                              len(shape))
            linear = known.linear.with_rank(len(shape))
            if found is not None:
                linear = _continue(found, length, linear, shape[dim], dim)
                if linear is None:
                    return None
            found = linear
            length += shape[dim]
        return None if found is None else Known(found)

    def _look_up(self, node: Node, depth: int) -> Known | None:
        """What is at places that are linear themselves."""
        source, shape = self._find(node.args[0], depth), _shape(node.args[0])
        places: Any = node.args[1]
        if source is None or source.others or shape is None or (
                len(places) != len(shape)):
            return None
        result = Linear(source.linear.constant, ())
        for place, factor, size in zip(
                places, source.linear.with_rank(len(shape)).factors, shape):
            known = self._find(place, depth)
            if known is None or known.numbers is not None:
                return None
            own = _shape(place) or []
            least, greatest = known.linear.with_rank(len(own)).bounds(own)
            if least < 0 or greatest >= size:
                return None
            result = result.plus(known.linear, factor)
        return replace(source, linear=result)

    def _count(self, node: Node, shape: list[int], depth: int) -> Known | None:
        number = _as_number(self._find(node.args[0], depth))
        if number is None or number != int(number) or node.kwargs:
            return None
        dim = _normalized(node.args[1], len(shape))
        return Known(Linear(int(number), tuple(
            int(number) if i == dim and size != 1 else 0
            for i, size in enumerate(shape))))


def _continue(first: Linear, length: int, second: Linear, size: int, dim: int
              ) -> Linear | None:
    """``size`` elements behind ``length`` others, if both are linear together.
    One element alone has any factor."""
    step = second.constant - first.constant
    factor = (first.factors[dim] if length > 1 else
              second.factors[dim] if size > 1 else step)
    if step != factor * length or (size > 1 and second.factors[dim] != factor):
        return None
    factors, others = list(first.factors), list(second.factors)
    factors[dim] = others[dim] = factor
    return Linear(first.constant, tuple(factors)) if factors == others else None


# -----------------------------------------------------------------------------
# What is made of nothing
# -----------------------------------------------------------------------------

def _make_range(node: Node, shape: list[int]) -> Known | None:
    if not _is_integer(node) or not all(isinstance(a, int) for a in node.args):
        return None
    start = 0 if node.target is _aten.arange.default else node.args[0]
    step = node.args[2] if len(node.args) > 2 else 1
    return Known(Linear(start, (0 if shape[0] == 1 else step,)))


def _fill(number: Any) -> Callable[[Node, list[int]], Known | None]:
    """``number``, or the argument that it is the position of."""

    def make(node: Node, shape: list[int]) -> Known | None:
        value = node.args[number] if isinstance(number, int) else float(number)
        if not isinstance(value, int | float):
            return None
        zeros = (0,) * len(shape)
        if node.meta["val"].dtype == torch.bool:
            return Known(Linear(0, zeros), (bool(value), bool(value)))
        if _is_integer(node):
            return Known(Linear(int(value), zeros))
        return Known(Linear(0, zeros), (float(value), float(value)))

    return make


_MADE: dict[Any, Callable[[Node, list[int]], Known | None]] = {
    _aten.arange.default: _make_range,
    _aten.arange.start: _make_range,
    _aten.arange.start_step: _make_range,
    _aten.full.default: _fill(1),
    _aten.full_like.default: _fill(1),
    _aten.new_full.default: _fill(2),
    _aten.scalar_tensor.default: _fill(0),
    _aten.zeros.default: _fill(0.0),
    _aten.zeros_like.default: _fill(0.0),
    _aten.new_zeros.default: _fill(0.0),
    _aten.ones.default: _fill(1.0),
    _aten.ones_like.default: _fill(1.0),
    _aten.new_ones.default: _fill(1.0),
}


# -----------------------------------------------------------------------------
# Views
# -----------------------------------------------------------------------------

def _same(node: Node, linear: Linear, before: list[int], shape: list[int]
          ) -> Linear | None:
    return linear


def _expand(node: Node, linear: Linear, before: list[int], shape: list[int]
            ) -> Linear | None:
    return linear.with_rank(len(shape))


def _reshape(node: Node, linear: Linear, before: list[int], shape: list[int]
             ) -> Linear | None:
    """Dimensions of size 1 come and go."""
    kept = [factor for factor, size in zip(linear.factors, before) if size != 1]
    if [size for size in before if size != 1] != [
            size for size in shape if size != 1]:
        # Of a constant the elements may be counted in any way.
        return None if any(kept) else Linear(linear.constant, (0,) * len(shape))
    return Linear(linear.constant, tuple(
        0 if size == 1 else kept.pop(0) for size in shape))


def _permute(node: Node, linear: Linear, before: list[int], shape: list[int]
             ) -> Linear | None:
    dims: Any = (list(range(len(before))) if node.target is _aten.transpose.int
                 else node.args[1])
    if node.target is _aten.transpose.int:
        a, b = (_normalized(dim, len(before)) for dim in node.args[1:3])
        dims[a], dims[b] = b, a
    return Linear(linear.constant, tuple(
        linear.factors[_normalized(dim, len(before))] for dim in dims))


def _slice(node: Node, linear: Linear, before: list[int], shape: list[int]
           ) -> Linear | None:
    given = (*node.args[1:], *(0, 0, None, 1)[len(node.args) - 1:])
    dim, start, _, step = given
    if not isinstance(step, int) or not isinstance(start, int | None):
        return None
    dim = _normalized(dim, len(before))
    start, _, _ = slice(start, None).indices(before[dim])
    factor = linear.factors[dim]
    factors = list(linear.factors)
    factors[dim] = 0 if shape[dim] == 1 else factor * step
    return Linear(linear.constant + factor * start, tuple(factors))


def _select(node: Node, linear: Linear, before: list[int], shape: list[int]
            ) -> Linear | None:
    dim = _normalized(node.args[1], len(before))
    place = _normalized(node.args[2], before[dim])
    factors = list(linear.factors)
    return Linear(linear.constant + factors.pop(dim) * place, tuple(factors))


_VIEWS: dict[Any, Callable[[Node, Linear, list[int], list[int]],
                           Linear | None]] = {
    _aten.alias.default: _same,
    _aten.clone.default: _same,
    _aten.detach.default: _same,
    _aten.lift_fresh_copy.default: _same,
    _aten.expand.default: _expand,
    _aten._unsafe_view.default: _reshape,
    _aten.squeeze.default: _reshape,
    _aten.squeeze.dim: _reshape,
    _aten.squeeze.dims: _reshape,
    _aten.unsqueeze.default: _reshape,
    _aten.view.default: _reshape,
    _aten.permute.default: _permute,
    _aten.transpose.int: _permute,
    _aten.select.int: _select,
    _aten.slice.Tensor: _slice,
}


# -----------------------------------------------------------------------------
# Numbers and truth values
# -----------------------------------------------------------------------------

# 0 for products.
_ARITHMETIC: dict[Any, int] = {
    _aten.add.Tensor: 1, _aten.add.Scalar: 1, _aten.sub.Tensor: -1,
    _aten.sub.Scalar: -1, _aten.rsub.Scalar: -1, _aten.mul.Tensor: 0, _aten.mul.Scalar: 0}

_COMPARISONS: dict[Any, Callable[[float, float], bool]] = {
    getattr(getattr(_aten, name), kind): relation
    for name, relation in (
        ("le", lambda x, y: x <= y), ("lt", lambda x, y: x < y),
        ("ge", lambda x, y: x >= y), ("gt", lambda x, y: x > y),
        ("eq", lambda x, y: x == y), ("ne", lambda x, y: x != y))
    for kind in ("Tensor", "Scalar")}

# True for `and`.
_CONJUNCTIONS: dict[Any, bool] = {
    _aten.bitwise_and.Tensor: True, _aten.logical_and.default: True,
    _aten.bitwise_or.Tensor: False, _aten.logical_or.default: False}


def _both(function: Callable[[float], Any], numbers: tuple[float, float]
          ) -> tuple[Any, Any]:
    return function(numbers[0]), function(numbers[1])


def _hold_where_low(known: Known) -> Known | None:
    """A truth value that is true where all its numbers are at most zero."""
    if known.numbers == (True, False):
        return known
    if known.numbers != (False, True) or known.others:
        return None
    # Of integers, what is not at most zero is at least one.
    return Known(Linear(1, ()).plus(known.linear, -1), (True, False))


def _is_truth(known: Known) -> bool:
    return known.numbers is not None and isinstance(known.numbers[0], bool)


def _as_number(known: Known | None) -> float | None:
    """What is the same everywhere by its form."""
    if known is None:
        return None
    if known.numbers is None:
        return None if any(known.linear.factors) else known.linear.constant
    a, b = known.numbers
    return a if a == b else None


def _get_constant(known: Known, shape: list[int]) -> float | None:
    """What is the same everywhere in a tensor of this shape."""
    assert known.numbers is not None
    if known.numbers[0] == known.numbers[1]:
        return known.numbers[0]
    bounds = [linear.with_rank(len(shape)).bounds(shape)
              for linear in known.linears]
    if all(greatest <= 0 for _, greatest in bounds):
        return known.numbers[0]
    return (known.numbers[1] if any(least > 0 for least, _ in bounds) else None)


def _convert(known: Known | None, node: Node) -> Known | None:
    """Casts: integers stay what they are, others become other numbers."""
    if known is None:
        return None
    dtype = node.meta["val"].dtype
    if known.numbers is None:
        if _is_integer(node):
            return known
        # A number that is the same everywhere.
        number = _as_number(known)
        if number is None:
            return None
        known = Known(known.linear.times(0), (number, number))
    assert known.numbers is not None
    if _is_integer(node):
        number = _as_number(known)
        return (None if number is None or number != int(number)
                else Known(Linear(int(number), known.linear.times(0).factors)))
    return replace(known, numbers=_both(
        bool if dtype == torch.bool else float, known.numbers))


def _is_integer(node: Node) -> bool:
    return node.meta["val"].dtype in (torch.int64, torch.int32)


def _shape(node: Any) -> list[int] | None:
    value = node.meta.get("val") if isinstance(node, Node) else None
    if not isinstance(value, torch.Tensor):
        return None
    return (list(value.shape)
            if all(isinstance(size, int) for size in value.shape) else None)


def _normalized(dim: Any, rank: int) -> int:
    return int(dim) % max(rank, 1)


__all__ = ["LOWEST", "Known", "Linear", "PositionMasks"]
