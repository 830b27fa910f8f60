//===- NodeBuilder.cpp - What a builder makes of a node -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeBuilder.h"

using namespace mlir;
using namespace regather::nodes;

NodeBuilder::NodeBuilder(NodeArguments &args)
    : ImplicitLocOpBuilder(args.getNode().getLoc(), args.getNode()),
      args(args) {}

RankedTensorType NodeBuilder::getResultType(unsigned i) {
  return dyn_cast<RankedTensorType>(args.getNode().getResult(i).getType());
}

LogicalResult NodeBuilder::finish(ArrayRef<Value> values) {
  ResultRange expected = args.getNode().getResults();
  if (values.size() != expected.size())
    return args.fail("gives " + Twine(values.size()) +
                     " results, but the node has " + Twine(expected.size()));
  for (auto [index, pair] : llvm::enumerate(llvm::zip(values, expected))) {
    auto [value, result] = pair;
    if (value && value.getType() == result.getType())
      continue;
    if (!value && (!getResultType(index) || result.use_empty()))
      continue;
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "result " << index << " is ";
    if (value)
      stream << value.getType();
    else
      stream << "none";
    stream << ", but the node says " << result.getType();
    return args.fail(text);
  }
  results.assign(values.begin(), values.end());
  return success();
}
