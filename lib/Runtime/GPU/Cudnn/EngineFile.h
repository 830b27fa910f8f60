//===- EngineFile.h - Engines that were chosen ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_ENGINEFILE_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_ENGINEFILE_H

#include "Engine.h"

#include "regather/Support/Result.h"

#include <map>

namespace regather::runtime {

/// The engine of each attention, kept from run to run in the file that has the
/// algorithms of GEMMs (AlgorithmFile.h), as a member of its own:
///
///   "attention": {"library": "cuDNN 9.28.0", "device": "NVIDIA H100 80GB
///   HBM3",
///                 "engines": {"forward batch=1 ...": "engine 2, knobs 24=1"}}
class EngineFile {
public:
  /// What `parse` accepts and `print` says.
  EngineFile(std::string library, std::string device)
      : library(std::move(library)), device(std::move(device)) {}

  /// Takes the engines of a file's text, if there are some for this library and
  /// device. Anything else counts as none.
  void parse(const std::string &text);
  /// The member alone.
  std::string print() const;

  /// Replaces the member. Fails if the file cannot be written.
  Failure write(const std::string &path) const;

  /// Names no engine if there is none.
  DnnEngineChoice find(const std::string &attention) const;
  void set(const std::string &attention, const DnnEngineChoice &choice);
  /// True if `set` has changed something.
  bool isChanged() const { return changed; }

private:
  std::string library, device;
  /// As DnnEngineChoice::describe says.
  std::map<std::string, std::string> engines;
  bool changed = false;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_ENGINEFILE_H
