//===- AlgorithmReader.cpp - Algorithms and engines of libraries ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "Reader.h"

#include "GPU/CublasLt/AlgorithmFile.h"
#include "GPU/Cudnn/EngineFile.h"

using namespace regather::fuzz;
using namespace regather::runtime;

/// A file that counts as none is no error: what is read again is the same.
template <typename File>
static std::string check(std::string_view bytes, const char *library) {
  File file(library, "device");
  file.parse(std::string(bytes));
  std::string text = file.print();
  File again(library, "device");
  again.parse(text);
  if (again.print() != text)
    reportFind("what was written reads as something else: " + text);
  return text == File(library, "device").print() ? "nothing" : "";
}

static std::string readAlgorithmBytes(std::string_view bytes) {
  std::string gemms = check<AlgorithmFile>(bytes, "cuBLASLt");
  return gemms + check<EngineFile>(bytes, "cuDNN");
}

const Reader regather::fuzz::algorithmReader = {"algorithms",
                                                readAlgorithmBytes, mutateJson};
