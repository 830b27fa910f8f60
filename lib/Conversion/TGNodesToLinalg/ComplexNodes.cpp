//===- ComplexNodes.cpp - Complex numbers as pairs of real ones -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeExpansion.h"

#include "regather/Dialect/TG/Steps/Policies.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace regather;
using namespace regather::nodes;

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

namespace {
/// Two tensors or numbers. A real number has no imaginary part.
struct Pair {
  NodeOperand real, imaginary;
};
} // namespace

static ComplexType getComplexElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : nullptr;
}

/// The type of one part of a complex tensor, and that of a real one.
static Type getPartType(Type type) {
  ComplexType complex = getComplexElement(type);
  return complex ? Type(withElement(type, complex.getElementType())) : type;
}

/// The type with a last dimension for real and imaginary part.
static RankedTensorType getJoinedType(Type type, int64_t size = 2) {
  auto part = cast<RankedTensorType>(getPartType(type));
  SmallVector<int64_t> shape(part.getShape());
  shape.push_back(size);
  return RankedTensorType::get(shape, part.getElementType());
}

static Value join(NodeMaker &b, Value real, Value imaginary) {
  Type column = getJoinedType(real.getType(), 1);
  Attribute last = b.getI64IntegerAttr(-1);
  Value parts[] = {
      b.make(Target::AtenUnsqueezeDefault, {real, last}, column),
      b.make(Target::AtenUnsqueezeDefault, {imaginary, last}, column)};
  return b.makeOfList(Target::AtenCatDefault, parts, last,
                      getJoinedType(real.getType()));
}

static Pair split(NodeMaker &b, Value joined) {
  auto type = cast<RankedTensorType>(joined.getType());
  Type part =
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  auto select = [&](int64_t index) {
    return b.make(Target::AtenSelectInt,
                  {joined, Attribute(b.getI64IntegerAttr(-1)),
                   Attribute(b.getI64IntegerAttr(index))},
                  part);
  };
  return {select(0), select(1)};
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {
/// Replaces one node.
class Expander {
public:
  using PairMap = llvm::DenseMap<Value, std::pair<Value, Value>>;

  Expander(tg::NodeOp node, PairMap &pairs)
      : node(node), pairs(pairs), b(node),
        part(node.getNumResults() == 1
                 ? getPartType(node.getResult(0).getType())
                 : Type()) {
    for (NodeOperand operand : getNodeOperands(node))
      operands.push_back(getPair(operand));
  }

  LogicalResult run();

private:
  LogicalResult fail();
  Pair getPair(NodeOperand operand);
  bool isComplexResult() {
    return getComplexElement(node.getResult(0).getType()) != nullptr;
  }

  // Each is null if all its operands are.
  NodeOperand make(Target target, NodeOperand lhs, NodeOperand rhs);
  NodeOperand negate(NodeOperand operand);
  NodeOperand add(NodeOperand lhs, NodeOperand rhs);
  NodeOperand sub(NodeOperand lhs, NodeOperand rhs);
  NodeOperand unary(Target target, NodeOperand operand);
  Pair product(Target target, Pair lhs, Pair rhs);
  Pair quotient(Pair lhs, Pair rhs);
  Pair getScaled(Pair term);

  std::optional<Pair> expandArithmetic(Target target);
  std::optional<Value> expandToReal(Target target);
  LogicalResult expandByPart(Target target);
  void splitNumbers(tg::NodeOp first, tg::NodeOp second, Target target);
  Value toTensor(NodeOperand operand);
  void give(Pair pair);

  tg::NodeOp node;
  PairMap &pairs;
  NodeMaker b;
  Type part;
  SmallVector<Pair> operands;
};
} // namespace

Pair Expander::getPair(NodeOperand operand) {
  if (auto value = dyn_cast<Value>(operand)) {
    auto it = pairs.find(value);
    if (it == pairs.end())
      return {operand, {}};
    return {it->second.first, it->second.second};
  }
  // A complex number is a tensor without dimensions.
  auto number = dyn_cast<DenseElementsAttr>(cast<Attribute>(operand));
  if (!number || !isa<ComplexType>(number.getElementType()))
    return {operand, {}};
  auto value = number.getSplatValue<std::complex<APFloat>>();
  auto getPart = [&](const APFloat &one) -> Attribute {
    return FloatAttr::get(Float64Type::get(node.getContext()),
                          one.convertToDouble());
  };
  return {getPart(value.real()), getPart(value.imag())};
}

NodeOperand Expander::make(Target target, NodeOperand lhs, NodeOperand rhs) {
  if (!lhs || !rhs)
    return {};
  return b.make(target, {lhs, rhs}, part);
}

NodeOperand Expander::unary(Target target, NodeOperand operand) {
  return operand ? NodeOperand(b.make(target, operand, part)) : NodeOperand();
}

NodeOperand Expander::negate(NodeOperand operand) {
  if (!operand)
    return {};
  if (auto number = dyn_cast<Attribute>(operand))
    return make(Target::AtenMulTensor, toTensor(number),
                Attribute(b.getI64IntegerAttr(-1)));
  return b.make(Target::AtenNegDefault, operand,
                cast<Value>(operand).getType());
}

NodeOperand Expander::add(NodeOperand lhs, NodeOperand rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return make(Target::AtenAddTensor, lhs, rhs);
}

NodeOperand Expander::sub(NodeOperand lhs, NodeOperand rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : negate(rhs);
  return make(Target::AtenSubTensor, lhs, rhs);
}

/// With a product of real tensors, (a + bi)(c + di) = ac - bd + (ad + bc)i.
Pair Expander::product(Target target, Pair lhs, Pair rhs) {
  return {sub(make(target, lhs.real, rhs.real),
              make(target, lhs.imaginary, rhs.imaginary)),
          add(make(target, lhs.real, rhs.imaginary),
              make(target, lhs.imaginary, rhs.real))};
}

/// The product with the conjugate over the square of the magnitude.
Pair Expander::quotient(Pair lhs, Pair rhs) {
  Target div = Target::AtenDivTensor, mul = Target::AtenMulTensor;
  if (!rhs.imaginary)
    return {make(div, lhs.real, rhs.real), make(div, lhs.imaginary, rhs.real)};
  rhs = {toTensor(rhs.real), toTensor(rhs.imaginary)};
  NodeOperand square = add(make(mul, rhs.real, rhs.real),
                           make(mul, rhs.imaginary, rhs.imaginary));
  Pair turned = product(mul, lhs, {rhs.real, negate(rhs.imaginary)});
  return {make(div, turned.real, square), make(div, turned.imaginary, square)};
}

/// The second term of a sum, times the factor that the node names.
Pair Expander::getScaled(Pair term) {
  std::optional<DictionaryAttr> kwargs = node.getKwargs();
  Attribute factor = kwargs ? kwargs->get("alpha") : Attribute();
  if (!factor)
    return term;
  return product(
      Target::AtenMulTensor,
      {toTensor(term.real),
       term.imaginary ? NodeOperand(toTensor(term.imaginary)) : NodeOperand()},
      getPair(factor));
}

/// A part as a tensor of the result's shape.
Value Expander::toTensor(NodeOperand operand) {
  auto type = cast<RankedTensorType>(part);
  Attribute size = b.getI64ArrayAttr(type.getShape());
  if (!operand)
    operand = Attribute(b.getF64FloatAttr(0.0));
  if (auto number = dyn_cast<Attribute>(operand))
    return b.make(Target::AtenFullDefault, {size, number}, type);
  Value value = cast<Value>(operand);
  if (getElementTypeOrSelf(value) != type.getElementType())
    value = b.make(Target::AtenToCopyDefault, NodeOperand(value),
                   withElement(value.getType(), type.getElementType()));
  if (value.getType() == type)
    return value;
  return b.make(Target::AtenExpandDefault, {value, size}, type);
}

void Expander::give(Pair pair) {
  pairs[node.getResult(0)] = {toTensor(pair.real), toTensor(pair.imaginary)};
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

/// Targets whose result is complex.
std::optional<Pair> Expander::expandArithmetic(Target target) {
  auto is = [&](std::initializer_list<Target> names, size_t count) {
    return operands.size() == count && llvm::is_contained(names, target);
  };
  if (is({Target::AtenViewAsComplexDefault}, 1))
    return split(b, cast<Value>(operands[0].real));
  if (is({Target::AtenComplexDefault}, 2))
    return Pair{operands[0].real, operands[1].real};
  if (is({Target::AtenPolarDefault}, 2)) {
    Value angle = toTensor(operands[1].real);
    return Pair{make(Target::AtenMulTensor, operands[0].real,
                     unary(Target::AtenCosDefault, angle)),
                make(Target::AtenMulTensor, operands[0].real,
                     unary(Target::AtenSinDefault, angle))};
  }
  if (is({Target::AtenConjDefault, Target::AtenConjPhysicalDefault,
          Target::AtenInnerConjPhysicalDefault},
         1))
    return Pair{operands[0].real, negate(operands[0].imaginary)};
  if (is({Target::AtenMulTensor, Target::AtenMulScalar}, 2))
    return product(Target::AtenMulTensor, operands[0], operands[1]);
  if (is({Target::AtenMmDefault, Target::AtenBmmDefault}, 2))
    return product(target, operands[0], operands[1]);
  if (is({Target::AtenDivTensor, Target::AtenDivScalar}, 2))
    return quotient(operands[0], operands[1]);
  if (is({Target::AtenAddTensor, Target::AtenAddScalar}, 2)) {
    Pair rhs = getScaled(operands[1]);
    return Pair{add(operands[0].real, rhs.real),
                add(operands[0].imaginary, rhs.imaginary)};
  }
  if (is({Target::AtenSubTensor, Target::AtenSubScalar}, 2)) {
    Pair rhs = getScaled(operands[1]);
    return Pair{sub(operands[0].real, rhs.real),
                sub(operands[0].imaginary, rhs.imaginary)};
  }
  if (is({Target::AtenExpDefault}, 1)) {
    NodeOperand size = unary(Target::AtenExpDefault, operands[0].real);
    NodeOperand angle = operands[0].imaginary;
    return Pair{
        make(Target::AtenMulTensor, size, unary(Target::AtenCosDefault, angle)),
        make(Target::AtenMulTensor, size,
             unary(Target::AtenSinDefault, angle))};
  }
  if (is({Target::AtenFullDefault}, 2))
    return operands[1];
  if (is({Target::AtenScalarTensorDefault}, 1))
    return operands[0];
  return std::nullopt;
}

/// Targets that take complex numbers to real ones.
std::optional<Value> Expander::expandToReal(Target target) {
  if (operands.size() != 1 || !operands[0].imaginary)
    return std::nullopt;
  Value real = cast<Value>(operands[0].real);
  Value imaginary = cast<Value>(operands[0].imaginary);
  if (target == Target::AtenViewAsRealDefault)
    return join(b, real, imaginary);
  if (target == Target::AtenAbsDefault)
    return b.make(Target::AtenHypotDefault, {real, imaginary}, part);
  if (target == Target::AtenAngleDefault)
    return b.make(Target::AtenAtan2Default, {imaginary, real}, part);
  if (target == Target::AtenToCopyDefault)
    return b.make(target, NodeOperand(real), part);
  return std::nullopt;
}

/// Targets that treat both parts alike. Real tensors beside complex ones enter
/// the imaginary part only as indices or conditions, real numbers not at all.
static bool isByPart(Target target) {
  switch (target) {
  case Target::AtenAliasDefault:
  case Target::AtenCatDefault:
  case Target::AtenCloneDefault:
  case Target::AtenConstantPadNdDefault:
  case Target::AtenCopyDefault:
  case Target::AtenCumsumDefault:
  case Target::AtenDetachDefault:
  case Target::AtenDiagonalDefault:
  case Target::AtenDiagonalScatterDefault:
  case Target::AtenExpandDefault:
  case Target::AtenFlipDefault:
  case Target::AtenFullLikeDefault:
  case Target::AtenGatherDefault:
  case Target::AtenIndexPutDefault:
  case Target::AtenIndexSelectDefault:
  case Target::AtenIndexTensor:
  case Target::AtenMeanDefault:
  case Target::AtenMeanDim:
  case Target::AtenNegDefault:
  case Target::AtenPermuteDefault:
  case Target::AtenRepeatDefault:
  case Target::AtenReshapeDefault:
  case Target::AtenSelectBackwardDefault:
  case Target::AtenSelectInt:
  case Target::AtenSelectScatterDefault:
  case Target::AtenSliceBackwardDefault:
  case Target::AtenSliceScatterDefault:
  case Target::AtenSliceTensor:
  case Target::AtenSplitTensor:
  case Target::AtenSplitWithSizesDefault:
  case Target::AtenSqueezeDefault:
  case Target::AtenSqueezeDim:
  case Target::AtenSqueezeDims:
  case Target::AtenSumDefault:
  case Target::AtenSumDimIntList:
  case Target::AtenTDefault:
  case Target::AtenToCopyDefault:
  case Target::AtenTransposeInt:
  case Target::AtenUnsafeViewDefault:
  case Target::AtenUnsqueezeDefault:
  case Target::AtenViewDefault:
  case Target::AtenWhereSelf:
  case Target::AtenZerosLikeDefault:
    return true;
  default:
    return false;
  }
}

/// True if the input says where, not what.
static bool isPlace(tg::NodeOp node, Target target, unsigned input) {
  switch (target) {
  case Target::AtenWhereSelf:
    return input == 0;
  case Target::AtenGatherDefault:
  case Target::AtenIndexSelectDefault:
  case Target::AtenIndexTensor:
    return input > 0;
  case Target::AtenIndexPutDefault:
    return input > 0 && input + 1 < node.getInputs().size();
  default:
    return false;
  }
}

/// The place of the number that new elements have, if the target makes such.
static std::optional<unsigned> getFillArgument(Target target) {
  if (target == Target::AtenFullLikeDefault)
    return 1;
  if (target == Target::AtenConstantPadNdDefault)
    return 2;
  return std::nullopt;
}

/// Gives the copies of a node, which are of one part each, that part of the
/// number that new elements have, and the type of a part where they name one.
void Expander::splitNumbers(tg::NodeOp first, tg::NodeOp second,
                            Target target) {
  std::optional<unsigned> fill = getFillArgument(target);
  if (fill && *fill < operands.size()) {
    auto setFill = [&](tg::NodeOp copy, NodeOperand number) {
      SmallVector<Attribute> args(copy.getArgsAttr().getValue());
      args[*fill] =
          number ? cast<Attribute>(number) : Attribute(b.getF64FloatAttr(0.0));
      copy.setArgsAttr(b.getArrayAttr(args));
    };
    setFill(first, operands[*fill].real);
    setFill(second, operands[*fill].imaginary);
  }
  DictionaryAttr kwargs = node.getKwargsAttr();
  auto dtype = kwargs ? kwargs.getAs<TypeAttr>("dtype") : TypeAttr();
  auto complex = dtype ? dyn_cast<ComplexType>(dtype.getValue()) : nullptr;
  if (!complex)
    return;
  NamedAttrList list(kwargs);
  list.set("dtype", TypeAttr::get(complex.getElementType()));
  for (tg::NodeOp copy : {first, second})
    copy.setKwargsAttr(list.getDictionary(node.getContext()));
}

LogicalResult Expander::expandByPart(Target target) {
  SmallVector<Value> real, imaginary;
  for (auto [number, input] : llvm::enumerate(node.getInputs())) {
    auto it = pairs.find(input);
    bool isPair = it != pairs.end();
    real.push_back(isPair ? it->second.first : input);
    imaginary.push_back(isPair ? it->second.second : input);
    if (!isPair && !isPlace(node, target, number))
      imaginary.back() = b.make(Target::AtenZerosLikeDefault,
                                NodeOperand(input), input.getType());
  }
  SmallVector<Type> types =
      llvm::map_to_vector(node.getResultTypes(), getPartType);
  tg::NodeOp first = b.copy(node, real, types);
  tg::NodeOp second = b.copy(node, imaginary, types);
  splitNumbers(first, second, target);
  for (auto [result, re, im] : llvm::zip_equal(
           node.getResults(), first.getResults(), second.getResults()))
    pairs[result] = {re, im};
  return success();
}

LogicalResult Expander::fail() {
  return node.emitError() << "cannot convert target \"" << node.getTarget()
                          << "\" of complex numbers";
}

LogicalResult Expander::run() {
  std::optional<Target> target = tg::findNodeTarget(node.getTarget());
  if (!target)
    return fail();
  if (node.getNumResults() == 1 && isComplexResult()) {
    if (std::optional<Pair> pair = expandArithmetic(*target)) {
      give(*pair);
      return success();
    }
  } else if (node.getNumResults() == 1) {
    if (std::optional<Value> value = expandToReal(*target)) {
      node.getResult(0).replaceAllUsesWith(*value);
      return success();
    }
  }
  bool areComplex = llvm::all_of(node.getResultTypes(), getComplexElement);
  if (areComplex && isByPart(*target))
    return expandByPart(*target);
  return fail();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Gives complex arguments their new type, and finds their parts: in forward,
/// if anything has a phase.
static void expandArguments(func::FuncOp function, Expander::PairMap &pairs) {
  Block &entry = function.front();
  std::optional<tg::Phase> phase;
  if (llvm::any_of(entry, [](Operation &op) { return tg::getPhase(&op); }))
    phase = tg::Phase::Forward;
  for (BlockArgument argument : entry.getArguments()) {
    if (!getComplexElement(argument.getType()))
      continue;
    argument.setType(getJoinedType(argument.getType()));
    NodeMaker b(argument.getLoc(), entry.begin(), &entry, phase);
    Pair pair = split(b, argument);
    pairs[argument] = {cast<Value>(pair.real), cast<Value>(pair.imaginary)};
  }
}

/// Joins the parts of what a function returns, in the phase that made them.
static void expandReturn(func::ReturnOp op, const Expander::PairMap &pairs) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto it = pairs.find(operand.get());
    // An argument has its new type already.
    if (it == pairs.end() || isa<BlockArgument>(operand.get()))
      continue;
    auto [real, imaginary] = it->second;
    Operation *maker = real.getDefiningOp();
    NodeMaker b(op.getLoc(), op->getIterator(), op->getBlock(),
                maker ? tg::getPhase(maker) : std::nullopt);
    operand.set(join(b, real, imaginary));
  }
}

static bool hasComplex(TypeRange types) {
  return llvm::any_of(types, getComplexElement);
}

/// Parts for what could not be replaced, so that what reads it is looked at.
static void standIn(Operation *op, Expander::PairMap &pairs) {
  NodeMaker b(op->getLoc(), op->getIterator(), op->getBlock());
  for (Value result : op->getResults()) {
    if (!getComplexElement(result.getType()))
      continue;
    auto type = cast<RankedTensorType>(getPartType(result.getType()));
    Value zeros = b.make(Target::AtenFullDefault,
                         {Attribute(b.getI64ArrayAttr(type.getShape())),
                          Attribute(b.getF64FloatAttr(0.0))},
                         type);
    pairs[result] = {zeros, zeros};
  }
}

/// Says which of the parts of a node the recorded decision saves: both of a
/// result that it names, and nothing that was computed on the way.
static void copyRecord(tg::NodeOp node, Operation *before,
                       const Expander::PairMap &pairs) {
  if (!tg::hasRecord(node))
    return;
  for (Operation *op = node->getPrevNode(); op != before;
       op = op->getPrevNode())
    op->setAttr(tg::kSavedResultsAttrName,
                DenseI64ArrayAttr::get(node.getContext(), {}));
  for (OpResult result : node->getResults()) {
    auto it = pairs.find(result);
    if (it == pairs.end() ||
        !tg::isRecordedSaved(node, result.getResultNumber()))
      continue;
    for (Value part : {it->second.first, it->second.second})
      if (auto made = dyn_cast<OpResult>(part))
        tg::recordSaved(made.getOwner(), made.getResultNumber());
  }
}

static LogicalResult expandFunction(func::FuncOp function) {
  SmallVector<Operation *> users;
  function.walk([&](Operation *op) {
    if (hasComplex(op->getOperandTypes()) || hasComplex(op->getResultTypes()))
      users.push_back(op);
  });
  FunctionType type = function.getFunctionType();
  Expander::PairMap pairs;
  expandArguments(function, pairs);
  LogicalResult all = success();
  for (Operation *op : users) {
    LogicalResult result = success();
    Operation *before = op->getPrevNode();
    if (auto node = dyn_cast<tg::NodeOp>(op)) {
      result = Expander(node, pairs).run();
      if (succeeded(result))
        copyRecord(node, before, pairs);
    } else if (auto terminator = dyn_cast<func::ReturnOp>(op)) {
      expandReturn(terminator, pairs);
    } else {
      result = op->emitError() << "uses complex numbers, which only nodes may";
    }
    if (failed(result)) {
      standIn(op, pairs);
      all = failure();
    }
  }
  if (failed(all))
    return failure();
  for (Operation *op : llvm::reverse(users))
    if (isa<tg::NodeOp>(op))
      op->erase();
  if (hasComplex(type.getInputs()) || hasComplex(type.getResults()))
    function.setType(FunctionType::get(
        function.getContext(), function.front().getArgumentTypes(),
        llvm::map_to_vector(type.getResults(), [](Type one) -> Type {
          return getComplexElement(one) ? getJoinedType(one) : one;
        })));
  return success();
}

LogicalResult regather::nodes::expandComplexNodes(ModuleOp module) {
  LogicalResult all = success();
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && failed(expandFunction(function)))
      all = failure();
  return all;
}
