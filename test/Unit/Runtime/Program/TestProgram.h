//===- TestProgram.h - Programs written by hand -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_PROGRAM_TESTPROGRAM_H
#define REGATHER_TEST_UNIT_RUNTIME_PROGRAM_TESTPROGRAM_H

#include "regather/Runtime/Executor.h"

#include "gtest/gtest.h"

#include <deque>
#include <string>
#include <vector>

namespace regather::test {

/// Places of vectors of i64, in units of their elements.
inline rg_slice arena(int64_t element, int64_t count = 1) {
  return {RG_SPACE_ARENA, 0, element * 8, count * 8};
}
inline rg_slice host(int64_t element, int64_t count = 1) {
  return {RG_SPACE_HOST, 0, element * 8, count * 8};
}
inline rg_slice argument(int32_t index, int64_t count = 1) {
  return {RG_SPACE_ARGUMENT, index, 0, count * 8};
}
inline rg_slice constant(int32_t index, int64_t count = 1) {
  return {RG_SPACE_CONSTANT, index, 0, count * 8};
}

/// Tables that grow. All values are vectors of i64.
class TestProgram {
public:
  int32_t addArgument(int64_t count, bool donated = false) {
    arguments.push_back(getValue(count, donated, {}));
    return int32_t(arguments.size()) - 1;
  }
  /// A donated one in memory of the host.
  int32_t addHostArgument(int64_t count) {
    arguments.push_back(getValue(count, /*donated=*/true, {}));
    arguments.back().on_host = 1;
    return int32_t(arguments.size()) - 1;
  }
  void addResult(int64_t count, rg_slice slice, bool onHost = false) {
    results.push_back(getValue(count, false, slice));
    results.back().on_host = onHost;
  }
  int32_t addConstant(std::vector<int64_t> values) {
    data.push_back(std::move(values));
    constants.push_back({data.back().data(), int64_t(data.back().size()) * 8});
    return int32_t(constants.size()) - 1;
  }
  int32_t addAxes(std::vector<int64_t> sizes, std::vector<int64_t> strides) {
    data.push_back(std::move(sizes));
    const std::vector<int64_t> &first = data.back();
    data.push_back(std::move(strides));
    axes.push_back(
        {int32_t(first.size()), 0, first.data(), data.back().data()});
    return int32_t(axes.size()) - 1;
  }
  /// A collective of one vector.
  int32_t addCollective(int32_t kind, int32_t onAxes, int64_t input,
                        int64_t output, const char *name = "transfer") {
    data.push_back({input});
    const int64_t *from = data.back().data();
    data.push_back({output});
    members.push_back({RG_I64, 1, from, data.back().data(), nullptr, nullptr});
    rg_collective_entry entry = {};
    entry.collective.kind = kind;
    entry.collective.accumulate = RG_DTYPE_AUTO;
    entry.collective.members = &members.back();
    entry.collective.member_count = 1;
    entry.collective.name = name;
    entry.axes = onAxes;
    collectives.push_back(entry);
    return int32_t(collectives.size()) - 1;
  }
  int32_t addKernel(rg_kernel_function function, int64_t rows = 1,
                    int64_t grain = 1, int64_t scratch = 0) {
    kernels.push_back({"kernel", function, rows, grain, scratch});
    return int32_t(kernels.size()) - 1;
  }
  /// Returns the number of the instruction.
  int64_t add(int32_t opcode, int32_t index,
              const std::vector<rg_slice> &operands = {}, int32_t stream = 0,
              int64_t target = 0, const char *description = "instruction") {
    instructions.push_back({opcode, stream, index, int32_t(operands.size()),
                            int64_t(slices.size()), target, description, 0, 0});
    slices.insert(slices.end(), operands.begin(), operands.end());
    return int64_t(instructions.size()) - 1;
  }

  rg_program get() const {
    rg_program program = {};
    program.version = RG_PROGRAM_VERSION;
    program.ranks = ranks;
    program.name = "test";
    program.arena_bytes = arenaBytes;
    program.host_arena_bytes = hostArenaBytes;
    program.arena_alignment = 64;
    program.stream_count = 3;
    program.event_count = 4;
    program.loop_count = 2;
    program.argument_count = int64_t(arguments.size());
    program.arguments = arguments.data();
    program.result_count = int64_t(results.size());
    program.results = results.data();
    program.constant_count = int64_t(constants.size());
    program.constants = constants.data();
    program.kernel_count = int64_t(kernels.size());
    program.kernels = kernels.data();
    program.axes_count = int64_t(axes.size());
    program.axes = axes.data();
    program.collective_count = int64_t(collectives.size());
    program.collectives = collectives.data();
    program.slice_count = int64_t(slices.size());
    program.slices = slices.data();
    program.instruction_count = int64_t(instructions.size());
    program.instructions = instructions.data();
    return program;
  }

  int32_t ranks = 1;
  int64_t arenaBytes = 4096;
  int64_t hostArenaBytes = 0;
  std::vector<rg_instruction> instructions;
  std::vector<rg_slice> slices;

private:
  rg_value getValue(int64_t count, bool donated, rg_slice slice) {
    data.push_back({count});
    return {"value", RG_I64, 1, data.back().data(), donated, 0, slice};
  }

  /// Elements do not move when others are added.
  std::deque<std::vector<int64_t>> data;
  std::deque<rg_member> members;
  std::vector<rg_value> arguments, results;
  std::vector<rg_constant> constants;
  std::vector<rg_kernel> kernels;
  std::vector<rg_axes> axes;
  std::vector<rg_collective_entry> collectives;
};

/// Runs a program on arguments of i64.
class TestExecutor {
public:
  explicit TestExecutor(const TestProgram &test,
                        rg_executor_options options = {})
      : program(test.get()) {
    status = rg_executor_create(&program, &options, &executor);
  }
  ~TestExecutor() { rg_executor_destroy(executor); }
  TestExecutor(const TestExecutor &) = delete;

  rg_status run(std::vector<std::vector<std::vector<int64_t>>> &arguments) {
    std::vector<std::vector<void *>> pointers;
    std::vector<void *const *> ranks;
    for (std::vector<std::vector<int64_t>> &values : arguments) {
      std::vector<void *> &list = pointers.emplace_back();
      for (std::vector<int64_t> &value : values)
        list.push_back(value.data());
    }
    pointers.resize(std::max(pointers.size(), size_t(program.ranks)));
    ranks.reserve(pointers.size());
    for (std::vector<void *> &list : pointers)
      ranks.push_back(list.data());
    return rg_executor_run(executor, ranks.data(), /*results=*/nullptr);
  }
  rg_status run() {
    std::vector<std::vector<std::vector<int64_t>>> none;
    return run(none);
  }

  std::vector<int64_t> getResult(int32_t rank, int64_t result = 0) const {
    const auto *data = static_cast<const int64_t *>(
        rg_executor_result(executor, rank, result));
    return std::vector<int64_t>(data, data + *program.results[result].shape);
  }
  rg_status gather(const std::vector<char> &data, int32_t to,
                   const std::vector<void *> &parts) {
    return rg_executor_gather(executor, data.data(), int64_t(data.size()), to,
                              parts.empty() ? nullptr : parts.data());
  }
  std::string getError() const { return rg_executor_error(executor); }
  rg_failure getFailure() const { return rg_executor_failure(executor); }
  double getWaitSeconds(int32_t rank) const {
    return rg_executor_wait_seconds(executor, rank);
  }
  std::vector<rg_span> getSpans(int32_t rank) const {
    int64_t count = 0;
    const rg_span *spans = rg_executor_spans(executor, rank, &count);
    return std::vector<rg_span>(spans, spans + count);
  }
  int64_t getTouched() const { return rg_executor_touched_bytes(executor); }
  int64_t getTouchedOnHost() const {
    return rg_executor_touched_host_bytes(executor);
  }
  int64_t getBytes() const { return rg_executor_bytes(executor); }

  rg_status status = RG_OK;

private:
  rg_program program;
  rg_executor *executor = nullptr;
};

} // namespace regather::test

#endif // REGATHER_TEST_UNIT_RUNTIME_PROGRAM_TESTPROGRAM_H
