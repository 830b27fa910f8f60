//===- ProgressListener.h - What takes long, as it goes on ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_PROGRESSLISTENER_H
#define REGATHER_DRIVER_PROGRESSLISTENER_H

#include <cstdint>

namespace regather {

/// Is told how far a long piece of work is, on any thread but not on two at
/// once. This one ignores it.
class ProgressListener {
public:
  virtual ~ProgressListener() = default;

  /// A piece of work begins, such as "compiling".
  virtual void begin(const char *what) {}
  /// `done` of its `total` parts are done.
  virtual void advance(int64_t done, int64_t total) {}
  virtual void end() {}
};

} // namespace regather

#endif // REGATHER_DRIVER_PROGRESSLISTENER_H
