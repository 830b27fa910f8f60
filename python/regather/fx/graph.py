"""A captured training step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.fx import GraphModule

from regather.fx.errors import CaptureError
from regather.fx.files import replacing
from regather.fx.mesh import is_distributed

_dumps = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode


class CapturedGraph:
    """What ``regather.capture`` returns.

    ``document`` is the content of the file; ``module`` the FX graph that it
    describes, node by node under the same names (``module.recompile()`` makes
    it callable); ``tensors`` the values of parameters, buffers and constants
    by name, as the model held them. ``notes`` are sentences for the user.
    """

    def __init__(
        self,
        document: dict[str, Any],
        module: GraphModule,
        tensors: Mapping[str, torch.Tensor],
        notes: Sequence[str] = (),
    ) -> None:
        self.notes = list(notes)
        self.document = document
        self.module = module
        self.tensors = dict(tensors)

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The nodes of the document, in execution order."""
        return self.document["nodes"]

    def lines(self) -> Iterator[str]:
        """The document as text: one line for each entry of a list."""
        yield "{\n"
        last = list(self.document)[-1]
        for key, value in self.document.items():
            end = "\n" if key == last else ",\n"
            if not isinstance(value, list) or not value:
                yield f"{_dumps(key)}: {_dumps(value)}{end}"
                continue
            yield f"{_dumps(key)}: [\n"
            yield ",\n".join(map(_dumps, value))
            yield f"\n]{end}"
        yield "}\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph to ``path``, conventionally ``NAME.fx.json``."""
        with replacing(path) as temporary:
            with open(temporary, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(self.lines())

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Writes parameters, buffers and constants as safetensors.

        A tied parameter is written once, under its own name. Raises
        CaptureError if the model has no data, or only a shard of it.
        """
        from safetensors.torch import save_file

        ready = {}
        for name, value in self.tensors.items():
            if is_distributed(value):
                raise CaptureError(
                    f"'{name}' is sharded; write the weights from a capture "
                    "of the model before it is distributed"
                )
            if value.is_meta or hasattr(value, "fake_mode"):
                raise CaptureError(
                    f"'{name}' has no data: the model was made on the meta "
                    "device"
                )
            if value.is_complex():
                # A step takes the parts in a last dimension.
                value = torch.view_as_real(value.detach().resolve_conj())
            # Two parameters that share storage are still two in the file.
            ready[name] = value.detach().cpu().contiguous().clone()
        with replacing(path) as temporary:
            save_file(ready, temporary)
