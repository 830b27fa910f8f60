//===- FlatBuffers.cpp - Parameters behind each other ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlatBuffers.h"

#include "WideParameters.h"

#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "tg-shard-parameters"

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

//===----------------------------------------------------------------------===//
// Which parameters
//===----------------------------------------------------------------------===//

/// Why `parameter` needs an argument of its own; empty if it does not.
static StringRef getObstacle(const Step &step, const Parameter &parameter) {
  if (step.getArgumentPlacement(parameter.argument))
    return "it is sharded over other axes";
  if (parameter.update)
    return "the step updates it";
  for (Operation *user :
       step.block->getArgument(parameter.argument).getUsers()) {
    Operation *op = step.block->findAncestorOpInBlock(*user);
    if (op == step.getTerminator())
      return "the step returns it";
    if (getPhase(op) == Phase::Optimizer)
      return "the optimizer of the step reads it";
  }
  return {};
}

void regather::tg::spmd::markFlatParameters(Step &step, const DataMesh &mesh) {
  if (!mesh.shardAxes && !mesh.copyAxes)
    return;
  for (Parameter &parameter : step.parameters) {
    if (parameter.ignored)
      continue;
    StringRef obstacle = getObstacle(step, parameter);
    if (obstacle.empty()) {
      parameter.flat = parameter.sharded = true;
      continue;
    }
    remark::missed(
        step.func.getLoc(),
        remark::RemarkOpts::name("own-argument").category(DEBUG_TYPE))
        << remark::reason("parameter \"{0}\" does not join a flat buffer: {1}",
                          parameter.name, obstacle);
  }
  widenParameters(step, mesh);
  if (mesh.shardAxes)
    return;
  for (Parameter &parameter : step.parameters)
    if (parameter.over != Group::Wide)
      parameter.flat = parameter.sharded = false;
}

//===----------------------------------------------------------------------===//
// Optimizer groups
//===----------------------------------------------------------------------===//

/// All names of a parameter.
static SmallVector<StringRef, 1> getNames(const Step &step,
                                          const Parameter &parameter) {
  SmallVector<StringRef, 1> names = {parameter.name};
  func::FuncOp func = step.func;
  if (auto aliases = func.getArgAttrOfType<ArrayAttr>(parameter.argument,
                                                      kAliasesAttrName))
    for (auto alias : aliases.getAsRange<StringAttr>())
      names.push_back(alias);
  return names;
}

/// The first pattern that matches each parameter, if one does.
static FailureOr<SmallVector<std::optional<unsigned>>>
matchGroups(const Step &step, ArrayRef<std::string> patterns) {
  func::FuncOp func = step.func;
  SmallVector<std::optional<unsigned>> groups(step.parameters.size());
  for (auto [number, text] : llvm::enumerate(patterns)) {
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(text);
    if (!glob)
      return emitError(func.getLoc()) << "pattern \"" << text
                                      << "\" of option 'optimizer-groups' is "
                                         "malformed: "
                                      << llvm::toString(glob.takeError());
    bool any = false;
    for (auto [parameter, group] : llvm::zip_equal(step.parameters, groups)) {
      if (llvm::none_of(getNames(step, parameter),
                        [&](StringRef name) { return glob->match(name); }))
        continue;
      any = true;
      if (!group)
        group = number;
    }
    if (!any)
      return emitError(func.getLoc())
             << "pattern \"" << text
             << "\" of option 'optimizer-groups' matches no parameter";
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// `path.what`, with a number if an argument or a buffer has this name.
static std::string makeName(StringRef path, const Twine &what,
                            llvm::StringSet<> &names) {
  std::string name = path.empty() ? what.str() : (path + "." + what).str();
  std::string unique = name;
  for (unsigned i = 1; !names.insert(unique).second; ++i)
    unique = name + "_" + std::to_string(i);
  return unique;
}

/// How many elements, of the narrowest type, the alignment is.
static int64_t getAlignedElements(const FlatBuffer &buffer,
                                  const ElementTypes &types,
                                  int64_t alignment) {
  int64_t narrowest = alignment;
  for (Type type : {buffer.stored, buffer.gathered, buffer.computed,
                    buffer.gradient, types.reduce})
    if (type)
      narrowest =
          std::min(narrowest, getTensorBytes(RankedTensorType::get({1}, type)));
  return alignment / narrowest;
}

/// The next multiple of `alignment`; nothing if it does not fit.
static std::optional<int64_t> alignUp(int64_t size, int64_t alignment) {
  std::optional<int64_t> last = llvm::checkedAdd(size, alignment - 1);
  return last ? std::optional(*last / alignment * alignment) : std::nullopt;
}

/// Every parameter, and every shard, begins at a multiple of the alignment in
/// each of the element types. Offsets do not depend on the number of ranks.
static LogicalResult placeParameters(FlatBuffer &buffer, const Step &step,
                                     const DataMesh &mesh, int64_t alignment) {
  std::optional<int64_t> end = 0;
  for (unsigned number : buffer.parameters) {
    std::optional<int64_t> offset = alignUp(*end, alignment);
    if (offset)
      end = llvm::checkedAdd(*offset,
                             step.parameters[number].type.getNumElements());
    if (!offset || !end)
      break;
    buffer.offsets.push_back(*offset);
  }
  // Segments of the buffer are equal, too: norms are summed over them.
  int64_t ranks = mesh.getRanks(buffer.over);
  int64_t perShard = std::max<int64_t>(mesh.segments / ranks, 1);
  std::optional<int64_t> shard =
      end ? alignUp(llvm::divideCeil(*end, ranks * perShard), alignment)
          : std::nullopt;
  if (shard)
    shard = llvm::checkedMul(*shard, perShard);
  if (shard && buffer.offsets.size() == buffer.parameters.size() &&
      llvm::checkedMul(*shard, ranks)) {
    buffer.shardSize = *shard;
    return success();
  }
  func::FuncOp func = step.func;
  return func.emitError() << "flat buffer \"" << buffer.name
                          << "\" has more elements than 64 bits can count";
}

/// A buffer that parameter `number` fits in.
static FlatBuffer describeBuffer(const Step &step, unsigned number,
                                 const GradientPlan &plan, unsigned unit,
                                 std::optional<unsigned> group) {
  const Parameter &parameter = step.parameters[number];
  FlatBuffer buffer;
  buffer.unit = unit;
  buffer.over = parameter.over;
  buffer.group = group ? "group" + std::to_string(*group + 1)
                 : parameter.type.getRank() > 1 ? "matrices"
                                                : "vectors";
  buffer.stored = parameter.stored;
  buffer.gathered = parameter.gathered;
  auto it = plan.flat.find(number);
  if (it == plan.flat.end())
    return buffer;
  func::FuncOp func = step.func;
  buffer.computed = getElementTypeOrSelf(it->second.value.getType());
  for (Operation *cast : it->second.casts)
    buffer.casts.push_back(getElementTypeOrSelf(cast->getResult(0).getType()));
  buffer.gradient =
      parameter.stored == parameter.type.getElementType()
          ? getElementTypeOrSelf(func.getResultTypes()[*parameter.gradient])
          : parameter.stored;
  return buffer;
}

/// True if what fits in one of the buffers fits in the other.
static bool areAlike(const FlatBuffer &a, const FlatBuffer &b) {
  return a.unit == b.unit && a.over == b.over && a.group == b.group &&
         a.stored == b.stored && a.gathered == b.gathered &&
         a.computed == b.computed && a.gradient == b.gradient &&
         a.casts == b.casts;
}

FailureOr<std::vector<FlatBuffer>> regather::tg::spmd::planFlatBuffers(
    const Step &step, ArrayRef<Unit> units, const GradientPlan &plan,
    const DataMesh &mesh, const ElementTypes &types,
    const FlatOptions &options) {
  auto groups = matchGroups(step, options.groups);
  if (failed(groups))
    return failure();
  llvm::StringSet<> names;
  func::FuncOp func = step.func;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
    if (auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttrName))
      names.insert(name.getValue());
  std::vector<FlatBuffer> buffers;
  for (auto [unit, described] : llvm::enumerate(units)) {
    // There are few: one for each element type, group, and frozen or not.
    std::vector<FlatBuffer> ofUnit;
    for (unsigned number : described.parameters) {
      if (!step.parameters[number].flat)
        continue;
      FlatBuffer wanted =
          describeBuffer(step, number, plan, unit, (*groups)[number]);
      auto it = llvm::find_if(ofUnit, [&](const FlatBuffer &known) {
        return areAlike(known, wanted);
      });
      if (it == ofUnit.end())
        it = ofUnit.insert(it, std::move(wanted));
      it->parameters.push_back(number);
    }
    for (FlatBuffer &buffer : ofUnit) {
      StringRef frozen = buffer.gradient ? "" : "frozen_";
      buffer.path = described.path;
      buffer.name = makeName(buffer.path, frozen + buffer.group, names);
      int64_t elements = getAlignedElements(buffer, types, options.alignment);
      if (failed(placeParameters(buffer, step, mesh, elements)))
        return failure();
      buffers.push_back(std::move(buffer));
    }
  }
  return buffers;
}

MembersAttr regather::tg::spmd::getMembers(const Step &step,
                                           const FlatBuffer &buffer) {
  Builder builder(step.getContext());
  SmallVector<MemberAttr> members;
  for (auto [number, offset] :
       llvm::zip_equal(buffer.parameters, buffer.offsets)) {
    const Parameter &parameter = step.parameters[number];
    SmallVector<StringAttr> aliases;
    for (StringRef name : ArrayRef(getNames(step, parameter)).drop_front())
      aliases.push_back(builder.getStringAttr(name));
    func::FuncOp func = step.func;
    auto registration = func.getArgAttrOfType<IntegerAttr>(
        parameter.argument, kRegistrationAttrName);
    members.push_back(MemberAttr::get(
        builder.getContext(), builder.getStringAttr(parameter.name), offset,
        parameter.type.getShape(), registration ? registration.getInt() : -1,
        aliases));
  }
  return MembersAttr::get(builder.getContext(), members);
}
