//===- OptimizerRules.cpp - How parameters are updated --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerRules.h"

#include "UpdateFormulas.h"

#include "regather/Dialect/TG/Transforms/OptimizerGroups.h"

#include <cmath>

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Checks that `value` is a number of at least zero.
static LogicalResult verifyNonNegative(StringRef name, double value,
                                       EmitErrorFn emitError) {
  if (std::isfinite(value) && value >= 0)
    return success();
  return emitError() << "option '" << name
                     << "' must be a finite number of at least 0, got "
                     << value;
}

namespace {
/// An option that not all optimizers have.
struct OwnOption {
  StringRef name;
  bool isGiven;
  ArrayRef<OptimizerKind> kinds;
};
} // namespace

using Kind = OptimizerKind;
static constexpr Kind kWithBetas[] = {Kind::AdamW, Kind::Adam, Kind::Adamax,
                                      Kind::RAdam};
static constexpr Kind kWithEpsilon[] = {
    Kind::AdamW,  Kind::Adam,     Kind::Adagrad, Kind::RMSprop,
    Kind::Adamax, Kind::Adadelta, Kind::RAdam};
static constexpr Kind kWithAmsgrad[] = {Kind::AdamW, Kind::Adam};
static constexpr Kind kWithMomentum[] = {Kind::SGD, Kind::RMSprop};
static constexpr Kind kSgd[] = {Kind::SGD};
static constexpr Kind kAdagrad[] = {Kind::Adagrad};
static constexpr Kind kRmsprop[] = {Kind::RMSprop};
static constexpr Kind kAdadelta[] = {Kind::Adadelta};
static constexpr Kind kRAdam[] = {Kind::RAdam};

static LogicalResult verifyOwnOptions(const AppendOptimizerPassOptions &options,
                                      EmitErrorFn emitError) {
  const OwnOption all[] = {
      {"betas", !options.betas.empty(), kWithBetas},
      {"eps", options.eps != -1, kWithEpsilon},
      {"amsgrad", options.amsgrad, kWithAmsgrad},
      {"momentum", options.momentum != 0, kWithMomentum},
      {"dampening", options.dampening != 0, kSgd},
      {"nesterov", options.nesterov, kSgd},
      {"alpha", options.alpha != -1, kRmsprop},
      {"centered", options.centered, kRmsprop},
      {"rho", options.rho != -1, kAdadelta},
      {"lr-decay", options.learningRateDecay != 0, kAdagrad},
      {"decoupled-weight-decay", options.isDecoupled, kRAdam},
  };
  for (const OwnOption &option : all) {
    if (!option.isGiven || llvm::is_contained(option.kinds, options.optimizer))
      continue;
    InFlightDiagnostic diag = emitError();
    diag << "option '" << option.name << "' belongs to optimizer ";
    llvm::interleaveComma(option.kinds, diag,
                          [&](Kind kind) { diag << getName(kind); });
    return diag << ", but the optimizer is " << getName(options.optimizer);
  }
  return success();
}

/// Sets `field` unless `given` is -1, and checks that it is in [0, 1).
static LogicalResult readWeight(StringRef name, double given, double &field,
                                EmitErrorFn emitError) {
  if (given != -1)
    field = given;
  if (field >= 0 && field < 1)
    return success();
  return emitError() << "option '" << name
                     << "' must be at least 0 and less than 1, got " << field;
}

static LogicalResult readBetas(const AppendOptimizerPassOptions &options,
                               UpdateRule &rule, EmitErrorFn emitError) {
  if (options.betas.empty())
    return success();
  if (options.betas.size() != 2)
    return emitError() << "option 'betas' must be two numbers, got "
                       << options.betas.size();
  if (failed(readWeight("betas", options.betas[0], rule.beta1, emitError)))
    return failure();
  return readWeight("betas", options.betas[1], rule.beta2, emitError);
}

static LogicalResult readMomentum(const AppendOptimizerPassOptions &options,
                                  UpdateRule &rule, EmitErrorFn emitError) {
  rule.momentum = options.momentum;
  rule.dampening = options.dampening;
  rule.nesterov = options.nesterov;
  if (failed(verifyNonNegative("momentum", rule.momentum, emitError)))
    return failure();
  if (!std::isfinite(rule.dampening))
    return emitError() << "option 'dampening' must be finite, got "
                       << rule.dampening;
  if (rule.dampening != 0 && rule.momentum == 0)
    return emitError() << "option 'dampening' has no effect without momentum";
  if (rule.nesterov && (rule.momentum == 0 || rule.dampening != 0))
    return emitError()
           << "option 'nesterov' needs momentum and no dampening, got momentum "
           << rule.momentum << " and dampening " << rule.dampening;
  return success();
}

/// What torch.optim takes unless told otherwise.
static UpdateRule getDefaults(OptimizerKind kind) {
  UpdateRule rule;
  rule.kind = kind;
  rule.weightDecay = kind == Kind::AdamW ? 0.01 : 0;
  rule.isDecoupled = kind == Kind::AdamW;
  rule.smoothing = kind == Kind::Adadelta ? 0.9 : 0.99;
  if (kind == Kind::Adagrad)
    rule.epsilon = 1e-10;
  else if (kind == Kind::Adadelta)
    rule.epsilon = 1e-6;
  else if (kind != Kind::SGD)
    rule.epsilon = 1e-8;
  return rule;
}

FailureOr<OptimizerRules>
OptimizerRules::create(const AppendOptimizerPassOptions &options,
                       EmitErrorFn emitError) {
  OptimizerRules rules;
  UpdateRule &rule = rules.defaults;
  if (failed(verifyOwnOptions(options, emitError)))
    return failure();
  rule = getDefaults(options.optimizer);
  rule.isDecoupled |= options.isDecoupled;
  rule.maximize = options.maximize;
  rule.amsgrad = options.amsgrad;
  rule.centered = options.centered;
  rule.learningRateDecay = options.learningRateDecay;
  if (options.weightDecay != -1)
    rule.weightDecay = options.weightDecay;
  if (options.eps != -1)
    rule.epsilon = options.eps;
  if (failed(verifyNonNegative("weight-decay", rule.weightDecay, emitError)) ||
      failed(verifyNonNegative("max-norm", options.maxNorm, emitError)) ||
      failed(verifyNonNegative("eps", rule.epsilon, emitError)) ||
      failed(
          verifyNonNegative("lr-decay", rule.learningRateDecay, emitError)) ||
      failed(readBetas(options, rule, emitError)) ||
      failed(readMomentum(options, rule, emitError)) ||
      failed(readWeight("alpha", options.alpha, rule.smoothing, emitError)) ||
      failed(readWeight("rho", options.rho, rule.smoothing, emitError)) ||
      failed(rules.readGroups(options.groups, emitError)))
    return failure();
  if (options.stateDtype != StateType::Update &&
      getFormula(rule.kind).getStateNames(rule).empty())
    return emitError()
           << "option 'state-dtype' has no effect without momentum: "
              "there are no states";
  return rules;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Reads one `NAME=NUMBER` of a group.
static LogicalResult readSetting(StringRef pattern, StringRef text,
                                 UpdateRule &rule, EmitErrorFn emitError) {
  auto [name, number] = text.split('=');
  bool hasEpsilon = llvm::is_contained(kWithEpsilon, rule.kind);
  double *field = nullptr;
  if (name == "learning-rate-scale")
    field = &rule.learningRateScale;
  else if (name == "weight-decay")
    field = &rule.weightDecay;
  else if (name == "eps" && hasEpsilon)
    field = &rule.epsilon;
  if (!field) {
    InFlightDiagnostic diag = emitError();
    diag << "group \"" << pattern
         << "\" expects learning-rate-scale or weight-decay";
    if (hasEpsilon)
      diag << ", or eps";
    return diag << ", got \"" << name << '"';
  }
  if (number.getAsDouble(*field) || !std::isfinite(*field) || *field < 0)
    return emitError() << "group \"" << pattern << "\" expects a finite number "
                       << "of at least 0 as " << name << ", got \"" << number
                       << '"';
  return success();
}

SmallVector<OptimizerGroupText> regather::tg::splitGroups(StringRef groups) {
  SmallVector<OptimizerGroupText> split;
  if (groups.empty())
    return split;
  SmallVector<StringRef> items;
  groups.split(items, '|');
  for (StringRef item : items) {
    auto [pattern, settings] = item.split(':');
    split.push_back({pattern, settings});
  }
  return split;
}

LogicalResult OptimizerRules::readGroups(StringRef text,
                                         EmitErrorFn emitError) {
  SmallVector<StringRef> settings;
  for (auto [pattern, list] : splitGroups(text)) {
    if (pattern.empty() || list.empty()) {
      InFlightDiagnostic diag = emitError();
      diag << "a group must be a pattern and settings, as in "
              "\"*norm*:weight-decay=0\", got \""
           << pattern;
      if (!list.empty())
        diag << ':' << list;
      return diag << '"';
    }
    llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
    if (!glob)
      return emitError() << "group \"" << pattern << "\" is no pattern: "
                         << llvm::toString(glob.takeError());
    UpdateRule rule = defaults;
    settings.clear();
    list.split(settings, ',');
    for (StringRef setting : settings)
      if (failed(readSetting(pattern, setting, rule, emitError)))
        return failure();
    groups.push_back({pattern, std::move(*glob), rule});
  }
  return success();
}

/// Reports two parameters of one buffer that are of different groups; a null
/// group is none.
static LogicalResult emitSplit(StringRef buffer, StringRef first,
                               const ParameterGroup *groupOfFirst,
                               StringRef second,
                               const ParameterGroup *groupOfSecond,
                               EmitErrorFn emitError) {
  if (!groupOfFirst) {
    std::swap(first, second);
    std::swap(groupOfFirst, groupOfSecond);
  }
  InFlightDiagnostic diag = emitError();
  diag << "parameters \"" << first << "\" and \"" << second
       << "\" lie in one flat buffer, \"" << buffer << "\", but group \""
       << groupOfFirst->pattern << "\" is for the first, and ";
  if (groupOfSecond)
    diag << "group \"" << groupOfSecond->pattern << "\" for the second";
  else
    diag << "not for the second";
  diag << "; shard them with optimizer-groups=" << groupOfFirst->pattern;
  if (groupOfSecond)
    diag << ',' << groupOfSecond->pattern;
  return diag;
}

FailureOr<SmallVector<UpdateRule>>
OptimizerRules::assign(ArrayRef<UpdateTarget> targets,
                       EmitErrorFn emitError) const {
  // For each group, whether it was the first to match any parameter, and an
  // earlier group that was first where this one matches, too.
  SmallVector<bool> isFirst(groups.size(), false);
  SmallVector<const ParameterGroup *> earlier(groups.size(), nullptr);
  auto findGroup = [&](ArrayRef<StringRef> names) {
    const ParameterGroup *first = nullptr;
    for (size_t index = 0; index < groups.size(); ++index) {
      const ParameterGroup &group = groups[index];
      if (llvm::none_of(names,
                        [&](StringRef name) { return group.glob.match(name); }))
        continue;
      if (first) {
        earlier[index] = first;
        continue;
      }
      first = &group;
      isFirst[index] = true;
    }
    return first;
  };
  SmallVector<UpdateRule> rules;
  size_t numParameters = 0;
  for (const UpdateTarget &target : targets) {
    const ParameterGroup *common = nullptr;
    for (auto [number, names] : llvm::enumerate(target.parameters)) {
      const ParameterGroup *group = findGroup(names);
      if (number > 0 && group != common)
        return emitSplit(target.name, target.parameters.front().front(), common,
                         names.front(), group, emitError);
      common = group;
      ++numParameters;
    }
    rules.push_back(common ? common->rule : defaults);
  }
  for (auto [index, group] : llvm::enumerate(groups)) {
    if (isFirst[index])
      continue;
    InFlightDiagnostic diag = emitError();
    diag << "group \"" << group.pattern << "\" ";
    if (!earlier[index])
      return diag << "matches none of " << numParameters
                  << " parameters to update";
    return diag << "has no effect: the parameters that it matches belong to "
                   "the earlier group \""
                << earlier[index]->pattern << '"';
  }
  return rules;
}
