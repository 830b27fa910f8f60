//===- AppendOptimizer.cpp - Update parameters from gradients -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AppendOptimizer/GradientNorm.h"
#include "AppendOptimizer/GradientSums.h"
#include "AppendOptimizer/OptimizerRules.h"
#include "AppendOptimizer/OptimizerUpdate.h"
#include "AppendOptimizer/UpdateFormulas.h"

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Steps/StepEntry.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <map>

#define DEBUG_TYPE "tg-append-optimizer"

namespace regather::tg {
#define GEN_PASS_DEF_APPENDOPTIMIZERPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;
using B = ImplicitLocOpBuilder;

namespace {
/// A parameter that has a gradient and no update yet.
struct TrainedParameter {
  unsigned argument;
  unsigned gradientResult;
  std::string name;
  RankedTensorType type;
  /// Null if absent.
  PlacementAttr placement;
  MembersAttr members;
  StringAttr module;
  UpdateRule rule;
  /// Numbers of the arguments that hold its states.
  SmallVector<unsigned, 2> states;
  /// The argument with the gradients of earlier batches, if there are any.
  std::optional<unsigned> gradientSum;
  /// The new parameter and states.
  SmallVector<Value> updates;
};

/// Appends the optimizer to one step. Checks first, then changes the step.
class OptimizerAppender {
public:
  OptimizerAppender(func::FuncOp func, const OptimizerRules &rules,
                    const AppendOptimizerPassOptions &options)
      : func(func), rules(rules), options(options) {}

  /// Finds the parameters to update, and says so if there are none.
  LogicalResult collect();
  bool isEmpty() const { return parameters.empty(); }
  size_t getNumParameters() const { return parameters.size(); }
  size_t getNumStates() const { return numStates; }

  /// Checks everything that can go wrong.
  LogicalResult verify();
  /// Fails, with an error, if the norm of gradients cannot be summed.
  LogicalResult append();

private:
  std::optional<RoleKind> getRole(unsigned argument) const;
  std::string getName(unsigned argument) const;
  LogicalResult verifyParameter(const TrainedParameter &parameter);
  /// The names of the parameter or, if it is a flat buffer, of its members.
  UpdateTarget getTarget(const TrainedParameter &parameter);
  LogicalResult assignRules();
  LogicalResult planArguments();
  LogicalResult planArgument(const Twine &name, Type type,
                             ArrayRef<NamedAttribute> attrs);
  LogicalResult planScalar(RoleKind role, Type element,
                           std::optional<unsigned> &argument);

  LogicalResult planStates(TrainedParameter &parameter);
  LogicalResult verifyLoss();

  void addArguments();
  void buildScalars();
  void buildGuard();
  void buildMeans();
  LogicalResult buildClipping();
  void buildUpdates();
  void replaceResults();
  SmallVector<LocalGradient> getGradientsInOrder();
  Value getGradient(const TrainedParameter &parameter);
  void setInsertionPoint(B &b, Value gradient);

  func::FuncOp func;
  const OptimizerRules &rules;
  const AppendOptimizerPassOptions &options;
  SmallVector<TrainedParameter, 0> parameters;
  size_t numStates = 0;

  // New arguments, and the names of all.
  llvm::StringMap<unsigned> argumentOfName;
  SmallVector<Type> newTypes;
  SmallVector<DictionaryAttr> newAttrs;
  std::optional<unsigned> learningRate;
  std::optional<unsigned> step;
  std::optional<unsigned> batches;
  /// Those that decide whether anything is updated.
  std::optional<unsigned> lossResult, overflowResult;

  /// What the scalars of an update depend on.
  using ScalarKey = std::tuple<double, double, bool>;
  static ScalarKey getScalarKey(const TrainedParameter &parameter);
  std::map<ScalarKey, SmallVector<Value>> scalars;
  /// The last operation at the entry that updates may depend on.
  Operation *lastScalar = nullptr;
  /// The last update behind the operation that made its gradient.
  llvm::DenseMap<Operation *, Operation *> lastUpdate;
  /// Null without clipping; the second one is f64.
  Value clipCoefficients[2];
  /// Whether the loss is finite, and no rows are missing; null if nobody asks.
  Value isWanted;
};
} // namespace

//===----------------------------------------------------------------------===//
// What to update
//===----------------------------------------------------------------------===//

std::optional<RoleKind> OptimizerAppender::getRole(unsigned argument) const {
  func::FuncOp step = func;
  if (auto role = step.getArgAttrOfType<RoleAttr>(argument, kRoleAttrName))
    return role.getKind();
  return std::nullopt;
}

/// The name in files.
std::string OptimizerAppender::getName(unsigned argument) const {
  func::FuncOp step = func;
  if (auto name = step.getArgAttrOfType<StringAttr>(argument, kNameAttrName))
    return name.str();
  return "arg" + std::to_string(argument);
}

LogicalResult OptimizerAppender::collect() {
  llvm::DenseSet<int64_t> updated;
  SmallVector<std::pair<unsigned, unsigned>> gradients;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i) {
    auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (!role)
      continue;
    if (role.getKind() == RoleKind::Gradient)
      gradients.emplace_back(role.getArgument(), i);
    else if (role.getKind() == RoleKind::Update)
      updated.insert(role.getArgument());
    else if (role.getKind() == RoleKind::Overflow)
      overflowResult = i;
  }
  llvm::sort(gradients);
  SmallVector<unsigned> leftAlone;
  for (auto [argument, result] : gradients) {
    if (!parameters.empty() && parameters.back().argument == argument)
      return func.emitError()
             << "results " << parameters.back().gradientResult << " and "
             << result << " are both the gradient of argument " << argument;
    if (updated.contains(argument)) {
      leftAlone.push_back(argument);
      continue;
    }
    TrainedParameter &parameter = parameters.emplace_back();
    parameter.argument = argument;
    parameter.gradientResult = result;
    parameter.name = getName(argument);
    parameter.type =
        dyn_cast<RankedTensorType>(func.getArgumentTypes()[argument]);
    parameter.placement =
        func.getArgAttrOfType<PlacementAttr>(argument, kPlacementAttrName);
    parameter.members =
        func.getArgAttrOfType<MembersAttr>(argument, kMembersAttrName);
    parameter.module =
        func.getArgAttrOfType<StringAttr>(argument, kModuleAttrName);
  }
  if (!parameters.empty()) {
    if (!leftAlone.empty())
      emitWarning(func.getLoc())
          << leftAlone.size() << " of " << leftAlone.size() + parameters.size()
          << " parameters with a gradient get no update from the optimizer, "
             "since the step updates them already; the first is \""
          << getName(leftAlone.front()) << '"';
    return success();
  }
  int64_t numParameters = 0;
  bool updatesAny = false;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    if (getRole(i) != RoleKind::Parameter)
      continue;
    ++numParameters;
    updatesAny |= updated.contains(i);
  }
  if (updatesAny)
    emitRemark(func.getLoc())
        << "no optimizer is appended to \"" << func.getName()
        << "\", which updates its parameters already";
  else if (numParameters > 0)
    emitWarning(func.getLoc())
        << "no optimizer is appended to \"" << func.getName()
        << "\", which has " << numParameters << " parameters but no gradient";
  return success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool hasPartialAxes(PlacementAttr placement) {
  return placement &&
         llvm::any_of(placement.getAxes(), [](AxisPlacementAttr axis) {
           return axis.getKind() == PlacementKind::Partial;
         });
}

LogicalResult
OptimizerAppender::verifyParameter(const TrainedParameter &parameter) {
  Type type = func.getArgumentTypes()[parameter.argument];
  if (!parameter.type || !parameter.type.hasStaticShape() ||
      !isa<Float64Type, Float32Type, BFloat16Type, Float16Type>(
          parameter.type.getElementType()))
    return func.emitError()
           << "parameter \"" << parameter.name
           << "\" must be a tensor of f64, f32, bf16 or f16 with a static "
              "shape to be updated, got "
           << type;
  Type gradient = func.getResultTypes()[parameter.gradientResult];
  if (gradient != type)
    return func.emitError()
           << "gradient of parameter \"" << parameter.name << "\" (result "
           << parameter.gradientResult << ") must have the parameter's type "
           << type << ", got " << gradient;
  auto placement = func.getResultAttrOfType<PlacementAttr>(
      parameter.gradientResult, kPlacementAttrName);
  if (placement && placement != parameter.placement) {
    InFlightDiagnostic diag = func.emitError();
    diag << "gradient of parameter \"" << parameter.name << "\" (result "
         << parameter.gradientResult << ") lies as " << placement
         << ", but the parameter ";
    if (parameter.placement)
      return diag << "as " << parameter.placement;
    return diag << "has no placement";
  }
  if (hasPartialAxes(parameter.placement))
    return func.emitError()
           << "parameter \"" << parameter.name << "\" lies as "
           << parameter.placement << ", and parts of a sum cannot be updated";
  return success();
}

UpdateTarget OptimizerAppender::getTarget(const TrainedParameter &parameter) {
  UpdateTarget target{parameter.name, {}};
  if (parameter.members) {
    for (MemberAttr member : parameter.members.getMembers()) {
      auto &names = target.parameters.emplace_back();
      names.push_back(member.getName());
      llvm::append_range(names, member.getAliases());
    }
    return target;
  }
  auto &names = target.parameters.emplace_back();
  names.push_back(parameter.name);
  if (auto aliases = func.getArgAttrOfType<ArrayAttr>(parameter.argument,
                                                      kAliasesAttrName))
    llvm::append_range(names, aliases.getAsValueRange<StringAttr>());
  return target;
}

LogicalResult OptimizerAppender::assignRules() {
  SmallVector<UpdateTarget> targets;
  for (const TrainedParameter &parameter : parameters)
    targets.push_back(getTarget(parameter));
  FailureOr<SmallVector<UpdateRule>> assigned =
      rules.assign(targets, [&]() { return emitError(func.getLoc()); });
  if (failed(assigned))
    return failure();
  for (auto [parameter, rule] : llvm::zip_equal(parameters, *assigned))
    parameter.rule = rule;
  return success();
}

LogicalResult OptimizerAppender::planArgument(const Twine &name, Type type,
                                              ArrayRef<NamedAttribute> attrs) {
  Builder builder(func.getContext());
  StringAttr nameAttr = builder.getStringAttr(name);
  unsigned number = func.getNumArguments() + newTypes.size();
  auto [it, inserted] = argumentOfName.try_emplace(nameAttr.getValue(), number);
  if (!inserted)
    return func.emitError()
           << "the optimizer needs an argument \"" << nameAttr.getValue()
           << "\", but argument " << it->second << " has this name";
  NamedAttrList list(attrs);
  list.set(kNameAttrName, nameAttr);
  newTypes.push_back(type);
  newAttrs.push_back(list.getDictionary(func.getContext()));
  return success();
}

/// Finds the argument of `role`, or plans one with the name of the role.
LogicalResult OptimizerAppender::planScalar(RoleKind role, Type element,
                                            std::optional<unsigned> &argument) {
  for (unsigned i = 0, e = func.getNumArguments(); i != e && !argument; ++i)
    if (getRole(i) == role)
      argument = i;
  if (argument)
    return success();
  argument = func.getNumArguments() + newTypes.size();
  Builder builder(func.getContext());
  return planArgument(
      stringifyRoleKind(role), RankedTensorType::get({}, element),
      builder.getNamedAttr(kRoleAttrName,
                           RoleAttr::get(func.getContext(), role)));
}

/// Plans what lies as the parameter does: its states and, last, the gradients
/// of earlier batches.
LogicalResult OptimizerAppender::planStates(TrainedParameter &parameter) {
  Builder builder(func.getContext());
  SmallVector<NamedAttribute> attrs = {builder.getNamedAttr(
      kRoleAttrName,
      RoleAttr::get(func.getContext(), RoleKind::OptimizerState))};
  if (parameter.module)
    attrs.push_back(builder.getNamedAttr(kModuleAttrName, parameter.module));
  if (parameter.placement)
    attrs.push_back(
        builder.getNamedAttr(kPlacementAttrName, parameter.placement));
  auto plan = [&](StringRef name, Type element,
                  bool isDonated) -> LogicalResult {
    SmallVector<NamedAttribute> ofState(attrs);
    if (isDonated)
      ofState.push_back(
          builder.getNamedAttr(kDonatedAttrName, builder.getUnitAttr()));
    if (parameter.members)
      ofState.push_back(builder.getNamedAttr(
          kMembersAttrName, parameter.members.rename([&](StringRef member) {
            return (member + "." + name).str();
          })));
    return planArgument(parameter.name + "." + name,
                        parameter.type.clone(element), ofState);
  };
  Type update = getUpdateType(parameter.type.getElementType());
  Type element = update;
  if (options.stateDtype == StateType::F32)
    element = builder.getF32Type();
  else if (options.stateDtype == StateType::BF16)
    element = builder.getBF16Type();
  for (StringRef state :
       getFormula(parameter.rule.kind).getStateNames(parameter.rule)) {
    parameter.states.push_back(func.getNumArguments() + newTypes.size());
    if (failed(plan(state, element, /*isDonated=*/true)))
      return failure();
    ++numStates;
  }
  if (!options.gradientSums)
    return success();
  parameter.gradientSum = func.getNumArguments() + newTypes.size();
  return plan("gradient_sum", update, /*isDonated=*/false);
}

LogicalResult OptimizerAppender::planArguments() {
  Builder builder(func.getContext());
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i)
    argumentOfName.try_emplace(getName(i), i);
  for (TrainedParameter &parameter : parameters)
    if (failed(planStates(parameter)))
      return failure();
  if (options.gradientSums) {
    batches = func.getNumArguments() + newTypes.size();
    if (failed(planArgument(
            "batches", RankedTensorType::get({}, builder.getF32Type()),
            builder.getNamedAttr(
                kRoleAttrName,
                RoleAttr::get(func.getContext(), RoleKind::Buffer)))))
      return failure();
  }
  if (failed(planScalar(RoleKind::LearningRate, builder.getF32Type(),
                        learningRate)))
    return failure();
  if (llvm::none_of(parameters, [](const TrainedParameter &parameter) {
        return getFormula(parameter.rule.kind).needsStep(parameter.rule);
      }))
    return success();
  return planScalar(RoleKind::Step, builder.getI64Type(), step);
}

LogicalResult OptimizerAppender::verify() {
  if (!func.getBody().hasOneBlock())
    return func.emitError() << "a step must have one block, got "
                            << func.getBody().getBlocks().size();
  for (const TrainedParameter &parameter : parameters)
    if (failed(verifyParameter(parameter)))
      return failure();
  auto module = func->getParentOfType<ModuleOp>();
  if (std::optional<SymbolTable::UseRange> uses =
          SymbolTable::getSymbolUses(func, module);
      uses && !uses->empty()) {
    InFlightDiagnostic diag =
        func.emitError() << "a step that something refers to cannot get more "
                            "arguments";
    diag.attachNote(uses->begin()->getUser()->getLoc()) << "used here";
    return diag;
  }
  if (failed(verifyLoss()) || failed(assignRules()) || failed(planArguments()))
    return failure();
  return success();
}

/// Finds the loss that decides about the update.
LogicalResult OptimizerAppender::verifyLoss() {
  if (!options.skipNonfinite)
    return success();
  for (unsigned i = 0, e = func.getNumResults(); i != e && !lossResult; ++i)
    if (auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
        role && role.getKind() == RoleKind::Loss)
      lossResult = i;
  if (!lossResult)
    return func.emitError()
           << "option 'skip-nonfinite' needs a result with the role loss";
  auto type = dyn_cast<RankedTensorType>(func.getResultTypes()[*lossResult]);
  if (type && type.hasStaticShape() && type.getNumElements() == 1 &&
      isa<FloatType>(type.getElementType()))
    return success();
  return func.emitError() << "option 'skip-nonfinite' needs a loss of one "
                             "floating-point number, got "
                          << func.getResultTypes()[*lossResult];
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

LogicalResult OptimizerAppender::append() {
  addArguments();
  buildScalars();
  if (lossResult || overflowResult)
    buildGuard();
  if (options.gradientSums)
    buildMeans();
  if (options.maxNorm != 0 && failed(buildClipping()))
    return failure();
  buildUpdates();
  replaceResults();
  return success();
}

void OptimizerAppender::addArguments() {
  SmallVector<unsigned> positions(newTypes.size(), func.getNumArguments());
  SmallVector<Location> locations(newTypes.size(), func.getLoc());
  // This cannot fail, since types and attributes have been checked.
  LogicalResult inserted =
      func.insertArguments(positions, newTypes, newAttrs, locations);
  assert(succeeded(inserted) && "arguments fit the function");
  (void)inserted;
}

OptimizerAppender::ScalarKey
OptimizerAppender::getScalarKey(const TrainedParameter &parameter) {
  return {parameter.rule.learningRateScale, parameter.rule.weightDecay,
          parameter.type.getElementType().isF64()};
}

void OptimizerAppender::buildScalars() {
  B b(func.getLoc(), OpBuilder::atBlockBegin(&func.getBody().front()));
  for (const TrainedParameter &parameter : parameters) {
    SmallVector<Value> &values = scalars[getScalarKey(parameter)];
    if (!values.empty())
      continue;
    values =
        buildStepScalars(b, parameter.rule, func.getArgument(*learningRate),
                         step ? func.getArgument(*step) : Value(),
                         getUpdateType(parameter.type.getElementType()));
    lastScalar = values.front().getDefiningOp();
  }
}

void OptimizerAppender::buildGuard() {
  Operation *terminator = func.getBody().front().getTerminator();
  B b(func.getLoc(), func.getContext());
  auto read = [&](std::optional<unsigned> result) {
    if (!result)
      return Value();
    Value value = terminator->getOperand(*result);
    b.setLoc(value.getLoc());
    if (Operation *maker = value.getDefiningOp())
      if (lastScalar->isBeforeInBlock(maker))
        lastScalar = maker;
    return value;
  };
  Value overflow = read(overflowResult), loss = read(lossResult);
  b.setInsertionPointAfter(lastScalar);
  lastScalar = buildIsWanted(b, loss, overflow);
  markOptimizer(lastScalar);
  isWanted = lastScalar->getResult(0);
}

void OptimizerAppender::buildMeans() {
  Operation *terminator = func.getBody().front().getTerminator();
  for (const TrainedParameter &parameter : parameters) {
    Value gradient = getGradient(parameter);
    B b(gradient.getLoc(), func.getContext());
    if (Operation *maker = gradient.getDefiningOp())
      b.setInsertionPointAfter(maker);
    else
      b.setInsertionPointToStart(&func.getBody().front());
    linalg::GenericOp mean =
        buildMeanGradient(b, gradient, func.getArgument(*parameter.gradientSum),
                          func.getArgument(*batches));
    markOptimizer(mean, parameter.module);
    terminator->setOperand(parameter.gradientResult, mean.getResult(0));
  }
}

Value OptimizerAppender::getGradient(const TrainedParameter &parameter) {
  return func.getBody().front().getTerminator()->getOperand(
      parameter.gradientResult);
}

/// Gradients in the order in which the model registers their parameters.
SmallVector<LocalGradient> OptimizerAppender::getGradientsInOrder() {
  SmallVector<std::pair<int64_t, size_t>> order;
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    auto registration = func.getArgAttrOfType<IntegerAttr>(
        parameter.argument, kRegistrationAttrName);
    order.emplace_back(registration ? registration.getInt()
                                    : std::numeric_limits<int64_t>::max(),
                       index);
  }
  llvm::sort(order);
  SmallVector<LocalGradient> gradients;
  for (auto [position, index] : order) {
    const TrainedParameter &parameter = parameters[index];
    gradients.push_back(
        {getGradient(parameter), parameter.placement, parameter.module});
  }
  return gradients;
}

LogicalResult OptimizerAppender::buildClipping() {
  B b(func.getLoc(), func.getBody().front().getTerminator());
  Value norm = buildSquaredNorm(b, func, getGradientsInOrder());
  if (!norm)
    return failure();
  for (const TrainedParameter &parameter : parameters) {
    Type element = parameter.type.getElementType();
    Value &coefficient = clipCoefficients[element.isF64()];
    if (!coefficient)
      coefficient = buildClipCoefficient(b, norm, options.maxNorm,
                                         getUpdateType(element));
  }
  return success();
}

/// An update comes as soon as its gradient is final, so that neither the
/// gradient nor old states live until the end. Clipping needs all gradients
/// first.
void OptimizerAppender::setInsertionPoint(B &b, Value gradient) {
  if (options.maxNorm != 0) {
    b.setInsertionPoint(func.getBody().front().getTerminator());
    return;
  }
  Operation *maker = gradient.getDefiningOp();
  if (!maker || maker->isBeforeInBlock(lastScalar))
    maker = lastScalar;
  Operation *last = lastUpdate.lookup(maker);
  b.setInsertionPointAfter(last ? last : maker);
}

void OptimizerAppender::buildUpdates() {
  for (TrainedParameter &parameter : parameters) {
    UpdateOperands operands;
    operands.parameter = func.getArgument(parameter.argument);
    operands.gradient = getGradient(parameter);
    for (unsigned state : parameter.states)
      operands.states.push_back(func.getArgument(state));
    operands.clipCoefficient =
        clipCoefficients[parameter.type.getElementType().isF64()];
    operands.scalars = scalars[getScalarKey(parameter)];
    operands.isWanted = isWanted;
    B b(operands.gradient.getLoc(), func.getContext());
    setInsertionPoint(b, operands.gradient);
    if (parameter.placement &&
        !getFormula(parameter.rule.kind).keepsZeros(parameter.rule))
      operands.validSizes =
          buildValidSizes(b, parameter.placement, parameter.type,
                          lookupMesh(func, parameter.placement.getMesh()));
    linalg::GenericOp update = buildUpdate(b, parameter.rule, operands);
    markOptimizer(update, parameter.module);
    Operation *maker = operands.gradient.getDefiningOp();
    lastUpdate[maker ? maker : lastScalar] = update;
    parameter.updates.assign(update.result_begin(), update.result_end());
  }
}

void OptimizerAppender::replaceResults() {
  llvm::BitVector dropped(func.getNumResults());
  if (!options.keepGradients)
    for (const TrainedParameter &parameter : parameters)
      dropped.set(parameter.gradientResult);
  Operation *terminator = func.getBody().front().getTerminator();
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i) {
    if (dropped.test(i))
      continue;
    values.push_back(terminator->getOperand(i));
    attrs.push_back(func.getResultAttrDict(i));
  }
  Builder builder(func.getContext());
  auto addUpdate = [&](Value value, unsigned argument) {
    values.push_back(value);
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        kRoleAttrName,
        RoleAttr::get(func.getContext(), RoleKind::Update, argument))));
  };
  for (const TrainedParameter &parameter : parameters)
    addUpdate(parameter.updates.front(), parameter.argument);
  for (const TrainedParameter &parameter : parameters)
    for (auto [value, argument] : llvm::zip_equal(
             ArrayRef(parameter.updates).drop_front(), parameter.states))
      addUpdate(value, argument);
  terminator->setOperands(values);
  func.setType(builder.getFunctionType(func.getArgumentTypes(),
                                       ValueRange(values).getTypes()));
  func.setAllResultAttrs(attrs);
}

namespace {
struct AppendOptimizer
    : public regather::tg::impl::AppendOptimizerPassBase<AppendOptimizer> {
  using AppendOptimizerPassBase::AppendOptimizerPassBase;

  void runOnOperation() override {
    AppendOptimizerPassOptions options = getOptions();
    FailureOr<OptimizerRules> rules = OptimizerRules::create(
        options, [&]() { return emitError(getOperation().getLoc()); });
    if (failed(rules))
      return signalPassFailure();
    if (std::optional<StepParts> parts = findStepParts(getOperation())) {
      InFlightDiagnostic diag = parts->forward.emitError()
                                << "the step is partitioned already; an "
                                   "optimizer is appended before that";
      diag.attachNote(parts->backward.getLoc()) << "its other part is here";
      return signalPassFailure();
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(runOnStep(func, *rules, options)))
        return signalPassFailure();
  }

  /// The options that this run was given.
  AppendOptimizerPassOptions getOptions() {
    AppendOptimizerPassOptions options;
    options.optimizer = optimizer;
    options.betas.assign(betas.begin(), betas.end());
    options.eps = eps;
    options.weightDecay = weightDecay;
    options.momentum = momentum;
    options.dampening = dampening;
    options.amsgrad = amsgrad;
    options.alpha = alpha;
    options.centered = centered;
    options.rho = rho;
    options.learningRateDecay = learningRateDecay;
    options.isDecoupled = isDecoupled;
    options.maximize = maximize;
    options.nesterov = nesterov;
    options.maxNorm = maxNorm;
    options.groups = groups;
    options.stateDtype = stateDtype;
    options.keepGradients = keepGradients;
    options.gradientSums = gradientSums;
    options.skipNonfinite = skipNonfinite;
    return options;
  }

  LogicalResult runOnStep(func::FuncOp func, const OptimizerRules &rules,
                          const AppendOptimizerPassOptions &options) {
    OptimizerAppender appender(func, rules, options);
    if (failed(appender.collect()))
      return failure();
    if (appender.isEmpty())
      return success();
    if (failed(appender.verify()))
      return failure();
    if (failed(appender.append()))
      return failure();
    numParameters += appender.getNumParameters();
    numStates += appender.getNumStates();
    return success();
  }
};
} // namespace
