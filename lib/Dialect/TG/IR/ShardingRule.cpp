//===- ShardingRule.cpp - How an operation splits over ranks --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace regather::tg;

RankedTensorType regather::tg::getRuledTensor(Type type) {
  if (auto future = dyn_cast<FutureType>(type);
      future && future.getTensors().size() == 1)
    type = future.getTensors().front();
  return dyn_cast<RankedTensorType>(type);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

unsigned ShardingRule::addFactor(int64_t size, FactorKind kind) {
  factors.push_back({size, kind});
  return factors.size() - 1;
}

void ShardingRule::addLinear(ArrayRef<unsigned> set) {
  llvm::SmallBitVector bits(operands.size());
  for (unsigned operand : set)
    bits.set(operand);
  linear.push_back(std::move(bits));
}

bool ShardingRule::isWhole() const {
  return linear.empty() && llvm::all_of(factors, [](const ShardingFactor &f) {
           return f.kind == FactorKind::Whole;
         });
}

/// One factor of kind Whole for each dimension larger than one.
static TensorFactors getWholeFactors(ShardingRule &rule, Type type) {
  TensorFactors dims;
  RankedTensorType tensor = getRuledTensor(type);
  if (!tensor)
    return dims;
  for (int64_t size : tensor.getShape()) {
    dims.emplace_back();
    if (size != 1)
      dims.back().push_back(rule.addFactor(size, FactorKind::Whole));
  }
  return dims;
}

ShardingRule ShardingRule::getWhole(Operation *op) {
  ShardingRule rule;
  for (Type type : op->getOperandTypes())
    rule.operands.push_back(getWholeFactors(rule, type));
  for (Type type : op->getResultTypes())
    rule.results.push_back(getWholeFactors(rule, type));
  return rule;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The factors multiply to the size, and only those that stay whole may occur
/// twice.
static LogicalResult verifyTensor(const ShardingRule &rule,
                                  const TensorFactors &dims, Type type) {
  RankedTensorType tensor = getRuledTensor(type);
  if (!tensor)
    return success(dims.empty());
  if (static_cast<int64_t>(dims.size()) != tensor.getRank())
    return failure();
  llvm::SmallBitVector seen(rule.factors.size());
  for (auto [dim, expected] : llvm::zip(dims, tensor.getShape())) {
    int64_t size = 1;
    for (unsigned number : dim) {
      if (number >= rule.factors.size())
        return failure();
      const ShardingFactor &factor = rule.factors[number];
      if (seen.test(number) && factor.kind != FactorKind::Whole)
        return failure();
      seen.set(number);
      size *= factor.size;
    }
    if (size != expected)
      return failure();
  }
  return success();
}

static LogicalResult verifyTensors(const ShardingRule &rule,
                                   ArrayRef<TensorFactors> tensors,
                                   TypeRange types) {
  if (tensors.size() != types.size())
    return failure();
  for (auto [dims, type] : llvm::zip(tensors, types))
    if (failed(verifyTensor(rule, dims, type)))
      return failure();
  return success();
}

static llvm::SmallBitVector getFactorSet(const ShardingRule &rule,
                                         const TensorFactors &dims) {
  llvm::SmallBitVector set(rule.factors.size());
  for (const DimFactors &dim : dims)
    for (unsigned factor : dim)
      set.set(factor);
  return set;
}

LogicalResult ShardingRule::verify(Operation *op) const {
  if (failed(verifyTensors(*this, operands, op->getOperandTypes())) ||
      failed(verifyTensors(*this, results, op->getResultTypes())))
    return failure();
  for (const llvm::SmallBitVector &set : linear)
    if (set.size() != operands.size() || set.none())
      return failure();
  for (auto [number, result] : llvm::enumerate(results)) {
    if (llvm::is_contained(unusable, number) ||
        !getRuledTensor(op->getResult(number).getType()))
      continue;
    llvm::SmallBitVector own = getFactorSet(*this, result);
    for (auto [i, factor] : llvm::enumerate(factors))
      if (factor.kind == FactorKind::Parallel && !own.test(i))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// a, b, ..., z, a1, b1, ...
static void printName(raw_ostream &os, unsigned position) {
  os << static_cast<char>('a' + position % 26);
  if (position >= 26)
    os << position / 26;
}

static StringRef getKindName(FactorKind kind) {
  switch (kind) {
  case FactorKind::Parallel:
    return "parallel";
  case FactorKind::Sum:
    return "sum";
  case FactorKind::Mean:
    return "mean";
  case FactorKind::Max:
    return "max";
  case FactorKind::Min:
    return "min";
  case FactorKind::Whole:
    return "whole";
  }
  llvm_unreachable("unknown kind of factor");
}

namespace {
/// Names factors in the order in which they are printed.
class RulePrinter {
public:
  RulePrinter(const ShardingRule &rule, raw_ostream &os)
      : rule(rule), os(os), positions(rule.factors.size()) {}
  void print();

private:
  void printFactor(unsigned factor);
  void printTensors(ArrayRef<TensorFactors> tensors);
  void printKind(FactorKind kind);
  template <typename Range> void printList(StringRef name, Range &&numbers);

  const ShardingRule &rule;
  raw_ostream &os;
  /// Factors in order, and the position in it of each that is there.
  SmallVector<unsigned> order;
  SmallVector<std::optional<unsigned>> positions;
};
} // namespace

void RulePrinter::printFactor(unsigned factor) {
  if (!positions[factor]) {
    positions[factor] = order.size();
    order.push_back(factor);
  }
  printName(os, *positions[factor]);
}

void RulePrinter::printTensors(ArrayRef<TensorFactors> tensors) {
  llvm::interleaveComma(tensors, os, [&](const TensorFactors &dims) {
    os << '[';
    llvm::interleave(
        dims, os,
        [&](const DimFactors &dim) {
          if (dim.empty()) {
            os << '1';
            return;
          }
          os << (dim.size() > 1 ? "(" : "");
          llvm::interleave(
              dim, os, [&](unsigned factor) { printFactor(factor); }, " ");
          os << (dim.size() > 1 ? ")" : "");
        },
        " ");
    os << ']';
  });
}

void RulePrinter::printKind(FactorKind kind) {
  SmallVector<unsigned> ofKind =
      llvm::filter_to_vector(order, [&](unsigned factor) {
        return rule.factors[factor].kind == kind;
      });
  if (ofKind.empty())
    return;
  os << ' ' << getKindName(kind) << '(';
  llvm::interleave(
      ofKind, os, [&](unsigned factor) { printFactor(factor); }, " ");
  os << ')';
}

template <typename Range>
void RulePrinter::printList(StringRef name, Range &&numbers) {
  os << ' ' << name << '(';
  llvm::interleave(numbers, os, [&](unsigned number) { os << number; }, " ");
  os << ')';
}

void RulePrinter::print() {
  printTensors(rule.operands);
  os << (rule.operands.empty() ? "-> " : " -> ");
  printTensors(rule.results);
  for (FactorKind kind : {FactorKind::Sum, FactorKind::Mean, FactorKind::Max,
                          FactorKind::Min, FactorKind::Whole})
    printKind(kind);
  for (const llvm::SmallBitVector &set : rule.linear)
    printList("linear", set.set_bits());
  if (!rule.unusable.empty())
    printList("unusable", rule.unusable);
  if (!rule.unread.empty())
    printList("unread", rule.unread);
}

void ShardingRule::print(raw_ostream &os) const {
  RulePrinter(*this, os).print();
}
