//===- PassOptionCheck.cpp - What is wrong about options ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/PassOptionCheck.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;

//===----------------------------------------------------------------------===//
// Names of options
//===----------------------------------------------------------------------===//

// A pass prints its options but for empty lists, and has no other way to list
// them. An explicit instantiation may name a private member.
namespace {
mlir::detail::PassOptions Pass::*getOptionsMember();

template <mlir::detail::PassOptions Pass::*member> struct ShownMember {
  friend mlir::detail::PassOptions Pass::*getOptionsMember() { return member; }
};
template struct ShownMember<&Pass::passOptions>;

struct ShownOptions : public mlir::detail::PassOptions {
  static std::vector<StringRef>
  getNames(const mlir::detail::PassOptions &options) {
    std::vector<StringRef> names;
    for (const auto &entry : options.*&ShownOptions::OptionsMap)
      names.push_back(entry.first);
    llvm::sort(names);
    return names;
  }
};

struct GivenOption {
  StringRef name, value;
};
} // namespace

/// Splits `a=1 b={x y}` where no brace or quote is open.
static std::vector<GivenOption> splitOptions(StringRef text) {
  std::vector<GivenOption> options;
  size_t position = 0;
  while ((position = text.find_first_not_of(" \t\n", position)) !=
         StringRef::npos) {
    size_t begin = position;
    unsigned depth = 0;
    char quote = 0;
    for (; position != text.size(); ++position) {
      char c = text[position];
      if (quote) {
        quote = c == quote ? 0 : quote;
        continue;
      }
      if (c == '"' || c == '\'')
        quote = c;
      depth += c == '{';
      depth -= c == '}' && depth > 0;
      if (depth == 0 && llvm::isSpace(c))
        break;
    }
    auto [name, value] = text.slice(begin, position).split('=');
    options.push_back({name, value});
  }
  return options;
}

namespace {
/// The values of an option of which there are few.
struct Choices {
  StringLiteral pass, option, values;
};
} // namespace

static constexpr Choices kChoices[] = {
    {"tg-append-optimizer", "optimizer", "adamw, sgd"},
    {"tg-append-optimizer", "state-dtype", "auto, f32, bf16"},
    {"tg-apply-policy", "policy", "none, full, selective"},
    {"tg-bucket-collectives", "mode", "plan, auto"},
    {"tg-partition", "mode", "default, replay, min-cut, budget"},
    {"tg-reshard-after-forward", "mode", "default, always, never"},
    {"tg-schedule", "mode", "none, manual, auto"},
    {"tg-shard-parameters", "batch", "global, per-rank, auto"},
    {"tg-shard-parameters", "layout", "flat, per-parameter"}};

/// What the option takes instead of `value`; empty if it may take that.
static std::string getOtherChoices(StringRef pass, const GivenOption &option) {
  for (const Choices &choices : kChoices) {
    if (choices.pass != pass || choices.option != option.name)
      continue;
    SmallVector<StringRef> values;
    choices.values.split(values, ", ");
    if (!llvm::is_contained(values, option.value))
      return ("one of " + choices.values).str();
  }
  return "";
}

/// The kind of value that an option takes shows in its default.
static StringRef getExpectation(StringRef byDefault, StringRef value) {
  double number = 0;
  int64_t integer = 0;
  bool isSwitch = byDefault == "true" || byDefault == "false";
  if (isSwitch)
    return llvm::is_contained({"", "true", "TRUE", "True", "1", "false",
                               "FALSE", "False", "0"},
                              value)
               ? ""
               : "true or false";
  if (!byDefault.getAsInteger(10, integer))
    return value.getAsInteger(0, integer) ? "an integer" : "";
  if (!byDefault.getAsDouble(number))
    return value.getAsDouble(number) ? "a number" : "";
  return "";
}

/// An instance of the pass, with its defaults.
static LogicalResult addDefaultPass(StringRef pass, OpPassManager &pm) {
  return parsePassPipeline(pass, pm, llvm::nulls());
}

bool regather::isPassKnown(StringRef pass) {
  return PassInfo::lookup(pass) != nullptr;
}

std::string regather::findWrongOption(StringRef pass, StringRef text,
                                      StringRef origin) {
  OpPassManager pm(ModuleOp::getOperationName(),
                   OpPassManager::Nesting::Implicit);
  if (!isPassKnown(pass) || failed(addDefaultPass(pass, pm)) || pm.size() != 1)
    return "";
  Pass &instance = *pm.begin();
  std::vector<StringRef> names =
      ShownOptions::getNames(instance.*getOptionsMember());
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  instance.printAsTextualPipeline(stream);
  // Without options there are no braces.
  StringRef shown = StringRef(printed).split('{').second;
  shown.consume_back("}");
  std::map<StringRef, StringRef> defaults;
  for (const GivenOption &option : splitOptions(shown))
    defaults[option.name] = option.value;
  for (const GivenOption &option : splitOptions(text)) {
    if (!llvm::is_contained(names, option.name))
      return (origin + " has no option \"" + option.name + "\"; there " +
              (names.empty() ? "are none" : "are " + llvm::join(names, ", ")))
          .str();
    std::string expected = getOtherChoices(pass, option);
    if (auto known = defaults.find(option.name);
        expected.empty() && known != defaults.end())
      expected = getExpectation(known->second, option.value).str();
    if (!expected.empty())
      return (origin + " expects " + expected + " for \"" + option.name +
              "\", got \"" + option.value + "\"")
          .str();
  }
  return "";
}
