//===- ProbeSteps.cpp - Steps by which a machine is measured --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProbeSteps.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather;

namespace {
/// Writes a step, operation by operation.
class StepText {
public:
  /// The name of another argument.
  std::string addArgument(const std::string &type) {
    std::string name = llvm::formatv("%a{0}", arguments.size());
    arguments.push_back(name + ": " + type);
    return name;
  }

  /// Adds `%rN = text`, and gives its name.
  std::string add(const std::string &text, unsigned results = 1) {
    std::string name = llvm::formatv("%r{0}", count++);
    body += "  " + name + (results > 1 ? ":" + llvm::utostr(results) : "") +
            " = " + text + "\n";
    return name;
  }

  /// Adds a node. `inputs` and `results` are types, each list without
  /// parentheses.
  std::string addNode(llvm::StringRef target, llvm::StringRef operands,
                      llvm::StringRef args, llvm::StringRef inputs,
                      llvm::StringRef results, unsigned count = 1) {
    std::string type = count > 1 ? ("(" + results + ")").str() : results.str();
    return add(llvm::formatv("tg.node \"aten.{0}\"({1}){2} {{tg.phase = "
                             "#tg.phase<forward>} : ({3}) -> {4}",
                             target, operands, args, inputs, type),
               count);
  }

  void addResult(const std::string &name, const std::string &type) {
    results.push_back(name);
    types.push_back(type);
  }

  std::string finish(llvm::StringRef mesh) const {
    return llvm::formatv("{0}func.func @step({1}) -> ({2}) {{\n{3}  return {4} "
                         ": {2}\n}\n",
                         mesh, llvm::join(arguments, ", "),
                         llvm::join(types, ", "), body,
                         llvm::join(results, ", "));
  }

private:
  llvm::SmallVector<std::string> arguments, results, types;
  std::string body;
  unsigned count = 0;
};
} // namespace

static std::string makeType(llvm::ArrayRef<int64_t> sizes,
                            llvm::StringRef element) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += llvm::itostr(size) + "x";
  return text + element.str() + ">";
}

/// C = A B of m x k and k x n, with either transposed in memory as it is in the
/// forward and backward of a linear layer.
static void addGemm(StepText &step, int64_t m, int64_t k, int64_t n,
                    llvm::StringRef element) {
  for (auto [isATransposed, isBTransposed] :
       {std::pair(false, false), std::pair(false, true),
        std::pair(true, false)}) {
    std::string aType = makeType({m, k}, element),
                bType = makeType({k, n}, element);
    auto addMatrix = [&](int64_t rows, int64_t columns, bool isTransposed) {
      std::string type = makeType({rows, columns}, element);
      if (!isTransposed)
        return step.addArgument(type);
      std::string stored = makeType({columns, rows}, element);
      return step.addNode("t.default", step.addArgument(stored), "", stored,
                          type);
    };
    std::string a = addMatrix(m, k, isATransposed);
    std::string b = addMatrix(k, n, isBTransposed);
    std::string type = makeType({m, n}, element);
    step.addResult(step.addNode("mm.default", a + ", " + b, "",
                                aType + ", " + bType, type),
                   type);
  }
}

/// Causal attention, forward and backward, of heads of 64.
static void addAttention(StepText &step, int64_t heads, int64_t sequence,
                         llvm::StringRef element) {
  constexpr llvm::StringLiteral kTarget =
      "_scaled_dot_product_flash_attention_for_cpu";
  std::string type = makeType({1, heads, sequence, 64}, element);
  std::string sums = makeType({1, heads, sequence}, "f32");
  auto join = [&](int count) {
    return llvm::join(llvm::SmallVector<std::string>(count, type), ", ");
  };
  std::string q = step.addArgument(type), k = step.addArgument(type),
              v = step.addArgument(type), gradient = step.addArgument(type);
  std::string forward = step.addNode(
      kTarget.str() + ".default", llvm::formatv("{0}, {1}, {2}", q, k, v).str(),
      " args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, 0.0, true]",
      join(3), type + ", " + sums, 2);
  std::string backward = step.addNode(
      kTarget.str() + "_backward.default",
      llvm::formatv("{0}, {1}, {2}, {3}, {4}#0, {4}#1", gradient, q, k, v,
                    forward)
          .str(),
      " args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, #tg.operand<3>, "
      "#tg.operand<4>, #tg.operand<5>, 0.0, true]",
      join(5) + ", " + sums, join(3), 3);
  for (int i = 0; i < 3; ++i)
    step.addResult(backward + "#" + llvm::itostr(i), type);
}

std::string regather::makeComputationProbe() {
  StepText step;
  for (llvm::StringRef element : {"f32", "bf16"}) {
    for (int64_t size : {64, 128, 256, 1024})
      addGemm(step, size, size, size, element);
    addGemm(step, 1024, 256, 512, element);
    addAttention(step, 4, 64, element);
    addAttention(step, 8, 256, element);
    addAttention(step, 8, 512, element);
  }
  for (int64_t size : {1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 23}) {
    std::string type = makeType({size}, "f32");
    std::string x = step.addArgument(type), y = step.addArgument(type);
    step.addResult(
        step.addNode("add.Tensor", x + ", " + y, "", type + ", " + type, type),
        type);
  }
  // A cache holds it, and each element takes many operations, of which one in
  // eight is no plain arithmetic, as in the activations of a model.
  std::string type = makeType({1 << 14}, "f32");
  std::string first = step.addArgument(type), value = first;
  for (int i = 0; i < 16; ++i)
    value = i % 8 == 7 ? step.addNode("sigmoid.default", value, "", type, type)
                       : step.addNode(i % 2 ? "mul.Tensor" : "add.Tensor",
                                      value + ", " + first, "",
                                      type + ", " + type, type);
  step.addResult(value, type);
  return step.finish("");
}

std::string regather::makeCollectiveProbe(int64_t ranks,
                                          llvm::ArrayRef<int64_t> shardSizes) {
  StepText step;
  for (int64_t size : shardSizes) {
    std::string shard = makeType({size}, "f32"),
                whole = makeType({size * ranks}, "f32");
    std::string x = step.addArgument(shard), y = step.addArgument(whole);
    auto add = [&](llvm::StringRef collective, const std::string &operand,
                   llvm::StringRef dim, const std::string &from,
                   const std::string &to) {
      std::string future =
          step.add(llvm::formatv("tg.{0} {1} on @mesh [dp] {2}phase forward : "
                                 "({3}) -> !tg.future<{4}>",
                                 collective, operand, dim, from, to));
      step.addResult(
          step.add(llvm::formatv("tg.wait {0} : !tg.future<{1}>", future, to)),
          to);
    };
    add("all_gather", x, "dim 0 ", shard, whole);
    add("reduce_scatter sum", y, "dim 0 ", whole, shard);
    add("all_reduce sum", y, "", whole, whole);
  }
  return step.finish(llvm::formatv("tg.mesh @mesh [dp = {0}]\n", ranks).str());
}
