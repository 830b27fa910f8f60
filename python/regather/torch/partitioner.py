"""A partitioner for joint graphs: for AOTAutograd, Inductor, and by hand."""

from __future__ import annotations

import json
import logging
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.fx import GraphModule, Node

from regather import library
from regather.torch.collection import paused_collection
from regather.torch.duplicates import erase_dead, merge_duplicates
from regather.torch.dynamic import extract_dynamic
from regather.torch.extract import count_names, extract
from regather.torch.identity import make_uuid
from regather.torch.joint import (FlatJoint, Joint, check_calls,
                                  flatten, is_tangent, read_joint)
from regather.torch.plan import PlanLike, read_bytes, read_plan, refuse
from regather.torch.policy import apply_policy, read_policy
from regather.torch.private import (CustomPartitionerFn, inductor_config,
                                    partitioners, pytree)
from regather.torch.private import functorch_config as config
from regather.torch.reshard import find_released, read_reshard
from regather.torch.timed import estimate_seconds
from regather.torch.unmodelled import Unmodelled, warn_once

log = logging.getLogger("regather.torch")

MODES = library.Partition.MODES

# With other values PyTorch's min-cut is another one than the one we know.
_CONFIG: dict[str, Any] = {
    "ban_recompute_used_far_apart": True,
    "ban_recompute_long_fusible_chains": True,
    "ban_recompute_materialized_backward": True,
    "ban_recompute_not_in_allowlist": True, "ban_recompute_reductions": True,
    "aggressive_recomputation": False, "recompute_views": False,
    "treat_parameters_as_free_to_save": True, "max_dist_from_bw": 1000,
    "unsafe_allow_optimization_of_collectives": False,
    "_sync_decision_cross_ranks": False}


class Partitioner(CustomPartitionerFn):
    """Splits a joint graph into forward and backward.

    mode     "min-cut" (default): saves the fewest bytes; "match-pytorch": what
             PyTorch's min-cut saves; "default": what backward reads; "replay":
             what `record` lists; "budget": as fast as `budget` bytes allow.
    budget   bytes of activations that may be saved, a number or text such as
             "2GB"; sets the mode.
    policy   "full": blocks are computed again from what comes into them;
             "selective": what is slow or small is saved; "none"; or another
             option `--policy` of `regather`.
    reshard  "always": backward gathers parameters again, which are released
             after forward; "never" (default): what is gathered can be saved;
             "default": "always", but for the unit that forward comes to last.
             Modules may have a mode of their own:
             "default modules=layers.*:never".
    record   a JSON list of names of nodes; sets the mode. `last_saved` holds
             what the last graph saved.
    plan     a plan of `regather`, as file or dict, instead of the others: passes
             tg-apply-policy, tg-reshard-after-forward and tg-partition.
    cluster  what times of recomputation are estimated for; a name or a file.

    One object can be used for any number of graphs. Raises ValueError for
    options that contradict each other, and `regather.library.RegatherError` if
    a budget is too small.
    """

    def __init__(self, *, mode: str | None = None,
                 budget: int | str | None = None, policy: str | None = None,
                 reshard: str | None = None, record: str | Path | None = None,
                 cluster: str = "h100-nodes", plan: PlanLike | None = None
                 ) -> None:
        budget = read_bytes("budget", budget)
        self._plan = read_plan(plan, policy=policy, reshard=reshard)
        self._recorded: list[str] | None = None
        if self._plan.recompute is not None:
            if not (mode is None and budget is None and record is None):
                raise ValueError("tg-partition of the plan and mode, budget or "
                                 "record decide about the same")
            mode, budget, cluster = self._read_recompute(self._plan.recompute,
                                                         cluster)
        implied = ("budget" if budget is not None else
                   "replay" if record is not None or self._recorded is not None
                   else "min-cut")
        self.mode = mode or implied
        if self.mode not in MODES:
            raise ValueError(f"expects one of {', '.join(MODES)} as mode, got "
                             f"{self.mode!r}")
        if (budget is not None and record is not None) or (
                implied != "min-cut" and self.mode != implied) or (
                self.mode in ("budget", "replay") and self.mode != implied):
            raise ValueError("mode budget and a budget, a number of bytes, need "
                             "each other, as do mode replay and a record")
        self.budget = budget
        self._reshard = read_reshard(self._plan.reshard)
        self._policy = read_policy(self._plan.policy)
        if self._policy is not None and self.mode == "match-pytorch":
            raise ValueError("mode match-pytorch saves what PyTorch saves, "
                             "which knows no policy")
        self.record = None if record is None else Path(record)
        self.cluster = cluster
        self.last_saved: list[str] = []

    def _read_recompute(self, options: dict[str, Any], cluster: str
                        ) -> tuple[str, int | None, str]:
        """Mode, budget and cluster of tg-partition."""
        refuse("tg-partition", options, {"split": True})
        mode = options["mode"]
        if options["match-pytorch"]:
            if mode != "min-cut":
                raise ValueError("'match-pytorch' of tg-partition is for "
                                 "'mode=min-cut'")
            mode = "match-pytorch"
        if options["saved"] or mode == "replay":
            self._recorded = options["saved"]
        budget = options["budget"]
        return mode, None if budget < 0 else budget, (
            options["cluster"] if mode == "budget" else cluster)

    def uuid(self) -> str:
        cluster = Path(self.cluster)
        return make_uuid(
            "partitioner",
            {"mode": self.mode, "budget": self.budget, "plan": self._plan.key,
             "cluster": self.cluster},
            [self.record, *self._plan.files,
             cluster if cluster.is_file() else None])

    def __call__(self, gm: GraphModule, joint_inputs: Sequence[object],
                 **kwargs: Any) -> tuple[GraphModule, GraphModule]:
        kwargs.pop("compiler", None)
        try:
            with paused_collection():
                return self._partition(gm, **kwargs)
        except Unmodelled as reason:
            warn_once("PyTorch's own partitioner runs", reason)
        return partitioners.min_cut_rematerialization_partition(
            gm, joint_inputs, **kwargs)

    def _check_config(self) -> None:
        if config.activation_memory_budget != 1 and self.budget is None:
            raise Unmodelled("activation_memory_budget is set")
        if config.enable_activation_offloading:
            raise Unmodelled("enable_activation_offloading is set")
        if inductor_config.post_grad_fusion_options.get(
                "activation_quantization_aten_pass") is not None:
            raise Unmodelled("activations are quantized")
        if self.mode == "match-pytorch":
            for name, value in _CONFIG.items():
                if getattr(config, name, value) != value:
                    raise Unmodelled(f"{name} is set")

    def _partition(self, gm: GraphModule, *, num_fwd_outputs: int,
                   static_lifetime_input_indices: list[int] | None = None
                   ) -> tuple[GraphModule, GraphModule]:
        self._check_config()
        # Dead code and duplicates go before PyTorch's partitioner, too, which
        # may be asked later.
        check_calls(gm.graph)
        erase_dead(gm.graph)
        if config.cse:
            output = next(reversed(gm.graph.nodes))
            merge_duplicates(gm.graph, pytree.arg_tree_leaves(
                *output.args)[num_fwd_outputs:])
        joint = read_joint(gm, num_fwd_outputs, static_lifetime_input_indices)
        if not any(map(is_tangent, joint.nodes)):
            raise Unmodelled("nothing depends on a gradient")
        partition = self.decide(joint)
        nodes = joint.nodes
        saved = [nodes[i] for i in partition.saved]
        if joint.is_dynamic:
            arguments = [node for node in joint.placeholders
                         if not is_tangent(node)]
            return extract_dynamic(gm, saved, num_fwd_outputs, [
                node for i, node in enumerate(arguments) if i in joint.static])
        forward, backward = extract(
            joint, saved, [nodes[i] for i in partition.forward],
            [nodes[i] for i in partition.backward])
        return _repeat_random(joint, forward, backward)

    def decide(self, joint: Joint) -> library.Partition:
        """What is saved, and what the parts run. Raises `Unmodelled`."""
        if joint.is_dynamic and self.mode == "match-pytorch":
            raise Unmodelled("sizes are dynamic")
        self._apply_marks(joint)
        flat = flatten(joint, find_released(joint, self._reshard))
        # A record counts more than a policy, but less than marks of the model.
        if self._policy is not None and self.mode != "replay":
            apply_policy(joint, flat, self._policy)
        partition = self._solve(joint, flat)
        self.last_saved = [joint.nodes[i].name for i in partition.saved]
        log.info("saves %d values of %d bytes", len(partition.saved),
                 sum(flat.sizes[i] for i in partition.saved))
        return partition

    @staticmethod
    def _apply_marks(joint: Joint) -> None:
        """The policies of checkpoints, as PyTorch reads them. Collectives need
        no mark: they are on no list of what may run again."""
        if any("recompute" in node.meta for node in joint.nodes):
            partitioners.cleanup_recompute_tags(joint.module,
                                                is_default_partition=False)

    def _find_recorded(self, joint: Joint, flat: FlatJoint
                       ) -> list[int] | None:
        """The numbers of recorded nodes; `name:2` is result 2 of one that has
        several."""
        names, origin = self._recorded, "plan"
        if self.record is not None:
            names = json.loads(self.record.read_text())
            origin = f"record \"{self.record}\""
        if names is None:
            return None
        numbers = {node.name: i for node, i in flat.numbers.items()}
        for node, number in flat.numbers.items():
            if node.target is operator.getitem:
                numbers[f"{node.args[0].name}:{node.args[1]}"] = number
        if missing := [name for name in names if name not in numbers]:
            quoted = ", ".join(f"'{name}'" for name in missing)
            raise library.RegatherError(
                f"{origin} names {quoted}, which the graph does not have")
        return [numbers[name] for name in names]

    def _solve(self, joint: Joint, flat: FlatJoint) -> library.Partition:
        recorded = self._find_recorded(joint, flat)
        seconds = None
        if self.budget is not None:
            seconds = estimate_seconds(joint.nodes[:-1], self.cluster)
        return library.Partition(flat.graph, self.mode, recorded,
                                 self.budget or 0, seconds)


def _repeat_random(joint: Joint, forward: GraphModule, backward: GraphModule
                   ) -> tuple[GraphModule, GraphModule]:
    """Random operators that run in both parts give the same numbers."""
    regions = torch.ops.higher_order.invoke_subgraph
    if partitioners.has_recomputable_rng_ops(joint.module):
        order = {node.name: i for i, node in enumerate(joint.nodes)}
        count_names(forward.graph, order)
        count_names(backward.graph, order)
        forward, backward = partitioners.functionalize_rng_ops(
            joint.module, forward, backward, 0)
    if joint.module.graph.find_nodes(op="call_function", target=regions):
        forward = partitioners.thread_graphsafe_rng_from_hops(
            forward, is_backward=False)
        backward = partitioners.thread_graphsafe_rng_from_hops(
            backward, is_backward=True)
    return forward, backward
