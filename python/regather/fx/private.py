"""Every private name of PyTorch that capturing touches.

They are looked for once, when this file is imported. What must be there is in
``_NEEDED``: without one of those nothing can be captured, and ``check`` says
so. Each of the others belongs to one feature: without it the name is None (or
does nothing), and ``lost`` says what no longer works. Tried with PyTorch 2.13,
2.14 and 2.15.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from unittest import mock

import torch

from regather.fx.errors import CaptureError

#: Feature that is lost -> the name that was looked for.
lost: dict[str, str] = {}
_missing: list[str] = []


def _look(place: str, name: str) -> Any:
    """``name`` (with dots) in module ``place``, or None."""
    try:
        found: Any = import_module(place)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return None
    return found


def _needed(place: str, name: str) -> Any:
    found = _look(place, name)
    if found is None:
        _missing.append(f"{place}.{name}")
    return found


def _optional(place: str, name: str, feature: str) -> Any:
    found = _look(place, name)
    if found is None:
        lost.setdefault(feature, f"{place}.{name}")
    return found


# Tracing.
# Classes derive from it, also where `check` will refuse.
TorchDispatchMode: Any = (
    _needed("torch.utils._python_dispatch", "TorchDispatchMode") or object
)
OpOverload = _needed("torch._ops", "OpOverload")
pytree = _needed("torch.utils", "_pytree")
enable_python_dispatcher = _needed(
    "torch._dispatch.python", "enable_python_dispatcher"
)
FakeTensorMode = _needed("torch._subclasses.fake_tensor", "FakeTensorMode")
unset_fake_temporarily = _needed(
    "torch._subclasses.fake_tensor", "unset_fake_temporarily"
)
DataDependentOutputException = _needed(
    "torch._subclasses.fake_tensor", "DataDependentOutputException"
)
DynamicOutputShapeException = _needed(
    "torch._subclasses.fake_tensor", "DynamicOutputShapeException"
)
FunctionalTensor = _needed(
    "torch._subclasses.functional_tensor", "FunctionalTensor"
)
FunctionalTensorMode = _needed(
    "torch._subclasses.functional_tensor", "FunctionalTensorMode"
)
get_proxy_mode = _needed("torch.fx.experimental.proxy_tensor", "get_proxy_mode")
_proxy_of = _needed("torch.fx.experimental.proxy_tensor", "get_proxy_slot")
without_modes = _needed("torch.utils._python_dispatch", "_disable_current_modes")
make_fx = _needed("torch.fx.experimental.proxy_tensor", "make_fx")
core_aten_decompositions = _needed("torch._decomp", "core_aten_decompositions")
get_decompositions = _needed("torch._decomp", "get_decompositions")
_sync = _needed("torch", "_sync")
_from_functional = _needed("torch", "_from_functional_tensor")
_exclude_keys = _needed("torch._C", "_ExcludeDispatchKeyGuard")
_key_set = _needed("torch._C", "DispatchKeySet")
_key = _needed("torch._C", "DispatchKey")
_NEEDED_METHODS = ((torch.fx.Node, "_rename"), (torch.nn.Module, "__setattr__"))

FAKE_TENSOR_LOGGER = "torch._subclasses.fake_tensor"
FUNCTIONAL_COLLECTIVES = "torch.distributed._functional_collectives"

# What a feature hangs on.
_compile_session = _optional(
    "torch.compiler", "_compile_session_context",
    "models that ask torch.compiler.is_compiling()",
)
_onednn = _optional("torch._C", "_get_mkldnn_enabled", "recurrent layers")
_set_onednn = _optional("torch._C", "_set_mkldnn_enabled", "recurrent layers")
_sequence_number = _optional(
    "torch.autograd", "_get_sequence_nr", "'seq' of nodes"
)
_autograd_node = _optional(
    "torch._C", "_current_autograd_node", "'seq' and module of backward nodes"
)
_GROUPED = "grouped matrix products of other types than bfloat16"
_shape_rules = _optional(
    "torch._subclasses.fake_impls", "op_implementations_dict", _GROUPED
)
_grouped = _optional("torch", "ops.aten._grouped_mm.default", _GROUPED)
_IS_CAUSAL = "_detect_is_causal_mask"
_is_causal = _optional(
    "torch.nn.modules.transformer", _IS_CAUSAL,
    "masks of nn.Transformer that are buffers or inputs",
)
_CHECKS = "_validate_args"
_checks = _optional(
    "torch.distributions", f"Distribution.{_CHECKS}", "torch.distributions",
)
_ASSERT_ALL = "_check_tensor_all_with"
_assert_all = _optional("torch", _ASSERT_ALL, "models that assert something of data")
checkpoint = _needed("torch.utils", "checkpoint")
# PyTorch 2.15 calls another generator than 2.13 and 2.14, and keeps the old one.
_GENERATOR = "_checkpoint_without_reentrant_generator"
_optional(
    "torch.utils.checkpoint", _GENERATOR,
    "checkpointing without reentrance as tags",
)
_optional(
    "torch.utils.checkpoint", "CheckpointFunction",
    "reentrant checkpointing as tags",
)
_SELECTIVE = "selective checkpointing as tags"
CachingMode = _optional(
    "torch.utils.checkpoint", "_CachingTorchDispatchMode", _SELECTIVE
)
_ignored = _optional("torch.utils.checkpoint", "SAC_IGNORED_OPS", _SELECTIVE)
IGNORED_OPS = frozenset(_ignored or ())


def check() -> None:
    """Raises CaptureError if this PyTorch lacks what tracing needs."""
    missing = [*_missing]
    for owner, name in _NEEDED_METHODS:
        if not hasattr(owner, name):
            missing.append(f"{owner.__module__}.{owner.__name__}.{name}")
    if missing:
        raise CaptureError(
            f"cannot capture with PyTorch {torch.__version__}: it has no "
            f"'{missing[0]}'; expects PyTorch 2.13 to 2.15"
        )


def notes() -> list[str]:
    """One sentence for each feature that this PyTorch takes away."""
    return [
        f"PyTorch {torch.__version__} has no '{name}': {feature} are lost"
        for feature, name in lost.items()
    ]


# Functional tensors.


def below_functionalisation() -> Any:
    """Lets functional tensors reach Python, in a ``with`` block."""
    return _exclude_keys(_key_set(_key.Functionalize))


def plain(value: Any) -> Any:
    """The traced tensor below the functional wrapper, brought up to date."""
    if isinstance(value, FunctionalTensor):
        _sync(value)
        return _from_functional(value.elem)
    return value


def node_of(tensor: torch.Tensor, tracer: Any) -> torch.fx.Node | None:
    """The node that gave a tensor below the functional wrapper."""
    proxy = _proxy_of(tensor, tracer, None)
    return None if proxy is None else proxy.proxy.node


def schema(operator: Any) -> Any:
    """Arguments and results of an operator, and whether it writes."""
    return operator._schema


def has_schema(target: Any) -> bool:
    """Whether a node calls an operator."""
    return hasattr(target, "_schema")


def rename(node: torch.fx.Node, name: str) -> None:
    """Gives a node a name, or one like it that is free."""
    node._rename(name)


# Autograd.

FLASH = _optional(
    "torch", "ops.aten._scaled_dot_product_flash_attention_for_cpu.default",
    "attention as one node",
)
FLASH_BACKWARD = _optional(
    "torch",
    "ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
    "attention as one node",
)


def sequence_number() -> int:
    """How many differentiable operations this thread has issued."""
    return _sequence_number() if _sequence_number else 0


def autograd_node_number() -> int | None:
    """Number of the operation that is being differentiated, if one is."""
    node = _autograd_node() if _autograd_node and _sequence_number else None
    return None if node is None else node._sequence_nr()


def version(tensor: torch.Tensor) -> int:
    """How often ``tensor`` was written into."""
    return tensor._version


def is_made_when_read(tensor: torch.Tensor) -> bool:
    """Whether it is zeros without memory."""
    return tensor._is_zerotensor()


def gradient_hooks(tensor: torch.Tensor) -> list[Any]:
    """What ``Tensor.register_hook`` added, in order."""
    return list((getattr(tensor, "_backward_hooks", None) or {}).values())


def accumulated_hooks(tensor: torch.Tensor) -> list[Any]:
    """What ``register_post_accumulate_grad_hook`` added, in order."""
    found = getattr(tensor, "_post_accumulate_grad_hooks", None)
    return list((found or {}).values())


def hook_tables(tensor: torch.Tensor) -> list[dict[Any, Any]]:
    """The tables behind the two kinds of hooks."""
    names = ("_backward_hooks", "_post_accumulate_grad_hooks")
    tables = [getattr(tensor, name, None) for name in names]
    return [table for table in tables if table]


def accumulator_hooks(tensor: torch.Tensor) -> list[Any]:
    """Python hooks on the autograd node that accumulates into ``tensor``.

    A hook of our own, gone at once, tells which others are in its table.
    """
    if not tensor.requires_grad or not tensor.is_leaf:
        return []
    node = torch.autograd.graph.get_gradient_edge(tensor).node
    found = []
    for register in (node.register_hook, node.register_prehook):
        handle = register(lambda *_: None)
        table = handle.hooks_dict_ref() or {}
        found += [hook for key, hook in table.items() if key != handle.id]
        handle.remove()
    return found


# Contexts of a trace.

_overridable = _optional(
    "torch.autograd", "has_torch_function",
    "parameters that hooks of activations know by closure",
)


@contextlib.contextmanager
def backward_in_modes() -> Iterator[None]:
    """Keeps function modes on in ``torch.autograd.grad``, for its hooks."""
    if _overridable is None:
        yield
        return
    with mock.patch.object(torch.autograd, "has_torch_function", lambda _: False):
        yield


@contextlib.contextmanager
def compile_session() -> Iterator[None]:
    """Models that look at tensors while they run ask `is_compiling` first."""
    with _compile_session() if _compile_session else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def without_onednn() -> Iterator[None]:
    """Keeps recurrent layers from becoming operators of that library."""
    if _onednn is None or _set_onednn is None:
        yield
        return
    enabled = _onednn()
    _set_onednn(False)
    try:
        yield
    finally:
        _set_onednn(enabled)


@contextlib.contextmanager
def shape_of_grouped(rule: Any) -> Iterator[None]:
    """Grouped products of fake tensors have the shape that ``rule`` gives.

    It gets the mode, the operator and its arguments.
    """
    if _shape_rules is None or _grouped is None:
        yield
        return
    with mock.patch.dict(_shape_rules, {_grouped: rule}):
        yield


@contextlib.contextmanager
def masks_by_data() -> Iterator[None]:
    """A mask that only data can tell to be the causal one is not, for modules
    that look whether they can do without it."""
    if _is_causal is None:
        yield
        return

    def is_causal(*args: Any, **kwargs: Any) -> bool:
        try:
            return bool(_is_causal(*args, **kwargs))
        except DataDependentOutputException:
            return False

    with mock.patch.object(torch.nn.modules.transformer, _IS_CAUSAL, is_causal):
        yield


@contextlib.contextmanager
def data_unchecked() -> Iterator[None]:
    """Distributions look at no values, unless a model asks for it, and nothing
    is asserted that only data can tell."""
    with contextlib.ExitStack() as stack:
        patch = mock.patch.object
        if _checks is not None:
            stack.enter_context(
                patch(torch.distributions.Distribution, _CHECKS, False)
            )
        if _assert_all is not None:
            stack.enter_context(patch(torch, _ASSERT_ALL, _assert_if_known))
        yield


def _assert_if_known(*args: Any, **kwargs: Any) -> None:
    with contextlib.suppress(DataDependentOutputException):
        _assert_all(*args, **kwargs)


def checkpoint_generators() -> list[tuple[Any, str]]:
    """Modules and the names under which they hold what checkpoints.

    That is a generator function with a parameter ``context_fn``, whose first
    part runs before the function that is checkpointed, the second after it.
    """
    composable = sys.modules.get(
        "torch.distributed._composable.checkpoint_activation"
    )
    return [
        (module, name)
        for module in (checkpoint, composable)
        for name in (_GENERATOR, f"{_GENERATOR}_impl")
        if hasattr(module, name)
    ]


# Modules.

# Components that wrappers of PyTorch add to the paths of modules.
WRAPPERS = ("_checkpoint_wrapped_module", "_orig_mod")


def parameters_of(module: torch.nn.Module) -> dict[str, Any]:
    """The table of parameters that ``module`` itself holds."""
    return module._parameters


def buffers_of(module: torch.nn.Module) -> dict[str, Any]:
    """The table of buffers that ``module`` itself holds."""
    return module._buffers


def hooks_of(module: torch.nn.Module) -> list[dict[Any, Any]]:
    """The tables of hooks that ``module`` itself holds."""
    return [table for key, table in vars(module).items()
            if key.startswith("_") and "_hooks" in key and isinstance(table, dict)]


def children_of(module: torch.nn.Module) -> dict[str, Any]:
    """The table of modules that ``module`` itself holds."""
    return module._modules


def composable_states(module: torch.nn.Module) -> list[str]:
    """Names of what composable wrappers such as ``replicate`` did to it."""
    look = sys.modules.get("torch.distributed._composable.contract")
    registry = getattr(look, "_get_registry", None)
    return list((registry(module) if registry else None) or ())


_COMPILER = "torch._dynamo"


def can_compile() -> bool:
    """Whether the compiler was imported, so that something may use it."""
    return _COMPILER in sys.modules


def compiled_module(module: torch.nn.Module) -> torch.nn.Module | None:
    """What ``torch.compile`` was called with, if it made ``module``."""
    kind = getattr(sys.modules.get(_COMPILER), "OptimizedModule", ())
    return module._orig_mod if isinstance(module, kind) else None


# Optimizers.


def has_step_hooks(optimizer: torch.optim.Optimizer) -> bool:
    """Whether anything runs with ``step`` beside it, but for what schedulers
    put there to know that it was called."""
    every = import_module("torch.optim.optimizer")
    places = (
        (optimizer, "_optimizer_step_pre_hooks"),
        (optimizer, "_optimizer_step_post_hooks"),
        (every, "_global_optimizer_pre_hooks"),
        (every, "_global_optimizer_post_hooks"),
    )
    if any(getattr(place, name, None) for place, name in places):
        return True
    step = vars(optimizer).get("step")
    return step is not None and not hasattr(step, "_wrapped_by_lr_sched")


def mark_stepped(optimizer: torch.optim.Optimizer) -> None:
    """Keeps schedulers from warning that nobody has called ``step``."""
    optimizer._opt_called = True  # type: ignore[attr-defined]


# Distributed.


def communication_hooks(module: torch.nn.Module) -> list[Any]:
    """Functions that communicate gradients for DistributedDataParallel."""
    return [hook for hook, _ in getattr(module, "_comm_hooks", ())]


def fake_store() -> Any:
    """Store of a process group that moves nothing."""
    store = _look("torch.testing._internal.distributed.fake_pg", "FakeStore")
    if store is None:
        raise CaptureError(
            f"PyTorch {torch.__version__} has no fake process group: start one "
            "of your own before the mesh is made"
        )
    return store()


def default_store() -> Any:
    """Store of the process group of all ranks."""
    return torch.distributed.distributed_c10d._get_default_store()


def root_mesh(mesh: Any) -> Any:
    """The mesh that ``mesh`` was cut from."""
    return mesh._get_root_mesh()


def flattened_meshes(mesh: Any) -> dict[str, Any]:
    """Flattened axes of ``mesh`` by name."""
    return getattr(mesh, "_flatten_mapping", {})


def default_group_name() -> str:
    """Name of the group of all ranks."""
    return torch.distributed.distributed_c10d._get_default_group().group_name


def local_part(tensor: Any) -> torch.Tensor:
    """What this rank holds of a distributed tensor, not differentiable."""
    return tensor._local_tensor


def distributed_like(original: Any, part: torch.Tensor) -> Any:
    """``part`` as the part of a tensor that is distributed as ``original``."""
    return type(original)(part, original._spec, requires_grad=False)
