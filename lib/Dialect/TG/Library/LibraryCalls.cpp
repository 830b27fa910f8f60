//===- LibraryCalls.cpp - Kernels that libraries compute ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Library/LibraryCalls.h"

#include "LibraryReadings.h"

#include "regather/Dialect/TG/Nodes/AttentionTargets.h"
#include "regather/Dialect/TG/Nodes/ConvolutionArguments.h"
#include "regather/Dialect/TG/Nodes/GroupedGemmArguments.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::library;

std::optional<LibraryRoutine> regather::tg::getLibraryRoutine(Operation *op) {
  if (std::optional<NodeTarget> target = findAttentionTarget(op))
    return isAttentionBackward(*target) ? LibraryRoutine::AttentionBackward
                                        : LibraryRoutine::Attention;
  if (nodes::findConvolutionTarget(op))
    return LibraryRoutine::Convolution;
  if (nodes::findGroupedGemmTarget(op))
    return LibraryRoutine::GroupedGemm;
  if (readGemm(op))
    return LibraryRoutine::Gemm;
  return std::nullopt;
}

Value regather::tg::getViewedOperand(OpResult result) {
  std::optional<ViewReading> reading = readView(result);
  return reading ? reading->operand : nullptr;
}

void regather::tg::updateLibraryCall(KernelOp kernel) {
  LibraryCallAttrInterface call = kernel.getLibraryCallAttr();
  if (isa_and_nonnull<GemmAttr>(call))
    kernel.setLibraryCallAttr(matchGemm(kernel).call);
  else if (isa_and_nonnull<AttentionAttr>(call))
    kernel.setLibraryCallAttr(matchAttention(kernel).call);
  else if (isa_and_nonnull<ConvolutionAttr>(call))
    kernel.setLibraryCallAttr(matchConvolution(kernel).call);
  else if (isa_and_nonnull<GroupedGemmAttr>(call))
    kernel.setLibraryCallAttr(matchGroupedGemm(kernel).call);
}

template <typename CallAttr>
static LogicalResult verifyMatch(KernelOp kernel,
                                 const LibraryMatch<CallAttr> &match) {
  if (match.call == kernel.getLibraryCallAttr())
    return success();
  InFlightDiagnostic diag = kernel.emitOpError(
      "has a library call that computes something else than its body");
  if (match)
    diag.attachNote() << "the body computes " << match.call;
  else
    diag.attachNote() << "no such call computes the body: " << match.reason;
  return diag;
}

LogicalResult regather::tg::verifyLibraryCall(KernelOp kernel) {
  LibraryCallAttrInterface call = kernel.getLibraryCallAttr();
  if (isa_and_nonnull<GemmAttr>(call))
    return verifyMatch(kernel, matchGemm(kernel));
  if (isa_and_nonnull<AttentionAttr>(call))
    return verifyMatch(kernel, matchAttention(kernel));
  if (isa_and_nonnull<ConvolutionAttr>(call))
    return verifyMatch(kernel, matchConvolution(kernel));
  if (isa_and_nonnull<GroupedGemmAttr>(call))
    return verifyMatch(kernel, matchGroupedGemm(kernel));
  return success();
}
