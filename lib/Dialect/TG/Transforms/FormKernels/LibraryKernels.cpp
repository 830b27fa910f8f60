//===- LibraryKernels.cpp - Kernels that a library has --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryKernels.h"

#include "KernelCandidates.h"
#include "SegmentTrees.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/IR/MicroBatch.h"
#include "regather/Dialect/TG/IR/RowChunk.h"
#include "regather/Dialect/TG/Library/LibraryCalls.h"
#include "regather/Dialect/TG/Steps/Policies.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define DEBUG_TYPE "tg-form-kernels"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::kernels;

namespace {
/// A call of a library with what it takes over.
class LibraryCall {
public:
  LibraryCall(Operation *root, LibraryRoutine routine, bool takesSmall)
      : root(root), routine(routine), takesSmall(takesSmall) {}

  /// False if no routine computes the root alone.
  bool start();
  /// The same for a tree of additions over GEMMs, of which the root is one.
  bool startTree(ArrayRef<Operation *> tree);
  void foldOperands();
  void foldUsers();
  LaunchOp launch(KernelTable &table);

  ArrayRef<Operation *> getMembers() const { return members; }

private:
  /// The members with one more, and what they read and give.
  struct Candidate {
    SmallVector<Operation *> members;
    SmallVector<Value> inputs;
    SmallVector<Value> outputs;
    /// Null before it is matched, and if a library does not compute it.
    LibraryCallAttrInterface call;
  };
  /// Takes the candidate if a routine computes it.
  bool take(Candidate candidate, StringRef &reason);
  void emitNoLibrary(Operation *op, StringRef what, StringRef reason) const;
  StringRef match(Candidate &candidate);
  void foldUsersOf(unsigned output);
  void emitApart(Operation *op, StringRef reason) const;
  void setInsertionPoint(OpBuilder &builder) const;

  Operation *root;
  LibraryRoutine routine;
  bool takesSmall;
  /// The GEMM alone.
  GemmAttr gemm;
  LibraryCallAttrInterface call;
  SmallVector<Operation *> members;
  SmallVector<Value> inputs, outputs;
  /// Values whose definitions stay outside.
  llvm::DenseSet<Value> left;
};
} // namespace

/// True for tensors that results are written to, and for zeros that sums start
/// from: each kernel makes its own.
static bool isRepeatedValue(Value value) {
  return isZeroFill(value) || value.getDefiningOp<tensor::EmptyOp>();
}

static SmallVector<Value> getInputs(ArrayRef<Operation *> members) {
  llvm::SetVector<Value> inputs;
  for (Operation *op : members)
    for (Value operand : op->getOperands())
      if (!isRepeatedValue(operand) &&
          !llvm::is_contained(members, operand.getDefiningOp()))
        inputs.insert(operand);
  return inputs.takeVector();
}

/// True if both sum over the same matrices. For bf16, a library may split a sum
/// in a way that depends on their sizes.
static bool haveEqualSums(GemmAttr a, GemmAttr b, Type element) {
  return !element.isBF16() ||
         (a.getM() == b.getM() && a.getN() == b.getN() &&
          a.getK() == b.getK() && a.getSegments() == b.getSegments() &&
          a.getBatch() == b.getBatch());
}

/// Why no routine computes the candidate; empty if one does.
StringRef LibraryCall::match(Candidate &candidate) {
  if (routine == LibraryRoutine::Convolution) {
    auto match = matchConvolution(candidate.members, candidate.inputs,
                                  candidate.outputs, takesSmall);
    candidate.call = match.call;
    return match.reason;
  }
  if (routine == LibraryRoutine::GroupedGemm) {
    auto match = matchGroupedGemm(candidate.members, candidate.inputs,
                                  candidate.outputs, takesSmall);
    candidate.call = match.call;
    return match.reason;
  }
  if (routine != LibraryRoutine::Gemm) {
    auto match =
        matchAttention(candidate.members, candidate.inputs, candidate.outputs);
    candidate.call = match.call;
    return match.reason;
  }
  auto match = matchGemm(candidate.members, candidate.inputs,
                         candidate.outputs.front(), takesSmall);
  if (!match)
    return match.reason;
  if (!gemm)
    gemm = match.call;
  Type element = getElementTypeOrSelf(
      candidate.inputs[match.call.getA().getBuffer()].getType());
  if (!haveEqualSums(gemm, match.call, element))
    return "its sums would be split in another way";
  candidate.call = match.call;
  return "";
}

bool LibraryCall::take(Candidate candidate, StringRef &reason) {
  reason = match(candidate);
  if (!reason.empty())
    return false;
  members = std::move(candidate.members);
  inputs = std::move(candidate.inputs);
  outputs = std::move(candidate.outputs);
  call = candidate.call;
  return true;
}

void LibraryCall::emitApart(Operation *op, StringRef reason) const {
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("not-folded").category(DEBUG_TYPE))
      << remark::reason("'{0}' is not folded into '{1}': {2}", getShortName(op),
                        getShortName(root), reason);
}

/// True for what a call gives even if nothing uses it: the logarithms of
/// attention are for its gradients alone, and a layer may need only some
/// gradients of a convolution or of a grouped GEMM.
static bool isNeeded(OpResult result, LibraryRoutine routine) {
  if (!result.use_empty())
    return true;
  if (routine == LibraryRoutine::Convolution ||
      routine == LibraryRoutine::GroupedGemm)
    return false;
  return routine != LibraryRoutine::Attention || result.getResultNumber() == 0;
}

bool LibraryCall::start() {
  StringRef reason;
  Candidate candidate = {{root}, getInputs({root}), {}, nullptr};
  for (OpResult result : root->getResults())
    if (isNeeded(result, routine))
      candidate.outputs.push_back(result);
  if (take(std::move(candidate), reason))
    return true;
  emitNoLibrary(root, "", reason);
  return false;
}

bool LibraryCall::startTree(ArrayRef<Operation *> tree) {
  StringRef reason;
  if (take({SmallVector<Operation *>(tree),
            getInputs(tree),
            {tree.back()->getResult(0)},
            nullptr},
           reason))
    return true;
  emitNoLibrary(tree.back(), "a tree of sums that ends in ", reason);
  return false;
}

void LibraryCall::emitNoLibrary(Operation *op, StringRef what,
                                StringRef reason) const {
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("no-library").category(DEBUG_TYPE))
      << remark::reason("no library computes {0}'{1}': {2}", what,
                        getShortName(op), reason);
}

/// Takes over views that members read.
void LibraryCall::foldOperands() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Value input : inputs) {
      Operation *def = input.getDefiningOp();
      if (!def || def->getBlock() != root->getBlock() || left.contains(input))
        continue;
      left.insert(input);
      StringRef reason = "it is no view";
      // A view that moves bytes and belongs to another phase stays: its result
      // is what that phase saves.
      if (getViewedOperand(cast<OpResult>(input)) &&
          (isView(def) || getPhase(def) == getPhase(root))) {
        Candidate candidate;
        candidate.members.push_back(def);
        llvm::append_range(candidate.members, members);
        candidate.inputs = getInputs(candidate.members);
        candidate.outputs = outputs;
        changed = take(std::move(candidate), reason);
      }
      if (changed)
        break;
      if (isa<NodeOp>(def) || getViewedOperand(cast<OpResult>(input)))
        emitApart(def, reason);
    }
  }
}

/// Why `user` cannot become part of what `root` is; empty if it can.
static StringRef findBorder(Operation *root, Operation *user) {
  if (getPhase(root) != getPhase(user))
    return "they belong to different phases";
  if (getMicroBatch(root) != getMicroBatch(user))
    return "they belong to different micro-batches";
  if (getRowChunk(root) != getRowChunk(user))
    return "they belong to different blocks of rows";
  if (isRecomputed(root) != isRecomputed(user))
    return "only one of them must be recomputed";
  return "";
}

/// Takes over what a result is read by, while nothing else reads it.
void LibraryCall::foldUsersOf(unsigned number) {
  auto mayFold = [&](Operation *user) {
    return user->getNumResults() == 1 && user->getBlock() == root->getBlock() &&
           isMemoryEffectFree(user) && !getLibraryRoutine(user);
  };
  while (true) {
    Value output = outputs[number];
    if (!output.hasOneUse()) {
      for (Operation *user : output.getUsers())
        if (mayFold(user) && !isView(user))
          emitApart(user, "others read the result, too");
      return;
    }
    Operation *user = *output.getUsers().begin();
    if (!mayFold(user))
      return;
    StringRef reason = findBorder(root, user);
    if (reason.empty()) {
      Candidate candidate = {members, {}, outputs, nullptr};
      candidate.members.push_back(user);
      candidate.inputs = getInputs(candidate.members);
      candidate.outputs[number] = user->getResult(0);
      if (take(std::move(candidate), reason)) {
        foldOperands();
        continue;
      }
    }
    emitApart(user, reason);
    return;
  }
}

void LibraryCall::foldUsers() {
  for (unsigned number = 0; number < outputs.size(); ++number)
    foldUsersOf(number);
}

/// Clones a repeated value with what it is made from.
static void cloneRepeated(Value value, OpBuilder &builder, IRMapping &map) {
  if (map.contains(value))
    return;
  Operation *def = value.getDefiningOp();
  for (Value operand : def->getOperands())
    if (!map.contains(operand))
      builder.clone(*operand.getDefiningOp(), map);
  builder.clone(*def, map);
}

/// Sets the place right behind everything that the members read. It may not be
/// later: one of several results may be read before the members that are views
/// of another.
void LibraryCall::setInsertionPoint(OpBuilder &builder) const {
  Operation *last = nullptr;
  for (Value input : inputs)
    if (Operation *def = input.getDefiningOp();
        def && def->getBlock() == root->getBlock() &&
        root->isBeforeInBlock(def) && (!last || last->isBeforeInBlock(def)))
      last = def;
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPoint(root);
}

LaunchOp LibraryCall::launch(KernelTable &table) {
  OpBuilder builder(root->getContext());
  SmallVector<Location> locations;
  for (Operation *op : members)
    locations.push_back(op->getLoc());
  Location loc = builder.getFusedLoc(locations);
  auto type = builder.getFunctionType(TypeRange(ValueRange(inputs)),
                                      TypeRange(ValueRange(outputs)));
  OwningOpRef<KernelOp> kernel = KernelOp::create(builder, loc, "kernel", type);
  kernel->setLibraryCallAttr(call);
  Block &body = kernel->getBody().emplaceBlock();
  IRMapping map;
  for (Value input : inputs)
    map.map(input, body.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : members) {
    for (Value operand : op->getOperands())
      if (isRepeatedValue(operand))
        cloneRepeated(operand, builder, map);
    builder.clone(*op, map);
  }
  ReturnOp::create(builder, loc, llvm::map_to_vector(outputs, [&](Value value) {
                     return map.lookup(value);
                   }));
  dropOrigins(*kernel);

  KernelOp shared = table.findOrInsert(std::move(kernel), members);
  setInsertionPoint(builder);
  auto launch =
      LaunchOp::create(builder, loc, TypeRange(ValueRange(outputs)),
                       FlatSymbolRefAttr::get(shared.getSymNameAttr()), inputs);
  SmallVector<StringRef> kept = {kPhaseAttrName, kModuleAttrName};
  // Marks of the root hold for the launch if its result is that of the root.
  if (members.back() == root) {
    kept.append({kIdAttrName, kPolicyAttrName});
    keepSavedResults(root, launch, outputs);
  }
  for (StringRef name : kept)
    if (Attribute value = root->getAttr(name))
      launch->setAttr(name, value);
  if (isRecomputed(root))
    launch->setAttr(kPolicyAttrName, root->getAttr(kPolicyAttrName));
  keepOffloadMarks(launch, outputs);
  for (auto [value, result] : llvm::zip_equal(outputs, launch.getOutputs()))
    value.replaceAllUsesWith(result);
  return launch;
}

/// True if the operation is a part of one that is not small: a block of rows
/// has the bits of all of them.
static bool isLargeWhole(Operation *op) {
  std::optional<RowChunk> chunk = getRowChunk(op);
  return chunk && getOpCost(op).flops * static_cast<double>(chunk->count) >=
                      2 * kSmallestGemm;
}

void LibraryKernels::form(Block &block) {
  SmallVector<std::pair<Operation *, LibraryRoutine>> roots;
  for (Operation &op : block.without_terminator())
    if (isMemoryEffectFree(&op) && !op.use_empty())
      if (auto routine = getLibraryRoutine(&op))
        roots.push_back({&op, *routine});
  // What is small on many ranks is not on one, and loops have other bits.
  bool isElastic = getElasticSegments(block.getParentOp()) != 0;
  llvm::SetVector<Operation *> replaced;
  auto launch = [&](LibraryCall &call) {
    call.foldOperands();
    call.foldUsers();
    call.launch(table);
    ++numLaunches;
    numOps += static_cast<int64_t>(call.getMembers().size());
    replaced.insert(call.getMembers().begin(), call.getMembers().end());
  };
  // Elsewhere the order of a sum is that of a library.
  if (isElastic)
    SegmentTrees(block, [](Operation *def, Operation *user) {
      return findBorder(def, user).empty();
    }).visit([&](ArrayRef<Operation *> tree) {
      Operation *root = *llvm::find_if(tree, [](Operation *op) {
        return getLibraryRoutine(op).has_value();
      });
      LibraryCall call(root, LibraryRoutine::Gemm, /*takesSmall=*/true);
      if (!call.startTree(tree))
        return false;
      launch(call);
      return true;
    });
  for (auto [root, routine] : roots) {
    if (replaced.contains(root))
      continue;
    LibraryCall call(root, routine, isElastic || isLargeWhole(root));
    if (call.start())
      launch(call);
  }
  // Members are erased from the last to the first, users before definitions.
  SmallVector<Operation *> dead;
  for (Operation &op : llvm::reverse(block))
    if (replaced.contains(&op) ||
        (op.getNumResults() == 1 && isRepeatedValue(op.getResult(0))))
      dead.push_back(&op);
  for (Operation *op : dead)
    if (isOpTriviallyDead(op))
      op->erase();
}
