//===- TGCost.cpp - Costs of nodes and of linalg --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace regather::tg;

int64_t regather::tg::getTensorBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.hasStaticShape())
      bytes += getTensorBytes(tensor);
  return bytes;
}

OpCost regather::tg::getOpCost(Operation *op) {
  OpCost cost;
  if (auto costed = dyn_cast<CostOpInterface>(op)) {
    cost.flops = costed.getFlops();
    cost.readBytes = costed.getReadBytes();
    cost.writtenBytes = costed.getWrittenBytes();
    cost.view = costed.isView();
    return cost;
  }
  cost.readBytes = getTensorBytes(op->getOperandTypes());
  cost.writtenBytes = getTensorBytes(op->getResultTypes());
  return cost;
}

//===----------------------------------------------------------------------===//
// NodeOp
//===----------------------------------------------------------------------===//

/// `aten.mm.default` -> `mm`: what all overloads of an operator share.
static StringRef getOperatorName(StringRef target) {
  target.consume_front("aten.");
  return target.split('.').first;
}

static RankedTensorType getTensorOperand(NodeOp node, unsigned i) {
  if (i >= node.getNumOperands())
    return nullptr;
  return dyn_cast<RankedTensorType>(node.getOperand(i).getType());
}

static double getNumElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? static_cast<double>(tensor.getNumElements()) : 0.0;
}

/// Multiply-adds of a matrix product count two; `lhs` is the operand whose
/// last dimension is summed over.
static double getMatmulFlops(NodeOp node, unsigned lhs) {
  RankedTensorType type = getTensorOperand(node, lhs);
  if (!type || type.getRank() == 0 || node.getNumResults() == 0)
    return 0;
  return 2.0 * getNumElements(node.getResult(0).getType()) *
         type.getShape().back();
}

/// Positional argument `i`; null if there are fewer.
static Attribute getArgument(NodeOp node, unsigned i) {
  ArrayAttr args = node.getArgsAttr();
  return args && i < args.size() ? args[i] : Attribute();
}

/// One product of a convolution. Each element of its output, or of its input if
/// it is transposed, meets the weight's elements of one channel.
static double getConvolutionProduct(NodeOp node, RankedTensorType input,
                                    RankedTensorType weight, Type output,
                                    unsigned transposedArgument) {
  if (!input || !weight || weight.getRank() == 0 || weight.getDimSize(0) == 0)
    return 0;
  auto transposed =
      dyn_cast_or_null<BoolAttr>(getArgument(node, transposedArgument));
  Type meeting = transposed && transposed.getValue() ? Type(input) : output;
  return 2.0 * getNumElements(meeting) * getNumElements(weight) /
         weight.getDimSize(0);
}

static double getConvolutionFlops(NodeOp node) {
  return getConvolutionProduct(node, getTensorOperand(node, 0),
                               getTensorOperand(node, 1),
                               node.getResult(0).getType(), 6);
}

/// Backward of a convolution: one product for each gradient that is asked for,
/// of the input and of the weight.
static double getConvolutionBackwardFlops(NodeOp node) {
  RankedTensorType output = getTensorOperand(node, 0);
  double product =
      output ? getConvolutionProduct(node, getTensorOperand(node, 1),
                                     getTensorOperand(node, 2), output, 7)
             : 0;
  unsigned gradients = std::min<unsigned>(node.getNumResults(), 2);
  if (auto mask = dyn_cast_or_null<ArrayAttr>(getArgument(node, 10));
      mask && mask.size() == 3)
    gradients = llvm::count_if(mask.getValue().take_front(2), [](Attribute a) {
      auto asked = dyn_cast<BoolAttr>(a);
      return asked && asked.getValue();
    });
  return product * gradients;
}

/// Attention over query [..., L, E], key [..., S, E] and value [..., S, V]:
/// one product of L x S x E, one of L x S x V; backward has three and two of
/// them. Causal attention counts in full, as everywhere in the field.
static double getAttentionFlops(NodeOp node, bool isBackward) {
  unsigned query = isBackward ? 1 : 0;
  RankedTensorType q = getTensorOperand(node, query);
  RankedTensorType k = getTensorOperand(node, query + 1);
  RankedTensorType v = getTensorOperand(node, query + 2);
  if (!q || !k || !v || q.getRank() < 2 || k.getRank() < 2 || v.getRank() < 1 ||
      q.getShape().back() == 0)
    return 0;
  double rows = getNumElements(q) / q.getShape().back();
  double widths = isBackward
                      ? 3.0 * q.getShape().back() + 2.0 * v.getShape().back()
                      : 1.0 * q.getShape().back() + v.getShape().back();
  return 2.0 * rows * k.getDimSize(k.getRank() - 2) * widths;
}

/// A product for each group of rows: of rows [T, K] with one of several
/// matrices [G, K, N], or, for a gradient, of [M, T] and [T, N].
static double getGroupedMatmulFlops(NodeOp node) {
  RankedTensorType matrices = getTensorOperand(node, 1);
  if (!matrices || matrices.getRank() == 0)
    return 0;
  return 2.0 * getNumElements(getTensorOperand(node, 0)) *
         matrices.getShape().back();
}

double NodeOp::getFlops() {
  if (isView() || getNumResults() == 0)
    return 0;
  StringRef name = getOperatorName(getTarget());
  if (name == "mm" || name == "bmm" || name == "matmul" || name == "linear" ||
      name == "mv" || name == "dot" || name == "_scaled_mm")
    return getMatmulFlops(*this, 0);
  if (name == "addmm" || name == "baddbmm" || name == "addmv" ||
      name == "_addmm_activation")
    return getMatmulFlops(*this, 1);
  if (name == "_grouped_mm" || name == "_scaled_grouped_mm")
    return getGroupedMatmulFlops(*this);
  if (name == "convolution")
    return getConvolutionFlops(*this);
  if (name == "convolution_backward")
    return getConvolutionBackwardFlops(*this);
  if (name.contains("scaled_dot_product") || name.contains("attention"))
    return getAttentionFlops(*this, name.contains("backward"));
  // Elementwise operations and reductions: one for each element touched.
  double elements = 0;
  for (Type type : getOperandTypes())
    elements = std::max(elements, getNumElements(type));
  for (Type type : getResultTypes())
    elements = std::max(elements, getNumElements(type));
  return elements;
}

int64_t NodeOp::getReadBytes() {
  if (isView())
    return 0;
  // What picks elements reads as many as it writes, however large the table.
  bool picks =
      llvm::StringSwitch<bool>(getOperatorName(getTarget()))
          .Cases({"embedding", "index", "index_select", "gather"}, true)
          .Default(false);
  int64_t bytes = getTensorBytes(getOperandTypes());
  if (!picks || getNumOperands() == 0)
    return bytes;
  int64_t table = getTensorBytes(getOperand(0).getType());
  return bytes - table + std::min(table, getTensorBytes(getResultTypes()));
}

int64_t NodeOp::getWrittenBytes() {
  return isView() ? 0 : getTensorBytes(getResultTypes());
}

bool NodeOp::isView() {
  return llvm::StringSwitch<bool>(getOperatorName(getTarget()))
      .Cases({"view", "_unsafe_view", "reshape", "_reshape_alias"}, true)
      .Cases({"transpose", "t", "permute", "movedim", "swapaxes"}, true)
      .Cases({"expand", "expand_as", "squeeze", "unsqueeze"}, true)
      .Cases({"slice", "select", "narrow", "diagonal"}, true)
      .Cases({"split", "split_with_sizes", "chunk", "unbind"}, true)
      .Cases({"alias", "detach", "as_strided", "unfold"}, true)
      .Cases({"view_as", "view_as_real", "view_as_complex"}, true)
      .Default(getTarget() == "_operator.getitem");
}

bool NodeOp::isLibraryCall() {
  StringRef name = getOperatorName(getTarget());
  return llvm::StringSwitch<bool>(name)
      .Cases({"mm", "bmm", "matmul", "linear", "mv", "dot"}, true)
      .Cases({"addmm", "baddbmm", "addmv", "_addmm_activation"}, true)
      .Cases({"_scaled_mm", "_grouped_mm", "_scaled_grouped_mm"}, true)
      .Cases({"convolution", "convolution_backward"}, true)
      .Default(name.contains("scaled_dot_product") ||
               name.contains("attention"));
}

//===----------------------------------------------------------------------===//
// External models
//===----------------------------------------------------------------------===//

namespace {
/// Structured ops of linalg: the body runs once for each point of the domain.
template <typename OpTy>
struct LinalgCost
    : public CostOpInterface::ExternalModel<LinalgCost<OpTy>, OpTy> {
  double getFlops(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    double points = 1;
    for (int64_t size : linalgOp.getStaticLoopRanges())
      points *= ShapedType::isDynamic(size) ? 0 : size;
    double arithmetic = 0;
    for (Operation &inner : linalgOp.getBlock()->without_terminator())
      arithmetic += isa<linalg::IndexOp>(inner) ? 0 : 1;
    return points * arithmetic;
  }
  int64_t getReadBytes(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    int64_t bytes = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (linalgOp.payloadUsesValueFromOperand(&operand))
        bytes += getTensorBytes(operand.get().getType());
    return bytes;
  }
  int64_t getWrittenBytes(Operation *op) const {
    return getTensorBytes(op->getResultTypes());
  }
  bool isView(Operation *) const { return false; }
  bool isLibraryCall(Operation *op) const {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    return linalg::isaContractionOpInterface(linalgOp) ||
           linalg::isaConvolutionOpInterface(linalgOp);
  }
};

/// Views of tensor: no bytes move.
template <typename OpTy>
struct ViewCost : public CostOpInterface::ExternalModel<ViewCost<OpTy>, OpTy> {
  double getFlops(Operation *) const { return 0; }
  int64_t getReadBytes(Operation *) const { return 0; }
  int64_t getWrittenBytes(Operation *) const { return 0; }
  bool isView(Operation *) const { return true; }
};

template <typename... Ops> void attachLinalgCost(MLIRContext *context) {
  (Ops::template attachInterface<LinalgCost<Ops>>(*context), ...);
}

template <typename... Ops> void attachViewCost(MLIRContext *context) {
  (Ops::template attachInterface<ViewCost<Ops>>(*context), ...);
}
} // namespace

void regather::tg::registerCostExternalModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, TGDialect *, linalg::LinalgDialect *) {
        attachLinalgCost<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
            >(context);
      });
  registry.addExtension(
      +[](MLIRContext *context, TGDialect *, tensor::TensorDialect *) {
        attachViewCost<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                       tensor::ReshapeOp, tensor::CastOp,
                       tensor::ExtractSliceOp, tensor::EmptyOp>(context);
      });
}
