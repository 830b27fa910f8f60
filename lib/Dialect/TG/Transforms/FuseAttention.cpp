//===- FuseAttention.cpp - Recognise attention written as products --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FuseAttention/AttentionChain.h"
#include "FuseAttention/AttentionNodes.h"

#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Dialect/TG/Transforms/WrittenAttention.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-fuse-attention"

namespace regather::tg {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::attention;

namespace {
struct FuseAttention
    : public regather::tg::impl::FuseAttentionPassBase<FuseAttention> {
  using FuseAttentionPassBase::FuseAttentionPassBase;

  void runOnOperation() override {
    for (FunctionOpInterface func : getSteps(getOperation()))
      run(func);
  }

private:
  void run(FunctionOpInterface func);
  void refuse(NodeOp softmax, StringRef reason);
  void take(AttentionChain &chain, NegatedMasks &negated);
};
} // namespace

static SmallVector<NodeOp> listSoftmaxes(FunctionOpInterface func) {
  SmallVector<NodeOp> nodes;
  for (Operation &op : func.getFunctionBody().front())
    if (isNode(&op, NodeOperator::AtenSoftmax))
      nodes.push_back(cast<NodeOp>(op));
  return nodes;
}

WrittenAttention regather::tg::findWrittenAttention(ModuleOp module) {
  WrittenAttention found;
  for (FunctionOpInterface func : getSteps(module))
    for (NodeOp softmax : listSoftmaxes(func)) {
      std::string reason;
      if (auto chain = matchAttentionChain(softmax, reason)) {
        ++found.chains;
        found.scoreBytes += chain->scoreBytes;
      }
    }
  return found;
}

/// "layers.0.attention: ", or nothing if the softmax has no module.
static std::string getPlace(NodeOp softmax) {
  auto module = softmax->getAttrOfType<StringAttr>(kModuleAttrName);
  return module ? (module.getValue() + ": ").str() : "";
}

void FuseAttention::refuse(NodeOp softmax, StringRef reason) {
  ++numRefused;
  remark::missed(softmax.getLoc(),
                 remark::RemarkOpts::name("not-fused").category(DEBUG_TYPE))
      << remark::reason("{0}this softmax keeps its products: {1}",
                        getPlace(softmax), reason);
}

void FuseAttention::take(AttentionChain &chain, NegatedMasks &negated) {
  ++numChains;
  bool isReport = mode == FuseAttentionMode::Report;
  remark::passed(chain.softmax.getLoc(),
                 remark::RemarkOpts::name(isReport ? "attention" : "fused")
                     .category(DEBUG_TYPE))
      << remark::reason(
             "{0}{1}, {2}, {3} as attention: {4} heads of {5} rows and {6} "
             "columns",
             getPlace(chain.softmax),
             chain.gradOutput ? "forward and backward" : "forward",
             chain.maskKind == MaskKind::None     ? "without a mask"
             : chain.maskKind == MaskKind::Causal ? "causal"
                                                  : "masked",
             isReport ? "can be computed" : "are computed",
             chain.batch * chain.heads, chain.rows, chain.columns)
      << remark::metric("score-bytes", chain.scoreBytes);
  if (!isReport)
    replaceChain(chain, negated);
}

void FuseAttention::run(FunctionOpInterface func) {
  int64_t chains = 0, scoreBytes = 0;
  NegatedMasks negated;
  for (NodeOp softmax : listSoftmaxes(func)) {
    std::string reason;
    std::optional<AttentionChain> chain = matchAttentionChain(softmax, reason);
    if (chain) {
      ++chains;
      scoreBytes += chain->scoreBytes;
      take(*chain, negated);
    } else if (!reason.empty()) {
      refuse(softmax, reason);
    }
  }
  if (chains == 0)
    return;
  remark::analysis(func.getLoc(),
                   remark::RemarkOpts::name("chains").category(DEBUG_TYPE))
      << remark::reason("{0} chains of products and a softmax are attention, "
                        "with probabilities of {1} bytes",
                        chains, scoreBytes)
      << remark::metric("chains", chains)
      << remark::metric("score-bytes", scoreBytes);
}
