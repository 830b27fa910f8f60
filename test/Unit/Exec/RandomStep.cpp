//===- RandomStep.cpp - Steps for tests of programs -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomStep.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <random>

using namespace llvm;

namespace {
const char *const kShort = "tensor<16xf32>";
const char *const kLong = "tensor<32xf32>";

const char *const kKernels = R"(
tg.mesh @mesh [dp = 2, tp = 2]
tg.kernel @add_short(%x: tensor<16xf32>, %y: tensor<16xf32>) -> tensor<16xf32> {
  %z = arith.addf %x, %y : tensor<16xf32>
  tg.return %z : tensor<16xf32>
}
tg.kernel @add_long(%x: tensor<32xf32>, %y: tensor<32xf32>) -> tensor<32xf32> {
  %z = arith.addf %x, %y : tensor<32xf32>
  tg.return %z : tensor<32xf32>
}
tg.kernel @two(%x: tensor<16xf32>, %y: tensor<32xf32>) -> (tensor<32xf32>, tensor<16xf32>) {
  %a = tg.node "my.first"(%x, %y) : (tensor<16xf32>, tensor<32xf32>) -> tensor<32xf32>
  %b = tg.node "my.second"(%x, %y) : (tensor<16xf32>, tensor<32xf32>) -> tensor<16xf32>
  tg.return %a, %b : tensor<32xf32>, tensor<16xf32>
}
)";

/// Writes one step, operation by operation.
class StepWriter {
public:
  explicit StepWriter(uint64_t seed) : random(seed) {}

  std::string write();

private:
  /// Values that may be read, by type, and collectives not waited for.
  struct Scope {
    std::map<std::string, SmallVector<std::string>> values;
    SmallVector<std::pair<std::string, std::string>> futures;
  };

  unsigned pick(unsigned count) { return random() % count; }
  std::string pickValue(const char *type) {
    auto &values = scope.values[type];
    // Mostly recent ones, so that others die.
    unsigned window = std::min<size_t>(values.size(), 4 + 8 * (pick(4) == 0));
    return values[values.size() - 1 - pick(window)];
  }
  const char *pickType() { return pick(2) ? kShort : kLong; }
  std::string define(const char *type) {
    std::string name = formatv("%v{0}", numValues++);
    pending.push_back({type, name});
    return name;
  }
  void emit(const std::string &line) {
    text += "  " + line + "\n";
    for (auto &[type, name] : pending)
      scope.values[type].push_back(name);
    pending.clear();
  }

  void writeOps(unsigned count, unsigned depth);
  void writeLaunch();
  void writeCollective();
  void writeWait(size_t future);
  void writeFlat();
  void writeIf(unsigned depth);
  void writeFor(unsigned depth);

  std::mt19937_64 random;
  std::string text;
  Scope scope;
  SmallVector<std::pair<std::string, std::string>> pending;
  unsigned numValues = 0;
};
} // namespace

void StepWriter::writeLaunch() {
  std::string x = pickValue(kShort), y = pickValue(kShort);
  std::string u = pickValue(kLong), v = pickValue(kLong);
  switch (pick(4)) {
  case 0:
    return emit(
        formatv("{0} = tg.launch @add_short({1}, {2}) : ({3}, {3}) -> {3}",
                define(kShort), x, y, kShort));
  case 1:
    return emit(
        formatv("{0} = tg.launch @add_long({1}, {2}) : ({3}, {3}) -> {3}",
                define(kLong), u, v, kLong));
  case 2: {
    // Not in a kernel yet.
    return emit(
        formatv("{0} = arith.negf {1} : {2}", define(kShort), x, kShort));
  }
  default: {
    std::string name = formatv("%v{0}", numValues++);
    pending = {{kLong, name + "#0"}, {kShort, name + "#1"}};
    return emit(
        formatv("{0}:2 = tg.launch @two({1}, {2}) : ({3}, {4}) -> ({4}, {3})",
                name, x, u, kShort, kLong));
  }
  }
}

void StepWriter::writeCollective() {
  std::string future = formatv("%f{0}", numValues++);
  const char *axis = pick(2) ? "dp" : "tp";
  const char *from = kShort, *to = kShort;
  std::string kind = "all_reduce sum ", rest;
  switch (pick(4)) {
  case 0:
    kind = "all_gather ", rest = "dim 0 ", to = kLong;
    break;
  case 1:
    kind = "reduce_scatter sum ", rest = "dim 0 ", from = kLong;
    break;
  case 2:
    from = to = kLong;
    break;
  default:
    break;
  }
  emit(formatv("{0} = tg.{1}{2} on @mesh [{3}] {4}phase forward : ({5}) -> "
               "!tg.future<{6}>",
               future, kind, pickValue(from), axis, rest, from, to));
  scope.futures.push_back({future, to});
}

void StepWriter::writeWait(size_t number) {
  auto [future, type] = scope.futures[number];
  scope.futures.erase(scope.futures.begin() + number);
  emit(formatv("{0} = tg.wait {1} : !tg.future<{2}>",
               define(type == kShort ? kShort : kLong), future, type));
}

void StepWriter::writeFlat() {
  if (pick(2)) {
    std::string name = formatv("%v{0}", numValues++);
    std::string flat = pickValue(kLong);
    pending = {{kShort, name + "#0"}, {kShort, name + "#1"}};
    return emit(formatv(
        "{0}:2 = tg.unflatten {1} offsets [0, 16] : ({2}) -> ({3}, {3})", name,
        flat, kLong, kShort));
  }
  std::string a = pickValue(kShort), b = pickValue(kShort);
  if (pick(2))
    return emit(formatv("{0} = tg.flatten {1} offsets [{2}] : ({3}) -> {4}",
                        define(kLong), a, pick(17), kShort, kLong));
  emit(formatv("{0} = tg.flatten {1}, {2} offsets [0, 16] : ({3}, {3}) -> {4}",
               define(kLong), a, b, kShort, kLong));
}

void StepWriter::writeIf(unsigned depth) {
  std::string name = formatv("%v{0}", numValues++);
  emit(formatv("{0}:2 = scf.if %flag{1} -> ({2}, {3}) {{", name, pick(2),
               kShort, kLong));
  for (unsigned branch = 0; branch != 2; ++branch) {
    Scope outer = scope;
    scope.futures.clear();
    writeCollective();
    writeOps(pick(6), depth + 1);
    emit(formatv("scf.yield {0}, {1} : {2}, {3}", pickValue(kShort),
                 pickValue(kLong), kShort, kLong));
    scope = outer;
    text += branch == 0 ? "  } else {\n" : "";
  }
  pending = {{kShort, name + "#0"}, {kLong, name + "#1"}};
  emit("}");
}

void StepWriter::writeFor(unsigned depth) {
  unsigned number = numValues++;
  std::string name = formatv("%v{0}", number);
  std::string first = pickValue(kShort), second = pickValue(kShort);
  emit(formatv("{0}:2 = scf.for %i{1} = %c0 to %n step %c1 iter_args(%a{1} = "
               "{2}, %b{1} = {3}) -> ({4}, {4}) {{",
               name, number, first, second, kShort));
  Scope outer = scope;
  scope.futures.clear();
  scope.values[kShort].push_back(formatv("%a{0}", number));
  scope.values[kShort].push_back(formatv("%b{0}", number));
  writeCollective();
  writeOps(pick(6), depth + 1);
  // Now and then the two change places.
  std::string x = pickValue(kShort), y = pickValue(kShort);
  if (pick(3) == 0)
    x = formatv("%b{0}", number), y = formatv("%a{0}", number);
  emit(formatv("scf.yield {0}, {1} : {2}, {2}", x, y, kShort));
  scope = outer;
  pending = {{kShort, name + "#0"}, {kShort, name + "#1"}};
  emit("}");
}

void StepWriter::writeOps(unsigned count, unsigned depth) {
  for (unsigned i = 0; i != count; ++i) {
    unsigned choice = pick(20);
    if (choice < 9)
      writeLaunch();
    else if (choice < 13)
      writeCollective();
    else if (choice < 16 && !scope.futures.empty())
      writeWait(pick(scope.futures.size()));
    else if (choice < 18)
      writeFlat();
    else if (depth < 2)
      choice == 18 ? writeIf(depth) : writeFor(depth);
  }
}

std::string StepWriter::write() {
  text = kKernels;
  text += formatv(
      "func.func @step(%flag0: i1, %flag1: i1, %n: index,\n"
      "    %p: {0} {{tg.donated, tg.role = #tg.role<parameter>},\n"
      "    %q: {1} {{tg.donated, tg.role = #tg.role<parameter>}, %x: {0})\n"
      "    -> ({0} {{tg.role = #tg.role<update of 3>},\n"
      "        {1} {{tg.role = #tg.role<update of 4>}, {0}, {1}) {{\n",
      kShort, kLong);
  scope.values[kShort] = {"%x", "%p"};
  scope.values[kLong] = {"%q"};
  emit("%c0 = arith.constant 0 : index");
  emit("%c1 = arith.constant 1 : index");
  emit(formatv("%z = arith.constant dense<1.0> : {0}", kLong));
  scope.values[kLong].push_back("%z");
  writeOps(30, 0);
  emit(formatv("return {0}, {1}, {2}, {3} : {4}, {5}, {4}, {5}",
               pickValue(kShort), pickValue(kLong), pickValue(kShort),
               pickValue(kLong), kShort, kLong));
  return text + "}\n";
}

std::string regather::test::makeRandomStep(uint64_t seed) {
  return StepWriter(seed).write();
}
