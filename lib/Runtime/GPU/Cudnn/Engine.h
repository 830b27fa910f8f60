//===- Engine.h - Engines of cuDNN ------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_ENGINE_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_ENGINE_H

#include <cstdint>
#include <string>
#include <vector>

namespace regather::runtime {

/// How an engine of the library computes a graph: its number, and the value of
/// each of its knobs that is chosen.
struct DnnEngineChoice {
  struct Knob {
    int type;
    int64_t value;
  };
  int64_t engine = -1;
  std::vector<Knob> knobs;

  /// Such as "engine 6, knobs 14=2 24=31".
  std::string describe() const;
  /// Reads what `describe` gives. False if it is something else.
  bool parse(const std::string &text);
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_ENGINE_H
