"""Operators that capturing takes apart, against those of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="capturing needs PyTorch")
pytest.importorskip("transformers", reason="most captured models are from there")

from captured_models import (FILES, RUNS, Step, execute, find_errors,  # noqa: E402
                             keep)
from regather_tools import run_tool  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from regather.fx import decompositions as table  # noqa: E402
from regather.fx.operators import foreach  # noqa: E402
from regather.fx.replay import SameDraws  # noqa: E402

_aten = torch.ops.aten

# -----------------------------------------------------------------------------
# Each by itself, in double precision
# -----------------------------------------------------------------------------


def values(*shape: int) -> Any:
    return torch.randn(shape, dtype=torch.float64)


def pairs(*shape: int) -> Any:
    return torch.randn(*shape, dtype=torch.complex128)


def mask(*shape: int) -> Any:
    return values(*shape) > 0


SPECIAL = torch.tensor(
    [-7.3, -2.5, -2, -1, -0.7, -1e-3, -0.0, 0, 1e-3, 0.3, 0.4999, 0.5, 0.7, 1, 1.0001,
     1.5, 2, 3, 7.5, 8, 9, 20, 1e3, 1e10, math.inf, -math.inf, math.nan],
    dtype=torch.float64)
ORDERED = torch.tensor([[3.0, 1, 2, 2, math.nan], [5, 4, 3, 2, 1],
                        [math.nan] * 5, [1, 1, 2, 0, -math.inf]])
SIZES = (1, 2, 7, 64, 65, 97, 128, 360)
OFFSETS = torch.tensor([0, 2, 2, 5])
ROWS = torch.tensor([0, 3, 3, 1, 5, 2, 0, 4, 5])


def fourier_cases() -> list[Any]:
    cases: list[Any] = []
    for size in SIZES:
        x = pairs(2, size)
        cases += [(_aten._fft_c2c.default, x, [1], n, bool(n % 2)) for n in range(3)]
        cases += [(_aten._fft_r2c.default, x.real, [1], 0, one) for one in (True, False)]
        cases += [(_aten._fft_c2r.default, torch.fft.rfft(x.real), [1], 2, size)]
    x = pairs(4, 6, 5)
    return [*cases, (_aten._fft_c2c.default, x, [0, 2], 1, True),
            (_aten._fft_r2c.default, x.real, [2, 1], 0, True),
            (_aten._fft_c2r.default, x, [0, 1], 0, 11)]


def grid_cases() -> list[Any]:
    cases: list[Any] = []
    for sizes, shape in (((5, 6), (3, 4)), ((3, 5, 1), (2, 3, 2))):
        op, backward = ((_aten.grid_sampler_2d, _aten.grid_sampler_2d_backward)
                        if len(sizes) == 2
                        else (_aten.grid_sampler_3d, _aten.grid_sampler_3d_backward))
        image = values(2, 3, *sizes)
        grid = torch.rand(2, *shape, len(sizes), dtype=torch.float64) * 5 - 2.5
        for mode in range(2):
            for padding in range(3):
                for align in (False, True):
                    how = (mode, padding, align)
                    cases += [(op.default, image, grid, *how),
                              (backward.default, values(2, 3, *shape), image, grid,
                               *how, [True, True])]
    return cases


def image_cases() -> list[Any]:
    cases: list[Any] = []
    for old, new in ((7, 3), (5, 9), (10, 7)):
        image, to = values(1, 2, old, old + 1), [new, new + 1]
        for op, backward in (
            (_aten._upsample_bilinear2d_aa, _aten._upsample_bilinear2d_aa_backward),
            (_aten._upsample_bicubic2d_aa, _aten._upsample_bicubic2d_aa_backward),
        ):
            cases += [(op.default, image, to, False),
                      (backward.default, values(1, 2, *to), to, list(image.shape), False)]
    for dims, pool, pool_backward, pad in (
        (2, _aten.adaptive_max_pool2d, _aten.adaptive_max_pool2d_backward,
         _aten.replication_pad2d_backward),
        (3, _aten.adaptive_max_pool3d, _aten.adaptive_max_pool3d_backward,
         _aten.replication_pad3d_backward),
    ):
        image = values(2, 3, *(7, 4, 5)[:dims])
        for to in ([3, 4, 2], [7, 2, 5], [1, 1, 1]):
            _, places = pool.default(image, to[:dims])
            cases += [(pool.default, image, to[:dims]),
                      (pool_backward.default, values(*places.shape), image, places)]
        padding = [1, 2, 0, 3, 2, 0][:2 * dims]
        padded = F.pad(image, padding, mode="replicate")
        cases += [(pad.default, values(*padded.shape), image, padding)]
    line = values(2, 3, 4)
    return [*cases, (_aten.replication_pad1d_backward.default, values(2, 3, 6), line,
                     [3, -1])]


def bag_cases() -> list[Any]:
    weight, cases = values(6, 3), []
    for mode in range(2):
        for padding in (-1, 3):
            for weighed in (None, values(9))[: 2 - mode]:
                bags = (ROWS, OFFSETS)
                found = _aten._embedding_bag.default(
                    weight, *bags, False, mode, False, weighed, False, padding)
                cases += [
                    (_aten._embedding_bag.default, weight, *bags, False, mode, False,
                     weighed, False, padding),
                    (_aten._embedding_bag_forward_only.default, weight, ROWS,
                     torch.tensor([0, 2, 2, 5, 9]), False, mode, False, weighed, True,
                     padding),
                    (_aten._embedding_bag_backward.default, values(4, 3), *bags,
                     *found[1:], 6, False, mode, False, weighed, padding)]
                if weighed is not None:
                    cases += [(_aten._embedding_bag_per_sample_weights_backward.default,
                               values(4, 3), weight, *bags, found[1], mode, padding)]
    return cases


def selecting_cases() -> list[Any]:
    index, source = torch.tensor([0, 2, 2, 1]), values(4, 5)
    reduced = [(_aten.index_reduce.default, values(3, 5), 0, index, source, how)
               for how in ("amax", "amin", "mean", "prod")]
    wanted = mask(3, 5)
    return [
        *bag_cases(), *reduced,
        *((_aten.kthvalue.default, values(4, 5), k, dim) for k in (1, 4) for dim in (0, 1)),
        (_aten.masked_scatter.default, values(3, 5), wanted, values(4, 5)),
        (_aten.masked_scatter.default, values(2, 3, 5), wanted, values(40)),
        (_aten.masked_scatter_backward.default, values(3, 5), wanted, [4, 5]),
        *((op, ORDERED, dim) for dim in (0, 1)
          for op in (_aten.median.dim, _aten.nanmedian.dim)),
        *((op, x) for x in (ORDERED, ORDERED[1], torch.tensor([3, 1, 2, 7]))
          for op in (_aten.median.default, _aten.nanmedian.default)),
        *((_aten.put.default, values(3, 5), torch.tensor([[1, 7], [1, 14]]),
           torch.ones(2, 2, dtype=torch.float64), adds) for adds in (False, True)),
    ]


def distance_cases() -> list[Any]:
    cases: list[Any] = []
    left, right = values(2, 4, 3), values(2, 3, 3)
    # Rows that are equal, and such that agree in one element.
    right[:, 0] = left[:, 1]
    right[:, 1, 2] = left[:, 0, 2]
    rows = torch.cat([left[0], right[0]])
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf):
        distance = _aten._cdist_forward.default(left, right, p, None)
        cases += [(_aten._cdist_forward.default, left, right, p, None),
                  (_aten._cdist_backward.default, values(2, 4, 3), left, right, p,
                   distance)]
        near = _aten._pdist_forward.default(rows, p)
        cases += [(_aten._pdist_forward.default, rows, p),
                  (_aten._pdist_backward.default, values(*near.shape), rows, p, near)]
    return [*cases, (_aten._trilinear.default, values(4, 3), values(5, 3, 2),
                     values(4, 2), [1, 3], [0], [1, 2], [2, 3])]


def special_cases() -> list[Any]:
    near_one = torch.tensor([0.0, 1e-300, -0.3, 0.9, 1 - 1e-7, -1 + 1e-12, 1, -1, 1.5,
                             math.nan], dtype=torch.float64)
    return [
        (_aten.digamma.default, SPECIAL), (_aten.lgamma.default, SPECIAL),
        (_aten.lgamma.default, torch.tensor([1, 2, 5])),
        (_aten.polygamma.default, 0, SPECIAL),
        (_aten.erfinv.default, near_one),
        (_aten.ldexp.Tensor, values(3, 4), torch.tensor([1, -2, 3, 0])),
        *((_aten.signbit.default, x) for x in (SPECIAL, -SPECIAL, torch.arange(-2, 2))),
    ]


def complex_cases() -> list[Any]:
    z = pairs(3, 4)
    z[0, 0] = 2
    far = torch.tensor([300 + 1j, -300 - 2j, 1e-9 + 1e-9j, 0], dtype=torch.complex128)
    alike = (_aten.cos, _aten.cosh, _aten.expm1, _aten.log, _aten.log10, _aten.log1p,
             _aten.log2, _aten.prod, _aten.reciprocal, _aten.rsqrt, _aten.sin, _aten.sinh,
             _aten.sqrt, _aten.tanh, _aten._neg_view)
    return [
        *((op.default, z) for op in alike), (_aten.tanh.default, far),
        (_aten.expm1.default, far[1:]), (_aten.log1p.default, far[:3]),
        *((op, z, 2) for op in (_aten.eq.Scalar, _aten.ne.Scalar)),
        *((_aten.pow.Tensor_Scalar, z, e) for e in (1, 2, 7, 2.5, -1)),
        *((_aten.cumprod.default, z, dim) for dim in (0, 1, -1)),
        *((_aten.prod.dim_int, z, dim, keep) for dim in (0, 1) for keep in (False, True)),
        (_aten.var.correction, z, [0]), (_aten.var.correction, z, None),
        (_aten.linalg_vector_norm.default, z), (_aten.linalg_vector_norm.default, z, 3, [1]),
        (_aten.addmm.default, z[:, :3], z, z.mT),
    ]


# Of a clock that ticks at one rate, any may be first: PyTorch draws as we do.
def drawing_cases() -> list[Any]:
    rates = values(3, 5).abs()
    return [(_aten.multinomial.default, rates, n) for n in (1, 3)]


# Equal labels in a row, an empty target, padding of any kind, samples in which
# nothing fits, and what takes no time.
def alignment_cases() -> list[Any]:
    cases: list[Any] = []
    for steps, inputs, lengths in (
        (9, [9, 7, 3, 9], [4, 4, 4, 1]), (6, [6, 5, 6], [3, 0, 2]), (1, [1, 1], [1, 0]),
        (5, [0, 0], [0, 1]),
    ):
        classes, batch, most = 5, len(inputs), max(lengths) + 1
        labels = torch.randint(1, classes, (batch, most))
        labels[:, 1] = labels[:, 0]
        flat = torch.cat([row[:n] for row, n in zip(labels, lengths)])
        for row, n in zip(labels, lengths):
            row[n:] = -100
        for targets in (labels, flat):
            scores = values(steps, batch, classes).log_softmax(2)
            for how in ((inputs, lengths), (torch.tensor(inputs), torch.tensor(lengths))):
                name = "Tensor" if isinstance(how[0], torch.Tensor) else "default"
                op = getattr(_aten._ctc_loss, name)
                backward = getattr(_aten._ctc_loss_backward, name)
                found = op(scores, targets, *how)
                cases += [(op, scores, targets, *how, 0, False)]
                cases += [(backward, values(batch), scores, targets, *how, *found, 0, zero)
                          for zero in (False, True)]
    return cases


# Of all operators on lists: what optimizers, clipping and averages call.
def foreach_cases() -> list[Any]:
    a, b, c = ([values(2, 3), values(4), values()] for _ in range(3))
    up = [x.abs() + 1.5 for x in a]
    scale, one, each = values(), torch.tensor([0.5, 2, -1.5]), [0.5, 2.0, -1.5]
    at_least_one = ("log", "log10", "log1p", "log2", "lgamma", "reciprocal", "rsqrt",
                    "sqrt")
    within_one = ("acos", "asin")
    unary = {
        name: [x.tanh() for x in a] if name in within_one
        else up if name in at_least_one else a for name in foreach._UNARY}
    cases: list[Any] = [
        (getattr(_aten, f"_foreach_{name}").default, inputs)
        for name, inputs in unary.items()
        # Not in every PyTorch.
        if hasattr(_aten, f"_foreach_{name}")]
    for name in ("add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum",
                 "minimum"):
        op = getattr(_aten, f"_foreach_{name}")
        cases += [(op.Scalar, a, 0.75), (op.List, a, b), (op.ScalarList, a, each)]
    cases += [(getattr(_aten, f"_foreach_{name}").Tensor, a, scale)
              for name in ("add", "mul", "div")]
    for op in (_aten._foreach_addcdiv, _aten._foreach_addcmul):
        cases += [(op.Scalar, a, b, c, -0.5), (op.Scalar, a, b, c),
                  (op.ScalarList, a, b, c, each), (op.Tensor, a, b, c, one)]
    lerp, power = _aten._foreach_lerp, _aten._foreach_pow
    cases += [(lerp.Scalar, a, b, 0.3), (lerp.ScalarList, a, b, each),
              (lerp.List, a, b, c),
              (power.Scalar, up, 1.5), (power.ScalarList, up, each),
              (power.List, up, b), (power.ScalarAndTensor, 0.9, a),
              *((_aten._foreach_norm.Scalar, a, order) for order in (1, 2, math.inf)),
              (_aten._foreach_norm.Scalar, [x.float() for x in a], 2, torch.float64),
              (_aten._foreach_copy.default, a, b), (_aten._foreach_zero.default, a)]
    return cases


# Contiguous or not, since PyTorch factorizes what needs no copy.
def factorization_cases() -> list[Any]:
    a, right = values(2, 4, 4), values(3, 1, 4, 5)
    lu, pivots, _ = torch.linalg.lu_factor_ex(a)
    lower = torch.linalg.cholesky(a @ a.mT + torch.eye(4, dtype=torch.float64))
    singular = torch.tensor([[1.0, 2], [2, 4]], dtype=torch.float64)
    cases: list[Any] = []
    for matrix in (a, a.mT, a[0], a[:0]):
        cases += [(op, matrix) for op in (
            _aten._linalg_det.default, _aten._linalg_slogdet.default,
            _aten.linalg_inv_ex.default, _aten.linalg_matrix_exp.default)]
        cases += [(_aten._linalg_solve_ex.default, matrix, b)
                  for b in (values(*matrix.shape[:-1], 3), values(*matrix.shape[:-1]))]
        cases += [(partial(_aten._linalg_solve_ex.default, left=False), matrix,
                   values(*matrix.shape[:-2], 3, 4))]
    for left in (True, False):
        b = right if left else right.mT
        cases += [(partial(_aten.linalg_lu_solve.default, left=left, adjoint=adjoint),
                   lu, pivots, b) for adjoint in (True, False)]
    scales = torch.tensor([1e-12, 0.3, 40, 3e4], dtype=torch.float64)[:, None, None]
    turn = scales * (a[0] - a[0].mT)
    return [
        *cases, (_aten.linalg_matrix_exp.default, turn),
        (_aten._linalg_det.default, singular), (_aten._linalg_slogdet.default, singular),
        *((_aten.linalg_lu.default, x) for x in (a, a[:, :3], a[:, :, :3])),
        *((_aten.cholesky_solve.default, right, x, upper)
          for x, upper in ((lower, False), (lower.mT, True))),
        *((_aten.cholesky_inverse.default, x, upper)
          for x, upper in ((lower, False), (lower.mT, True)))]


THEMES: dict[str, Callable[[], list[Any]]] = {
    "alignment": alignment_cases,
    "fourier": fourier_cases, "grids": grid_cases, "images": image_cases,
    "selecting": selecting_cases, "distances": distance_cases,
    "special": special_cases, "complex": complex_cases, "drawing": drawing_cases,
    "foreach": foreach_cases, "factorizations": factorization_cases,
}


def run(op: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    torch.manual_seed(3)
    results = op(*args)
    return tuple(results) if isinstance(results, (list, tuple)) else (results,)


@pytest.mark.parametrize("theme", THEMES)
def test_equals_the_operator(theme: str) -> None:
    torch.manual_seed(0)
    for op, *args in THEMES[theme]():
        rule: Any = (partial(table.decompositions()[op.func], **op.keywords)
                     if isinstance(op, partial) else table.decompositions()[op])
        actual, expected = run(rule, *args), run(op, *args)
        # What a bag or `_ctc_loss` saves is for its backward operator alone; of
        # equal elements, any is the median.
        alone = any(name in str(op) for name in ("_bag", "_ctc_loss", "median"))
        count = 1 if alone else len(expected)
        torch.testing.assert_close(
            actual[:count], expected[:count], rtol=1e-9, atol=1e-12, equal_nan=True,
            msg=lambda text, op=op, args=args: f"{op}{args}: {text}")


def test_trigamma_is_exact() -> None:
    # PyTorch's is off by 1e-7 there.
    x = torch.tensor([1.0, 0.5, -0.5, 20], dtype=torch.float64)
    squared = math.pi**2
    expected = torch.tensor([squared / 6, squared / 2, squared / 2 + 4,
                             0.051270822935203], dtype=torch.float64)
    actual = table.decompositions()[_aten.polygamma.default](1, x)
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=0)


def test_places_of_a_given_number_of_nonzeros() -> None:
    # PyTorch has it on CPUs, but counts in another way what it leaves out.
    function = table.decompositions()[_aten.nonzero_static.default]
    x = torch.tensor([[0, 3, 0], [1, 0, 2]])
    assert function(x, size=5).tolist() == [[0, 1], [1, 0], [1, 2], [-1, -1], [-1, -1]]
    assert function(x, size=2, fill_value=9).tolist() == [[0, 1], [1, 0]]


def test_permutation_has_all_numbers() -> None:
    with SameDraws(1):
        first = torch.randperm(100)
    assert sorted(first.tolist()) == list(range(100))
    assert first.tolist() != list(range(100))


def test_each_has_a_case() -> None:
    torch.manual_seed(0)
    tried = {getattr(op, "func", op) for make in THEMES.values() for op, *_ in make()}
    tried |= {_aten.nonzero_static.default, _aten.randperm.default}
    own = {op for theme in table._OWN for op in theme.TABLE}
    # `ldexp` is PyTorch's, of which the table has all overloads.
    assert {op for op in own if "ldexp" not in str(op)} <= tried


# -----------------------------------------------------------------------------
# Together, in steps of training on the engines
# -----------------------------------------------------------------------------


def weighed(*results: Any) -> Any:
    total = torch.zeros(())
    for y in results:
        y = torch.view_as_real(y) if y.is_complex() else y
        y = y.to(torch.float32)
        total = total + (y * torch.linspace(0.5, 1.5, y.numel()).view(y.shape)).sum()
    return total


def spectra(w: Any, x: Any) -> Any:
    mixed = torch.fft.irfft2(torch.fft.rfft2((x * w)[:, :8]) * torch.view_as_complex(
        w[:, :10].reshape(4, 5, 2)), s=(4, 8))
    windows = torch.stft(w, 4, 2, window=torch.hann_window(4), return_complex=True)
    return weighed(torch.fft.fft2(w).real, torch.fft.fft(w, norm="ortho"), mixed,
                   windows.abs(), (torch.complex(w, x) ** 2).sqrt(),
                   *products(torch.complex(w, x)))


def products(z: Any) -> tuple[Any, ...]:
    return (z.cumsum(1), z.cumprod(1)[:, :5], torch.fft.hfft(z, n=7),
            torch.sub(z, z.conj(), alpha=2j), z.conj().imag, z.diagonal(), z.tanh())


def images(w: Any, x: Any) -> Any:
    image, other = w[:, :8].reshape(1, 2, 4, 4), x.reshape(2, 2, 2, 6)
    grid = F.affine_grid(w[:1, :6].view(1, 2, 3), [1, 2, 5, 3], align_corners=False)
    return weighed(
        F.grid_sample(image, grid, align_corners=False),
        F.grid_sample(other[:1], w[:3, :6].reshape(1, 3, 3, 2), padding_mode="border"),
        F.interpolate(image, size=(3, 2), mode="bicubic", antialias=True),
        F.adaptive_max_pool2d(image, (3, 2)), F.pad(image, (1, 2, 0, 1), "replicate"))


def selections(w: Any, x: Any) -> Any:
    index = torch.tensor([0, 1, 1, 2])
    return weighed(
        x.masked_scatter(x > 0, w), x.index_reduce(0, index, w, "amax"), w.take(index),
        F.embedding_bag(torch.tensor([[0, 1, 1], [3, 2, 0]]), w, mode="sum"),
        F.embedding_bag(index, w, torch.tensor([0, 3])), w.median(1).values, w.median(),
        w.kthvalue(2, 1).values, torch.nonzero_static(x > 0, size=9))


def functions(w: Any, x: Any) -> Any:
    w = w.abs() / 4
    return weighed(torch.lgamma(w + 0.1), torch.digamma(w + 0.2), torch.erfinv(w / 8),
                   torch.cdist(w, x[:3]), torch.cdist(w, x, p=1), F.pdist(w),
                   F.bilinear(w, x, w.new_ones(2, 12, 12) * w[0]))


def alignments(w: Any, x: Any) -> Any:
    scores = w.view(4, 3, 4).log_softmax(2)
    targets, lengths = torch.tensor([[1, 1, -1], [2, 3, -1], [3, -1, -1]]), (2, 2, 1)
    # Without a blank between them, the equal labels of the first row do not fit.
    how = torch.tensor([2, 3, 4]), torch.tensor(lengths)
    return weighed(
        F.ctc_loss(scores, targets, (4, 3, 4), lengths),
        F.ctc_loss(scores[:, :2], targets[:2], *(n[:2] for n in how), reduction="none",
                   zero_infinity=True))


def factors(w: Any, x: Any) -> Any:
    a = w.reshape(3, 4, 4) + 2 * torch.eye(4)
    b, positive = x.reshape(3, 4, 4), a @ a.mT
    normal = torch.distributions.MultivariateNormal(
        torch.zeros(4), positive, validate_args=False)
    lower = torch.linalg.cholesky(positive)
    return weighed(
        torch.linalg.inv(a), torch.linalg.det(a), torch.linalg.slogdet(a.mT)[1],
        torch.linalg.solve(a, b), torch.linalg.solve(a, b, left=False), *torch.linalg.qr(a),
        torch.matrix_exp(a - a.mT), normal.log_prob(b[:, 0]), *torch.linalg.lu(a)[1:],
        torch.cholesky_solve(b, lower), torch.cholesky_inverse(lower))


def choices(w: Any, x: Any) -> Any:
    # Sums over all rows in any order, and a choice among equal ones.
    order = torch.randperm(4)
    picked = torch.multinomial(torch.ones(4, 12), 3)
    return w[order].sum() + (w.mean() + 0 * picked.sum()) * picked.shape[1]


class Network(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.weight = torch.nn.Parameter(torch.randn(4, 12) / 2)

    def forward(self, x: Any) -> Any:
        return self.function(self.weight + 0.1 * x, x)


SHARDED = ("cpu", "step.mlir", "--mesh=dp:2")


@pytest.mark.parametrize("function", [spectra, images, selections, functions, choices,
                                      alignments, factors], ids=lambda f: f.__name__)
def test_step_equals_eager(function: Callable[..., Any], tmp_path: Path) -> None:
    torch.manual_seed(0)
    step = Step(Network(function), (torch.randn(4, 12),), lambda y, t: y + 0 * t.sum(),
                (torch.zeros(4),))
    keep(step, tmp_path)
    imported = run_tool("regather-translate", "--import-fx", tmp_path / FILES[0],
                        "-o", tmp_path / "step.mlir")
    assert imported.code == 0, imported.stderr
    lowered = run_tool("regather-opt", tmp_path / "step.mlir", "--tg-verify-step",
                       "--convert-tg-nodes-to-linalg", "-o", tmp_path / "lowered.mlir")
    assert lowered.code == 0, lowered.stderr
    expected = step.run()
    for way in (*RUNS, SHARDED):
        results = execute(tmp_path, *way)
        compared = {name: results[name] for name in expected}
        assert not find_errors(compared, expected, 1e-4), way
