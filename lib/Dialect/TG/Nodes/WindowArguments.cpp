//===- WindowArguments.cpp - Windows that a node moves --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Nodes/WindowArguments.h"

using namespace mlir;
using namespace regather::nodes;

SmallVector<int64_t> regather::nodes::getPerDim(NodeArguments &args,
                                                StringRef name, size_t count,
                                                ArrayRef<int64_t> standard) {
  SmallVector<int64_t> values;
  if (args.has(name))
    values = args.getInts(name);
  if (values.empty())
    values.assign(standard.begin(), standard.end());
  if (values.size() == 1)
    values.resize(count, values.front());
  if (values.size() != count)
    (void)args.fail(name, "must hold " + Twine(count) + " integers, got " +
                              Twine(values.size()));
  values.resize(count, 1);
  return values;
}

LogicalResult regather::nodes::checkWindows(NodeArguments &args,
                                            const Windows &windows) {
  if (args.hasFailed())
    return failure();
  for (const Window &window : windows)
    if (window.size < 1 || window.stride < 1 || window.dilation < 1 ||
        window.padding < 0)
      return args.fail("expects a window of positive size, stride and "
                       "dilation, and no negative padding, got " +
                       Twine(window.size) + ", " + Twine(window.stride) + ", " +
                       Twine(window.dilation) + " and " +
                       Twine(window.padding));
  return success();
}
