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

/// Tables for images with `NumSpatial` dimensions, such as `avg_pool2d`.
template <size_t NumSpatial> static void addRules(NodeRuleTable &table) {
  auto add = [&](StringRef prefix, StringRef suffix, StringLiteral schema,
                 BuildFn build, SizeArgument sizes = {}) {
    table[("aten." + prefix + Twine(NumSpatial) + "d" + suffix).str()] = {
        schema, build, sizes};
  };
  BuildFn linear = buildPool<NumSpatial, true>;
  BuildFn nonlinear = buildPool<NumSpatial, false>;
  BuildFn backward = buildPoolBackward<NumSpatial>;
  add("max_pool", "_with_indices.default",
      "self kernel_size stride padding dilation ceil_mode", nonlinear);
  add("max_pool", "_with_indices_backward.default",
      "grad_output self kernel_size stride padding dilation ceil_mode indices",
      backward);
  add("avg_pool", ".default",
      "self kernel_size stride padding ceil_mode count_include_pad "
      "divisor_override",
      linear);
  add("avg_pool", "_backward.default",
      "grad_output self kernel_size stride padding ceil_mode "
      "count_include_pad divisor_override",
      backward);
  for (StringRef prefix : {"_adaptive_avg_pool", "adaptive_avg_pool"}) {
    add(prefix, ".default", "self output_size", linear);
    add(prefix, "_backward.default", "grad_output self", backward);
  }
  add("adaptive_max_pool", ".default", "self output_size", nonlinear);
  add("adaptive_max_pool", "_backward.default", "grad_output self indices",
      backward);
}

/// Resampling of images, each of which is read as a whole.
static void addUpsamplingRules(NodeRuleTable &table) {
  SizeArgument sizes = {"input_size"};
  table["aten.upsample_nearest2d.default"] = {
      "self output_size scales_h scales_w", buildPool<2, true>};
  table["aten.upsample_nearest2d_backward.default"] = {
      "grad_output output_size input_size scales_h scales_w",
      buildPoolBackward<2>, sizes};
  for (StringRef name : {"upsample_bilinear2d", "upsample_bicubic2d"}) {
    table[("aten." + name + ".default").str()] = {
        "self output_size align_corners scales_h scales_w", buildPool<2, true>};
    table[("aten." + name + "_backward.default").str()] = {
        "grad_output output_size input_size align_corners scales_h scales_w",
        buildPoolBackward<2>, sizes};
  }
}

void regather::tg::sharding::addPoolingRules(NodeRuleTable &table) {
  addRules<1>(table);
  addRules<2>(table);
  addRules<3>(table);
  addUpsamplingRules(table);
}
