//===- LocalCommunication.cpp - Groups of one rank ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalCommunication.h"

using namespace regather::runtime;

static int64_t getNumMembers(const rg_axes &axes) {
  int64_t count = 1;
  for (int32_t k = 0; k < axes.count; ++k)
    count *= axes.sizes[k];
  return count;
}

bool LocalCommunication::prepare(const rg_gpu_program &gpu,
                                 std::string &message) {
  program = gpu.program;
  for (int64_t i = 0; i < program->transfer_count; ++i) {
    const rg_transfer &transfer = program->transfers[i];
    int64_t members = getNumMembers(program->axes[transfer.axes]);
    if (members == 1)
      continue;
    const char *name = transfer.collective.name;
    message = std::string(name ? name : "a collective") + " is between " +
              std::to_string(members) +
              " ranks, which need a library for communication";
    return false;
  }
  return true;
}

bool LocalCommunication::start(int32_t rank, int64_t number,
                               const CuAddress *buffers, CuStream stream,
                               std::string &message) {
  const rg_instruction &instruction = program->instructions[number];
  const rg_collective &collective =
      program->transfers[instruction.index].collective;
  const rg_place *places = program->places + instruction.first_place;
  // A rank that no rank sends to gets zeros.
  bool isCleared = collective.kind == RG_PERMUTE && collective.pair_count == 0;
  const DriverApi &driver = device.getDriver();
  for (int64_t i = 0; i < collective.member_count; ++i) {
    CuAddress input = buffers[2 * i], output = buffers[2 * i + 1];
    auto bytes = size_t(places[2 * i + 1].bytes);
    if (bytes == 0 || (input == output && !isCleared))
      continue;
    if (isCleared
            ? !device.check(driver.cuMemsetD8Async(output, 0, bytes, stream),
                            "cuMemsetD8Async", message)
            : !device.check(
                  driver.cuMemcpyDtoDAsync_v2(output, input, bytes, stream),
                  "cuMemcpyDtoDAsync", message))
      return false;
  }
  return true;
}
