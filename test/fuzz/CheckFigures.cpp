//===- CheckFigures.cpp - Figures, computed a second time -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckFigures.h"

#include "CheckMarks.h"
#include "CheckSchedule.h"

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Driver/StepStatistics.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;

//===----------------------------------------------------------------------===//
// Bytes that collectives receive
//===----------------------------------------------------------------------===//

static int64_t countBytes(Type type) {
  auto tensor = cast<ShapedType>(type);
  Type element = tensor.getElementType();
  int64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return tensor.getNumElements() * (bits < 8 ? 1 : bits / 8);
}

static int64_t countBytes(TypeRange types) {
  int64_t bytes = 0;
  for (Type type : types)
    bytes += countBytes(type);
  return bytes;
}

static int64_t countRanks(Operation *op) {
  auto collective = cast<tg::CollectiveOpInterface>(op);
  auto mesh = cast<tg::MeshOp>(
      SymbolTable::lookupNearestSymbolFrom(op, collective.getMeshAttr()));
  int64_t ranks = 1;
  for (StringAttr name : collective.getAxesAttr().getNames())
    for (auto [axis, size] :
         llvm::zip_equal(mesh.getAxes().getNames(), mesh.getSizes()))
      if (axis == name)
        ranks *= size;
  return ranks;
}

/// Bytes that a rank receives in an algorithm that moves no byte twice.
static int64_t countReceived(Operation *op) {
  int64_t ranks = countRanks(op);
  int64_t in = countBytes(op->getOperandTypes());
  auto future = cast<tg::FutureType>(op->getResult(0).getType());
  int64_t out = countBytes(TypeRange(future.getTensors()));
  auto shard = [&](int64_t bytes) { return (bytes + ranks - 1) / ranks; };
  if (isa<tg::AllGatherOp>(op))
    return (ranks - 1) * in;
  if (isa<tg::ReduceScatterOp>(op))
    return (ranks - 1) * out;
  if (isa<tg::AllReduceOp>(op))
    return 2 * (ranks - 1) * shard(in);
  if (isa<tg::AllToAllOp>(op))
    return (ranks - 1) * shard(out);
  return ranks == 1 ? 0 : in;
}

static std::map<std::string, int64_t> sumReceived(ModuleOp module) {
  std::map<std::string, int64_t> sums;
  module.walk([&](Operation *op) {
    // What a permutation moves depends on the pair.
    if (isa<tg::CollectiveOpInterface>(op) && !isa<tg::PermuteOp>(op))
      sums[op->getName().stripDialect().str()] += countReceived(op);
  });
  return sums;
}

static std::string checkReceived(ModuleOp module) {
  std::map<std::string, int64_t> printed;
  for (const CollectiveSummary &summary : summarizeCollectives(module))
    if (summary.kind != "permute")
      printed[summary.kind] += summary.bytes;
  for (const auto &[kind, bytes] : sumReceived(module))
    if (printed[kind] != bytes)
      return llvm::formatv("{0} are said to receive {1} bytes, but receive {2}",
                           kind, printed[kind], bytes);
  return "";
}

/// Buckets carry what their members did.
static std::string checkBuckets(ModuleOp before, ModuleOp after) {
  std::map<std::string, int64_t> sums = sumReceived(after);
  for (const auto &[kind, bytes] : sumReceived(before))
    if ((kind == "all_gather" || kind == "reduce_scatter") &&
        sums[kind] != bytes)
      return llvm::formatv("{0} received {1} bytes, their buckets {2}", kind,
                           bytes, sums[kind]);
  return "";
}

//===----------------------------------------------------------------------===//
// Schedules and partitions
//===----------------------------------------------------------------------===//

/// A schedule moves operations, and does nothing else to them.
static std::string checkMoved(ModuleOp before, ModuleOp after) {
  auto count = [](ModuleOp module) {
    std::map<std::string, int64_t> counts;
    module.walk([&](Operation *op) {
      std::string text = op->getName().getStringRef().str();
      llvm::raw_string_ostream os(text);
      op->getAttrDictionary().print(os);
      for (Type type : op->getResultTypes())
        os << type;
      ++counts[text];
    });
    return counts;
  };
  return count(before) == count(after) ? ""
                                       : "operations were changed, not moved";
}

/// What the forward part saves; nothing if there is none.
static std::optional<int64_t> sumSaved(ModuleOp module) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  if (!forward)
    return std::nullopt;
  int64_t bytes = 0;
  for (unsigned i = 0; i != forward.getNumResults(); ++i) {
    auto role = forward.getResultAttrOfType<tg::RoleAttr>(i, tg::kRoleAttrName);
    if (role && role.getKind() == tg::RoleKind::Saved)
      bytes += countBytes(forward.getResultTypes()[i]);
  }
  return bytes;
}

static bool hasAttribute(ModuleOp module, StringRef name) {
  return module
      ->walk([&](Operation *op) {
        return op->hasAttr(name) ? WalkResult::interrupt()
                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

/// A minimum cut saves no more than all that backward reads.
static std::string checkCut(ModuleOp before, ModuleOp after) {
  if (hasAttribute(before, tg::kPolicyAttrName))
    return "";
  OwningOpRef<ModuleOp> plain = before.clone();
  PassManager pm(before.getContext());
  pm.addPass(tg::createPartitionPass());
  if (failed(pm.run(*plain)))
    return "";
  std::optional<int64_t> all = sumSaved(*plain), cut = sumSaved(after);
  return all && cut && *cut > *all
             ? llvm::formatv("the cut saves {0} bytes, but {1} are all that "
                             "backward reads",
                             *cut, *all)
                   .str()
             : "";
}

std::string regather::fuzz::checkFigures(ModuleOp before, ModuleOp after,
                                         const PassCall &call) {
  if (std::string wrong = checkReceived(after); !wrong.empty())
    return wrong;
  if (std::string wrong = checkMarks(before, after, call); !wrong.empty())
    return wrong;
  if (call.pass == "tg-bucket-collectives")
    return checkBuckets(before, after);
  if (call.pass == "tg-schedule") {
    std::string wrong = checkMoved(before, after);
    return wrong.empty() ? checkSchedule(before, after, call.options) : wrong;
  }
  StringRef options = call.options;
  if (call.pass == "tg-partition" && options.contains("mode=min-cut") &&
      !options.contains("match-pytorch") && !options.contains("split"))
    return checkCut(before, after);
  return "";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// A slice of the arena, and the first and the last operation that uses it.
struct UsedSlice {
  exec::SliceOp op;
  int64_t begin = 0, end = 0;
  int64_t first = 0, last = 0;
};
} // namespace

/// Adds all places at which a buffer, or a view of it, is used.
static void addUses(Value buffer, Block &block,
                    const llvm::DenseMap<Operation *, int64_t> &places,
                    UsedSlice &slice) {
  for (Operation *user : buffer.getUsers()) {
    if (isa<exec::ViewOp>(user)) {
      addUses(user->getResult(0), block, places, slice);
      continue;
    }
    int64_t place = places.lookup(block.findAncestorOpInBlock(*user));
    slice.first = std::min(slice.first, place);
    slice.last = std::max(slice.last, place);
  }
}

static std::vector<UsedSlice> findSlices(exec::ProgramOp program) {
  Block &block = program.getBody().front();
  llvm::DenseMap<Operation *, int64_t> places;
  for (Operation &op : block)
    places[&op] = static_cast<int64_t>(places.size());
  std::vector<UsedSlice> slices;
  for (auto op : block.getOps<exec::SliceOp>()) {
    UsedSlice slice;
    slice.op = op;
    slice.begin = op.getOffset().value_or(0);
    slice.end = slice.begin + countBytes(op.getBuffer().getType());
    slice.first = std::numeric_limits<int64_t>::max();
    slice.last = -1;
    addUses(op.getBuffer(), block, places, slice);
    if (slice.last >= 0)
      slices.push_back(slice);
  }
  return slices;
}

/// The most bytes of slices that were used before some operation and are used
/// behind it. What streams and in-place operations do makes it no larger.
static int64_t findPeak(const std::vector<UsedSlice> &slices) {
  int64_t peak = 0;
  for (const UsedSlice &at : slices) {
    int64_t bytes = 0;
    for (const UsedSlice &slice : slices)
      if (slice.first <= at.first && at.first < slice.last)
        bytes += slice.first < at.first ? slice.end - slice.begin : 0;
    peak = std::max(peak, bytes);
  }
  return peak;
}

static std::string checkProgramMemory(exec::ProgramOp program) {
  if (!program.getArena())
    return "the program has no arena";
  int64_t arena = *program.getArena();
  int64_t bound = program.getLowerBound().value_or(0);
  std::vector<UsedSlice> slices = findSlices(program);
  for (const UsedSlice &slice : slices) {
    if (slice.end > arena)
      return "a slice ends behind the arena";
    if (slice.begin % static_cast<int64_t>(program.getAlignment()) != 0)
      return llvm::formatv("the slice at {0} is not aligned to {1} bytes",
                           slice.begin, program.getAlignment());
    for (const UsedSlice &other : slices)
      if (slice.op != other.op && slice.begin < other.end &&
          other.begin < slice.end && slice.first < other.first &&
          other.first < slice.last && other.first < other.last)
        return llvm::formatv("slices at {0} and {1} are in use together",
                             slice.begin, other.begin);
  }
  int64_t peak = findPeak(slices);
  if (peak > bound || bound > arena)
    return llvm::formatv("{0} bytes are in use at one time, the lower bound is "
                         "{1}, the arena {2}",
                         peak, bound, arena);
  return "";
}

std::string regather::fuzz::checkProgramFigures(ModuleOp module) {
  for (auto program : module.getOps<exec::ProgramOp>())
    if (std::string wrong = checkProgramMemory(program); !wrong.empty())
      return wrong;
  return "";
}
