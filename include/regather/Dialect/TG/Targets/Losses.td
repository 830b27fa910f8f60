//===- Losses.td - Loss functions --------------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_LOSSES
#define REGATHER_DIALECT_TG_TARGETS_LOSSES

include "regather/Dialect/TG/Targets/TargetBase.td"

defm AtenBinaryCrossEntropy : Operator<"aten.binary_cross_entropy", Loss, [
  Default<"self target weight reduction", lowering=Opaque>
]>;
defm AtenBinaryCrossEntropyBackward
    : Operator<"aten.binary_cross_entropy_backward", Loss, [
  Default<"grad_output self target weight reduction", lowering=Opaque>
]>;
defm AtenBinaryCrossEntropyWithLogits
    : Operator<"aten.binary_cross_entropy_with_logits", Loss, [
  Default<"self target weight pos_weight reduction", lowering=Opaque>
]>;
defm AtenHuberLoss : Operator<"aten.huber_loss", Loss, [
  Default<"self target reduction delta", lowering=Opaque>
]>;
defm AtenHuberLossBackward : Operator<"aten.huber_loss_backward", Loss, [
  Default<"grad_output self target reduction delta", lowering=Opaque>
]>;
defm AtenMseLoss : Operator<"aten.mse_loss", Loss, [
  Default<"self target reduction", lowering=Opaque>
]>;
defm AtenMseLossBackward : Operator<"aten.mse_loss_backward", Loss, [
  Default<"grad_output self target reduction", lowering=Opaque>
]>;
defm AtenNllLoss2dBackward : Operator<"aten.nll_loss2d_backward", Loss, [
  Default<"grad_output self target weight reduction ignore_index total_weight",
          lowering=Opaque>
]>;
defm AtenNllLoss2dForward : Operator<"aten.nll_loss2d_forward", Loss, [
  Default<"self target weight reduction ignore_index", results=2,
          lowering=Opaque>
]>;
defm AtenNllLossBackward : Operator<"aten.nll_loss_backward", Loss, [
  Default<"grad_output self target weight reduction ignore_index total_weight">
]>;
defm AtenNllLossForward : Operator<"aten.nll_loss_forward", Loss, [
  Default<"self target weight reduction ignore_index", results=2>
]>;
defm AtenSmoothL1Loss : Operator<"aten.smooth_l1_loss", Loss, [
  Default<"self target reduction beta", lowering=Opaque>
]>;
defm AtenSmoothL1LossBackward : Operator<"aten.smooth_l1_loss_backward", Loss, [
  Default<"grad_output self target reduction beta", lowering=Opaque>
]>;

#endif // REGATHER_DIALECT_TG_TARGETS_LOSSES
