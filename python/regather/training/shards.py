"""What a rank has of a tensor, and such parts as DTensors."""

from __future__ import annotations

import math

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from regather.execution import Value
from regather.library.errors import RegatherError

DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16,
          "bf16": torch.bfloat16, "i1": torch.bool, "i8": torch.int8,
          "i16": torch.int16, "i32": torch.int32, "i64": torch.int64}


# The axis over which experts are cut.
EXPERTS = "ep"


def name_of_dtype(dtype: torch.dtype) -> str:
    """As MLIR calls it."""
    return next(name for name, known in DTYPES.items() if known == dtype)


def allocate(value: Value) -> torch.Tensor:
    """Zeros in the shape of this rank, padding included."""
    return torch.zeros(value.shape, dtype=DTYPES[value.element_type],
                       device="cpu")


def as_real(tensor: torch.Tensor) -> torch.Tensor:
    """As programs have it: of complex numbers, real and imaginary part along a
    last dimension of two. Shares memory unless it is a lazy conjugate or
    negative."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.resolve_neg()


def without_padding(value: Value, local: torch.Tensor) -> torch.Tensor:
    """The part of `local` that lies in the whole tensor; shares its memory."""
    for shard in value.shards:
        size = local.shape[shard.dimension]
        left = value.global_shape[shard.dimension] - shard.index * size
        local = local.narrow(shard.dimension, 0, max(0, min(size, left)))
    return local


def local_range(value: Value) -> tuple[slice, ...]:
    """Where in the whole tensor this rank's part lies, without padding."""
    ranges = [slice(0, size) for size in value.global_shape]
    for shard in value.shards:
        length = value.global_shape[shard.dimension]
        size = -(-length // shard.count)
        begin = min(shard.index * size, length)
        ranges[shard.dimension] = slice(begin, min(begin + size, length))
    return tuple(ranges)


def check_given(value: Value, given: Any) -> None:
    """Raises `RegatherError` unless `given` can be the whole of a value."""
    if not isinstance(given, torch.Tensor):
        raise RegatherError(f"'{value.name}': expects a tensor, got "
                            f"{type(given).__name__}")
    if given.is_meta:
        raise RegatherError(f"'{value.name}': expects a tensor with data, got "
                            "one on meta")
    shape = (*given.shape, 2) if given.is_complex() else tuple(given.shape)
    if shape != tuple(value.global_shape):
        raise RegatherError(f"'{value.name}': expects shape "
                            f"{list(value.global_shape)}, got {list(shape)}")


def cut(value: Value, whole: torch.Tensor) -> torch.Tensor:
    """The part of a whole tensor that this rank has, without padding."""
    if tuple(whole.shape) != value.global_shape:
        raise RegatherError(f"'{value.name}': expects shape "
                            f"{list(value.global_shape)}, got "
                            f"{list(whole.shape)}")
    return whole[local_range(value)]


def check_carries_cpu_tensors() -> None:
    """DTensors are on the default process group, where collectives of them
    would end in a message about device types."""
    backends = dist.get_backend_config()
    if "cpu" not in (entry.partition(":")[0] for entry in backends.split(",")):
        raise RegatherError(
            "the state of a step is made of DTensors on CPUs, but the default "
            f"process group has no backend for them, only '{backends}': "
            "initialize it with backend='cpu:gloo,cuda:nccl'")


class RankMesh:
    """The mesh of a step as a DeviceMesh, for the DTensors of state_dict. In
    a step of one rank tensors are plain.

    Axes that cut the model come first in it: where such an axis and others cut
    one dimension, DTensors cut it in the order of the mesh."""

    def __init__(self, axes: list[tuple[str, int]], model_axes: list[int],
                 distributed: bool) -> None:
        self._order = sorted(range(len(axes)),
                             key=lambda axis: axis not in model_axes)
        self.mesh: DeviceMesh | None = None
        if distributed:
            sizes = [size for _, size in axes]
            ranks = torch.arange(math.prod(sizes), dtype=torch.int,
                                 device="cpu")
            self.mesh = DeviceMesh(
                "cpu", ranks.reshape(sizes).permute(self._order).contiguous(),
                mesh_dim_names=tuple(axes[axis][0] for axis in self._order))

    def _place(self, value: Value) -> list[Shard | Replicate]:
        placements: list[Shard | Replicate] = [Replicate()] * len(self._order)
        for shard in value.shards:
            places = [self._order.index(axis) for axis in shard.axes]
            if places != sorted(places):
                raise RegatherError(f"'{value.name}' is cut over the axes of "
                                    "the mesh in an order that DTensors lack")
            for place in places:
                placements[place] = Shard(shard.dimension)
        return placements

    def to_distributed(self, value: Value, local: torch.Tensor,
                       is_complex: bool = False) -> torch.Tensor:
        """Shares the memory of `local`. Raises `RegatherError` if the process
        group cannot carry what lies on CPUs."""
        part = without_padding(value, local)
        shape = torch.Size(value.global_shape)
        if is_complex:
            part, shape = torch.view_as_complex(part), shape[:-1]
        if self.mesh is None:
            return part
        check_carries_cpu_tensors()
        return DTensor.from_local(
            part, self.mesh, self._place(value), run_check=False, shape=shape,
            stride=torch.empty(shape, device="meta").stride())

    @staticmethod
    def gather(tensor: torch.Tensor) -> torch.Tensor:
        """The whole of what `to_distributed` made."""
        return (tensor.full_tensor() if isinstance(tensor, DTensor)
                else tensor)

    def assign(self, value: Value, local: torch.Tensor,
               given: torch.Tensor) -> None:
        """Writes what `given`, whole or distributed in any way, holds."""
        own = without_padding(value, local)
        if isinstance(given, DTensor):
            part = as_real(given.to_local())
            if (given.device_mesh == self.mesh
                    and part.data_ptr() == own.data_ptr()
                    and part.shape == own.shape):
                return
            given = given.full_tensor()
        own.copy_(cut(value, as_real(given)))
