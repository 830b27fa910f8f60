//===- StepText.h - The text of a step, value by value ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_FUZZ_STEPTEXT_H
#define REGATHER_TEST_FUZZ_STEPTEXT_H

#include "Draw.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <string>

namespace regather::fuzz {

using Dims = llvm::SmallVector<int64_t>;

/// A tensor type.
struct TextType {
  Dims dims;
  std::string element = "f32";

  /// As in `tensor<4x8xf32>`.
  std::string str() const;
};

/// An axis of the mesh, by its number.
using AxisSet = uint32_t;

/// A value of the step under construction.
struct TextValue {
  std::string name;
  TextType type;
  /// The axes along which ranks may hold different data.
  AxisSet varying = 0;
};

struct TextAxis {
  std::string name;
  int64_t size = 1;
};

/// What is said of arguments and results.
struct TextRole {
  /// As in `parameter` or `gradient of 3`; empty for none.
  std::string role;
  std::string name, module;
  /// As in `[dp] = shard 0`, and the shape of the whole where shards are
  /// padded.
  std::string placement;
  /// More attributes, such as `tg.donated`.
  std::string more;
};

/// Writes a function of one block. Operations get the phase and the module that
/// are set when they are written.
class StepText {
public:
  StepText(Draw &draw, std::vector<TextAxis> mesh)
      : mesh(std::move(mesh)), draw(draw) {}

  const std::vector<TextAxis> mesh;
  std::string phase = "forward";
  std::string module;
  /// Percentages: of operations that carry a policy; that lack their phase.
  unsigned policies = 0;
  bool hasPhases = true;

  /// The number of the argument is that of earlier calls.
  TextValue addArgument(const TextType &type, const TextRole &role,
                        AxisSet varying);
  void addResult(const TextValue &value, const TextRole &role);

  /// `args` and `kwargs` as they are printed; without `args` the operands are
  /// all.
  TextValue node(llvm::StringRef target, llvm::ArrayRef<TextValue> operands,
                 const TextType &result, const std::string &args = "",
                 const std::string &kwargs = "");
  llvm::SmallVector<TextValue> nodes(llvm::StringRef target,
                                     llvm::ArrayRef<TextValue> operands,
                                     llvm::ArrayRef<TextType> results,
                                     const std::string &args = "",
                                     const std::string &kwargs = "");

  /// A collective such as `all_gather`, over `axes`, with what is printed
  /// between the axes and the phase, such as `dim 0`. What is returned is
  /// waited for when `wait` is called. `reduction` is `sum`, `avg`, `max` or
  /// empty.
  struct Future {
    std::string name;
    llvm::SmallVector<TextValue> results;
    std::string phase, module;
  };
  Future start(llvm::StringRef kind, llvm::StringRef reduction,
               llvm::ArrayRef<TextValue> operands, AxisSet axes,
               const std::string &details, llvm::ArrayRef<TextType> results,
               AxisSet varying);
  llvm::SmallVector<TextValue> wait(const Future &future);

  /// Bits that the seed and the offset of the step give.
  TextValue random(const TextValue &seed, const TextValue &offset,
                   unsigned stream, const TextType &type);

  /// A vector of small whole numbers, not all of them equal.
  TextValue constant(int64_t size, const std::string &element);

  /// A loop of so many iterations over values that it carries. `body` is given
  /// the index and the values, and returns those of the next iteration.
  using LoopBody = llvm::function_ref<llvm::SmallVector<TextValue>(
      llvm::StringRef, llvm::ArrayRef<TextValue>)>;
  llvm::SmallVector<TextValue>
  loop(int64_t count, llvm::ArrayRef<TextValue> inits, LoopBody body);

  /// A constant index.
  std::string index(int64_t value);

  /// One of two values: that of `first` where the index is even.
  using BranchBody = llvm::function_ref<TextValue()>;
  TextValue branch(llvm::StringRef index, const TextType &type,
                   BranchBody first, BranchBody second);

  /// `[dp, tp]`.
  std::string printAxes(AxisSet axes) const;
  int64_t countRanks(AxisSet axes) const;

  unsigned countArguments() const { return numArguments; }
  unsigned countOps() const { return numOps; }

  /// The module.
  std::string take();

private:
  /// An operation of indices, such as `arith.addi %0, %1`.
  std::string scalar(const std::string &operation);
  std::string newName() { return "%" + std::to_string(numValues++); }
  /// `{tg.id = ...}`.
  std::string printAttributes(llvm::StringRef idBase);
  std::string printRole(const TextRole &role) const;

  Draw &draw;
  std::string body, arguments, results, returned, returnedTypes;
  std::map<std::string, unsigned> ids;
  unsigned numValues = 0, numArguments = 0, numOps = 0;
};

} // namespace regather::fuzz

#endif // REGATHER_TEST_FUZZ_STEPTEXT_H
