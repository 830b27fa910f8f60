//===- PoolingRules.cpp - Rules of pooling and resampling -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeRules.h"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::sharding;

/// The tensors agree in their first dimensions, batch and channels; along the
/// others, which a window moves over, they are whole. `sources` name tensors of
/// the shape of the image, `outputs` those of what the window gives. Results
/// are images if there are outputs among the operands.
static void setWindowed(NodeRuleBuilder &b, size_t numSpatial,
                        ArrayRef<int64_t> image, ArrayRef<StringRef> sources,
                        ArrayRef<int64_t> pooled, ArrayRef<StringRef> outputs) {
  if (image.size() < numSpatial || image.size() != pooled.size()) {
    (void)b.args.fail("must have spatial dimensions");
    return;
  }
  TensorFactors shared = addDims(b.rule, image.drop_back(numSpatial));
  TensorFactors before = shared, after = shared;
  llvm::append_range(
      before, addDims(b.rule, image.take_back(numSpatial), FactorKind::Whole));
  llvm::append_range(
      after, addDims(b.rule, pooled.take_back(numSpatial), FactorKind::Whole));
  for (StringRef name : sources)
    b.setOperand(name, before);
  for (StringRef name : outputs)
    b.setOperand(name, after);
  bool isBackward = !outputs.empty();
  for (unsigned i = 0; i < b.rule.results.size(); ++i)
    b.setResult(isBackward ? before : after, i);
}

/// Results are the pooled values, and their positions in each image.
template <size_t NumSpatial, bool IsLinear>
static void buildPool(NodeRuleBuilder &b) {
  setWindowed(b, NumSpatial, b.getShape("self"), {"self"}, b.getResultShape(),
              {});
  if (IsLinear)
    b.addLinear({"self"});
}

template <size_t NumSpatial> static void buildPoolBackward(NodeRuleBuilder &b) {
  setWindowed(b, NumSpatial, b.getResultShape(), {"self"},
              b.getShape("grad_output"), {"grad_output", "indices"});
  b.addLinear({"grad_output"});
}

void regather::tg::sharding::addPoolingRules(NodeRuleTable &table) {
  table.add({Operator::AtenAdaptiveAvgPool1d, Operator::AtenAvgPool1d,
             Operator::AtenInnerAdaptiveAvgPool1d},
            {buildPool<1, true>});
  table.add({Operator::AtenAdaptiveAvgPool1dBackward,
             Operator::AtenAdaptiveMaxPool1dBackward,
             Operator::AtenAvgPool1dBackward,
             Operator::AtenInnerAdaptiveAvgPool1dBackward,
             Operator::AtenMaxPool1dWithIndicesBackward},
            {buildPoolBackward<1>});
  table.add({Operator::AtenAdaptiveAvgPool2d, Operator::AtenAvgPool2d,
             Operator::AtenInnerAdaptiveAvgPool2d,
             Operator::AtenUpsampleBicubic2d, Operator::AtenUpsampleBilinear2d,
             Operator::AtenUpsampleNearest2d},
            {buildPool<2, true>});
  table.add({Operator::AtenAdaptiveAvgPool2dBackward,
             Operator::AtenAdaptiveMaxPool2dBackward,
             Operator::AtenAvgPool2dBackward,
             Operator::AtenInnerAdaptiveAvgPool2dBackward,
             Operator::AtenMaxPool2dWithIndicesBackward,
             Operator::AtenUpsampleBicubic2dBackward,
             Operator::AtenUpsampleBilinear2dBackward,
             Operator::AtenUpsampleNearest2dBackward},
            {buildPoolBackward<2>});
  table.add({Operator::AtenAdaptiveAvgPool3d, Operator::AtenAvgPool3d,
             Operator::AtenInnerAdaptiveAvgPool3d},
            {buildPool<3, true>});
  table.add({Operator::AtenAdaptiveAvgPool3dBackward,
             Operator::AtenAdaptiveMaxPool3dBackward,
             Operator::AtenAvgPool3dBackward,
             Operator::AtenInnerAdaptiveAvgPool3dBackward,
             Operator::AtenMaxPool3dWithIndicesBackward},
            {buildPoolBackward<3>});
  table.add(
      {Operator::AtenAdaptiveMaxPool1d, Operator::AtenMaxPool1dWithIndices},
      {buildPool<1, false>});
  table.add(
      {Operator::AtenAdaptiveMaxPool2d, Operator::AtenMaxPool2dWithIndices},
      {buildPool<2, false>});
  table.add(
      {Operator::AtenAdaptiveMaxPool3d, Operator::AtenMaxPool3dWithIndices},
      {buildPool<3, false>});
}
