//===- OptimizerRules.cpp - How parameters are updated --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptimizerRules.h"

#include "regather/Dialect/TG/Transforms/OptimizerGroups.h"

#include <cmath>

using namespace mlir;
using namespace regather::tg;

SmallVector<StringRef, 2> UpdateRule::getStateNames() const {
  if (kind == OptimizerKind::AdamW)
    return {"exp_avg", "exp_avg_sq"};
  if (momentum != 0)
    return {"momentum_buffer"};
  return {};
}

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

static LogicalResult readAdamW(const AppendOptimizerPassOptions &options,
                               UpdateRule &rule, EmitErrorFn emitError) {
  for (auto [name, isGiven] : {std::pair("momentum", options.momentum != 0),
                               std::pair("dampening", options.dampening != 0),
                               std::pair("nesterov", options.nesterov)})
    if (isGiven)
      return emitError() << "option '" << name
                         << "' belongs to optimizer sgd, but the optimizer is "
                            "adamw";
  if (!options.betas.empty()) {
    if (options.betas.size() != 2)
      return emitError() << "option 'betas' must be two numbers, got "
                         << options.betas.size();
    rule.beta1 = options.betas[0];
    rule.beta2 = options.betas[1];
  }
  for (double beta : {rule.beta1, rule.beta2})
    if (!(beta >= 0 && beta < 1))
      return emitError() << "option 'betas' must be at least 0 and less than "
                            "1, got "
                         << beta;
  rule.epsilon = options.eps;
  return verifyNonNegative("eps", rule.epsilon, emitError);
}

static LogicalResult readSgd(const AppendOptimizerPassOptions &options,
                             UpdateRule &rule, EmitErrorFn emitError) {
  if (!options.betas.empty() || options.eps != rule.epsilon)
    return emitError() << "option '"
                       << (options.betas.empty() ? "eps" : "betas")
                       << "' belongs to optimizer adamw, but the optimizer is "
                          "sgd";
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
  if (options.stateDtype != StateType::Update && rule.momentum == 0)
    return emitError()
           << "option 'state-dtype' has no effect without momentum: "
              "there are no states";
  if (rule.nesterov && (rule.momentum == 0 || rule.dampening != 0))
    return emitError()
           << "option 'nesterov' needs momentum and no dampening, got momentum "
           << rule.momentum << " and dampening " << rule.dampening;
  return success();
}

FailureOr<OptimizerRules>
OptimizerRules::create(const AppendOptimizerPassOptions &options,
                       EmitErrorFn emitError) {
  OptimizerRules rules;
  UpdateRule &rule = rules.defaults;
  rule.kind = options.optimizer;
  bool isAdamW = rule.kind == OptimizerKind::AdamW;
  // -1 stands for what torch.optim does unless told otherwise.
  rule.weightDecay = options.weightDecay;
  if (rule.weightDecay == -1)
    rule.weightDecay = isAdamW ? 0.01 : 0;
  if (failed(verifyNonNegative("weight-decay", rule.weightDecay, emitError)) ||
      failed(verifyNonNegative("max-norm", options.maxNorm, emitError)) ||
      failed(isAdamW ? readAdamW(options, rule, emitError)
                     : readSgd(options, rule, emitError)) ||
      failed(rules.readGroups(options.groups, emitError)))
    return failure();
  return rules;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Reads one `NAME=NUMBER` of a group.
static LogicalResult readSetting(StringRef pattern, StringRef text,
                                 UpdateRule &rule, EmitErrorFn emitError) {
  auto [name, number] = text.split('=');
  double *field = nullptr;
  if (name == "learning-rate-scale")
    field = &rule.learningRateScale;
  else if (name == "weight-decay")
    field = &rule.weightDecay;
  else if (name == "eps" && rule.kind == OptimizerKind::AdamW)
    field = &rule.epsilon;
  if (!field) {
    InFlightDiagnostic diag = emitError();
    diag << "group \"" << pattern
         << "\" expects learning-rate-scale or weight-decay";
    if (rule.kind == OptimizerKind::AdamW)
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
