//===- Segments.cpp - Parts of a program ----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Segments.h"

#include "ReducedProblem.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <map>

using namespace regather;
using namespace regather::recomputation;

/// Longer segments are cut even where more values are carried on.
static constexpr uint32_t kLongSegment = 48;
/// At most so many values are carried on, since each doubles the number of
/// states.
static constexpr uint32_t kMostCarried = 3;

bool SegmentKind::isConsistent(uint32_t in, uint32_t out) const {
  for (auto [i, carried] : llvm::enumerate(carriedOut))
    if (carried.passes && ((out >> i) & 1) != ((in >> carried.number) & 1))
      return false;
  return true;
}

RecomputationProblem SegmentKind::getProblem(uint32_t in, uint32_t out) const {
  RecomputationProblem open = problem;
  for (auto [op, inputs] : llvm::zip_equal(open.ops, carriedInputs))
    op.mayRecompute &=
        llvm::all_of(inputs, [&](uint32_t input) { return (in >> input) & 1; });
  for (auto [i, carried] : llvm::enumerate(carriedOut))
    if (!carried.passes && ((out >> i) & 1))
      open.values[carried.number].isNeeded = true;
  return open;
}

namespace {
class Cutter {
public:
  explicit Cutter(const RecomputationProblem &problem);

  Segmentation cut();

private:
  bool isOpen(uint32_t value) const {
    return !problem.values[value].isNeeded &&
           lastUse[value] > problem.values[value].op;
  }
  void choosePositions();
  void cutLongSegments(uint32_t carried);
  void collectCarried();
  uint32_t getPlace(uint32_t boundary, uint32_t value) const {
    return llvm::lower_bound(carried[boundary], value) -
           carried[boundary].begin();
  }
  SegmentKind describe(uint32_t segment) const;

  const RecomputationProblem &problem;
  /// By value, the last operation that reads it; its own if none does.
  std::vector<uint32_t> lastUse;
  /// By position, which is the number of the operation behind it.
  std::vector<uint32_t> numCarriedAt;
  /// The boundaries, begin and end of the program included.
  std::vector<uint32_t> positions;
  /// By boundary, in ascending order.
  std::vector<std::vector<uint32_t>> carried;
  /// By operation, its values.
  std::vector<std::vector<uint32_t>> results;
};
} // namespace

Cutter::Cutter(const RecomputationProblem &problem)
    : problem(problem), numCarriedAt(problem.ops.size() + 1),
      results(problem.ops.size()) {
  for (auto [number, value] : llvm::enumerate(problem.values)) {
    lastUse.push_back(value.op);
    results[value.op].push_back(number);
  }
  for (auto [number, op] : llvm::enumerate(problem.ops))
    for (uint32_t input : op.inputs)
      lastUse[input] = number;
  std::vector<int32_t> change(problem.ops.size() + 2);
  for (uint32_t value = 0; value < problem.values.size(); ++value) {
    if (!isOpen(value))
      continue;
    ++change[problem.values[value].op + 1];
    --change[lastUse[value] + 1];
  }
  int32_t number = 0;
  for (auto [position, count] : llvm::enumerate(numCarriedAt))
    count = number += change[position];
}

/// Cuts segments that are long at all positions with so many values, unless
/// the longest of the pieces would hardly be shorter.
void Cutter::cutLongSegments(uint32_t carried) {
  std::vector<uint32_t> old;
  old.swap(positions);
  positions.push_back(old.front());
  for (uint32_t i = 1; i < old.size(); ++i) {
    uint32_t length = old[i] - old[i - 1], longest = 0;
    size_t first = positions.size();
    if (length > kLongSegment)
      for (uint32_t position = old[i - 1] + 1; position < old[i]; ++position)
        if (numCarriedAt[position] == carried) {
          longest = std::max(longest, position - positions.back());
          positions.push_back(position);
        }
    longest = std::max(longest, old[i] - positions.back());
    if (longest > length - length / 4)
      positions.resize(first);
    positions.push_back(old[i]);
  }
}

void Cutter::choosePositions() {
  uint32_t numOps = problem.ops.size();
  positions.push_back(0);
  for (uint32_t position = 1; position < numOps; ++position)
    if (numCarriedAt[position] <= 1)
      positions.push_back(position);
  positions.push_back(numOps);
  for (uint32_t number = 2; number <= kMostCarried; ++number)
    cutLongSegments(number);
}

void Cutter::collectCarried() {
  carried.resize(positions.size());
  for (uint32_t value = 0; value < problem.values.size(); ++value) {
    if (!isOpen(value))
      continue;
    auto boundary = llvm::upper_bound(positions, problem.values[value].op);
    for (; *boundary <= lastUse[value]; ++boundary)
      carried[boundary - positions.begin()].push_back(value);
  }
}

SegmentKind Cutter::describe(uint32_t segment) const {
  SegmentKind kind;
  kind.numCarriedIn = carried[segment].size();
  std::vector<uint32_t> places;
  uint32_t first = positions[segment], end = positions[segment + 1];
  // The values of one segment have no consecutive numbers.
  std::map<uint32_t, uint32_t> numbers;
  for (uint32_t number = first; number < end; ++number) {
    const RecomputationProblem::Op &op = problem.ops[number];
    std::vector<uint32_t> inputs, fromOutside;
    for (uint32_t input : op.inputs) {
      if (problem.values[input].op >= first)
        inputs.push_back(numbers.at(input));
      else if (isOpen(input))
        fromOutside.push_back(getPlace(segment, input));
      // It is known of all other values that backward has them.
    }
    uint32_t local = kind.problem.addOp(op.seconds, op.mayRecompute, inputs);
    kind.carriedInputs.push_back(std::move(fromOutside));
    for (uint32_t result : results[number]) {
      const RecomputationProblem::Value &value = problem.values[result];
      numbers[result] = kind.problem.addValue(local, value.bytes, value.maySave,
                                              value.isNeeded);
    }
  }
  for (uint32_t value : carried[segment + 1]) {
    bool passes = problem.values[value].op < first;
    kind.carriedOut.push_back(
        {passes, passes ? getPlace(segment, value) : numbers.at(value)});
  }
  return kind;
}

/// All that tells kinds apart, as numbers.
static std::vector<uint64_t> encode(const SegmentKind &kind) {
  std::vector<uint64_t> code = {kind.numCarriedIn, kind.problem.ops.size(),
                                kind.carriedOut.size()};
  auto append = [&](const std::vector<uint32_t> &numbers) {
    code.push_back(numbers.size());
    code.insert(code.end(), numbers.begin(), numbers.end());
  };
  for (auto [op, carried] :
       llvm::zip_equal(kind.problem.ops, kind.carriedInputs)) {
    code.push_back(llvm::bit_cast<uint64_t>(op.seconds));
    code.push_back(op.mayRecompute);
    append(op.inputs);
    append(carried);
  }
  for (const RecomputationProblem::Value &value : kind.problem.values) {
    code.push_back(value.op);
    code.push_back(value.bytes);
    code.push_back(value.maySave);
    code.push_back(value.isNeeded);
  }
  for (const SegmentKind::CarriedOut &carried : kind.carriedOut) {
    code.push_back(carried.passes);
    code.push_back(carried.number);
  }
  return code;
}

Segmentation Cutter::cut() {
  choosePositions();
  collectCarried();
  Segmentation segmentation;
  std::map<std::vector<uint64_t>, uint32_t> kinds;
  for (const std::vector<uint32_t> &values : carried)
    segmentation.numCarried.push_back(values.size());
  for (uint32_t i = 0; i + 1 < positions.size(); ++i) {
    SegmentKind kind = describe(i);
    auto [it, isNew] =
        kinds.try_emplace(encode(kind), segmentation.kinds.size());
    if (isNew)
      segmentation.kinds.push_back(std::move(kind));
    segmentation.segments.push_back(
        {positions[i], positions[i + 1], it->second});
  }
  return segmentation;
}

Segmentation
recomputation::cutIntoSegments(const RecomputationProblem &problem) {
  if (problem.ops.empty())
    return {{}, {}, {0}};
  return Cutter(problem).cut();
}
