"""Device meshes, process groups and placements of distributed tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.fx import Graph

from regather.fx import private
from regather.fx.errors import CaptureError


def fake_mesh(axes: Mapping[str, int], rank: int = 0) -> Any:
    """A CPU ``DeviceMesh`` of this one process posing as one rank of many.

    Starts PyTorch's fake process group if none is there. Collectives on it
    can be traced but move nothing. ``axes``: name to size, outermost first.
    Captures at two ranks differ if the program depends on the rank.
    Raises CaptureError if a group of another size is running already.
    """
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    size = 1
    for extent in axes.values():
        size *= extent
    if not dist.is_initialized():
        dist.init_process_group(
            "fake", store=private.fake_store(), rank=rank, world_size=size
        )
    if dist.get_world_size() != size:
        raise CaptureError(
            f"expects a process group of {size} ranks for the mesh, got "
            f"{dist.get_world_size()}"
        )
    return init_device_mesh(
        "cpu", tuple(axes.values()), mesh_dim_names=tuple(axes)
    )


def is_distributed(value: Any) -> bool:
    """Whether a tensor is a DTensor (also where distributed is missing)."""
    return hasattr(value, "placements") and hasattr(value, "device_mesh")


class Meshes:
    """The meshes that a step uses, under the names they are recorded by."""

    def __init__(self, named: Mapping[str, Any], tensors: Iterable[Any]) -> None:
        self._names: dict[str, Any] = {}
        for name, mesh in named.items():
            self._add(mesh, name)
        for tensor in tensors:
            if is_distributed(tensor):
                self._add(tensor.device_mesh, None)

    def _add(self, mesh: Any, name: str | None) -> None:
        root = private.root_mesh(mesh)
        if any(root == known for known in self._names.values()):
            return
        if root.mesh_dim_names is None:
            raise CaptureError("expects a device mesh whose axes have names")
        count = len(self._names)
        self._names[name or ("mesh" if count == 0 else f"mesh{count}")] = root

    def document(self) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "axes": [
                    [axis, size]
                    for axis, size in zip(mesh.mesh_dim_names, mesh.mesh.shape)
                ],
            }
            for name, mesh in self._names.items()
        ]

    def _groups(self) -> dict[str, tuple[str, list[str]]]:
        """PyTorch's group name to mesh name and axes."""
        import torch.distributed as dist

        found: dict[str, tuple[str, list[str]]] = {}
        for name, mesh in self._names.items():
            everything = tuple(mesh.mesh_dim_names)
            for axis in everything:
                found[mesh.get_group(axis).group_name] = (name, [axis])
            for flat, sub in private.flattened_meshes(mesh).items():
                axes = _flattened_axes(mesh, sub, flat)
                found[sub.get_group().group_name] = (name, axes)
            if mesh.mesh.numel() == dist.get_world_size():
                world = private.default_group_name()
                found.setdefault(world, (name, list(everything)))
        return found

    def rename_groups(self, graph: Graph) -> dict[str, dict[str, Any]]:
        """Gives groups in ``graph`` names that say which axes they run over.

        PyTorch numbers groups in the order of their creation, which differs
        from one run to the next in the same process. Returns the table of
        groups of the document. Raises CaptureError for a group that belongs
        to no known mesh.
        """
        table: dict[str, dict[str, Any]] = {}
        known: dict[str, tuple[str, list[str]]] | None = None
        for node in graph.nodes:
            if node.op != "call_function" or not private.has_schema(
                    node.target):
                continue
            for index, argument in enumerate(private.schema(node.target).arguments):
                if argument.name not in ("group_name", "group"):
                    continue
                inside = index < len(node.args)
                if not inside and argument.name not in node.kwargs:
                    continue
                old = node.args[index] if inside else node.kwargs[argument.name]
                if not isinstance(old, str):
                    continue
                known = self._groups() if known is None else known
                if old not in known:
                    raise CaptureError(
                        f"node '{node.name}' communicates over process group "
                        f"'{old}', which belongs to no mesh; name its mesh in "
                        "'meshes'"
                    )
                mesh, axes = known[old]
                new = ".".join([mesh, *axes])
                table[new] = {"mesh": mesh, "axes": axes}
                if inside:
                    node.update_arg(index, new)
                else:
                    node.update_kwarg(argument.name, new)
        return dict(sorted(table.items()))

    def placement(self, tensor: Any) -> dict[str, Any] | None:
        """``placement`` of a parameter, buffer or input; None if it is whole."""
        if not is_distributed(tensor):
            return None
        mesh = tensor.device_mesh
        root = private.root_mesh(mesh)
        name = next(n for n, known in self._names.items() if known == root)
        axes = []
        for axis, placement in zip(mesh.mesh_dim_names, tensor.placements):
            if placement.is_replicate():
                continue
            if not hasattr(placement, "dim"):
                raise CaptureError(
                    f"expects sharded or replicated parameters, got {placement}"
                )
            # A flattened axis stands for several axes of the root mesh.
            sub = private.flattened_meshes(root).get(axis)
            over = [axis] if sub is None else _flattened_axes(root, sub, axis)
            entry: dict[str, Any] = {"axes": over, "shard": placement.dim}
            if getattr(placement, "split_factor", 1) != 1:
                entry["strided"] = placement.split_factor
            axes.append(entry)
        return {"mesh": name, "axes": axes, "shape": list(tensor.shape)}


def _flattened_axes(root: Any, sub: Any, name: str) -> list[str]:
    """Axes of ``root`` that the one-dimensional mesh ``sub`` runs over."""
    names = list(root.mesh_dim_names)
    ranks = sub.mesh.flatten().tolist()
    grid = root.mesh
    first = (grid == ranks[0]).nonzero()[0].tolist()
    inside = set(ranks)
    axes = []
    for dim, axis in enumerate(names):
        other = list(first)
        other[dim] = (other[dim] + 1) % grid.shape[dim]
        if grid.shape[dim] > 1 and int(grid[tuple(other)]) in inside:
            axes.append(axis)
    size = 1
    for axis in axes:
        size *= grid.shape[names.index(axis)]
    if size != len(ranks):
        raise CaptureError(f"mesh axis '{name}' is no product of other axes")
    return axes


def local(tensor: torch.Tensor) -> torch.Tensor:
    """The part of a tensor that this rank holds."""
    return private.local_part(tensor) if is_distributed(tensor) else tensor
