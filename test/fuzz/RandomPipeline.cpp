//===- RandomPipeline.cpp - Passes with options from a seed ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomPipeline.h"

#include "regather/Pipelines/PassOptionText.h"

using namespace regather;
using namespace regather::fuzz;
using llvm::StringLiteral;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {
/// Finds the options of a pass by name, and passes by the visit of their file.
class PassVisitor {
public:
  using OptionVisitor = std::function<void(const PassOptionFields &)>;

  PassVisitor(std::vector<std::string> *names, StringRef wanted,
              OptionVisitor found)
      : names(names), wanted(wanted), found(std::move(found)) {}

  void operator()(StringRef pass) const {
    if (names)
      names->push_back(pass.str());
  }
  template <typename OptionsT>
  void operator()(StringRef pass, OptionsT options) const {
    (*this)(pass);
    if (found && pass == wanted)
      found(PassOptionFields(options));
  }

private:
  std::vector<std::string> *names;
  StringRef wanted;
  OptionVisitor found;
};
} // namespace

static void visitAllPasses(const PassVisitor &visit) {
  tg::visitPasses(visit);
  exec::visitPasses(visit);
  regather::visitPasses(visit);
}

/// The passes whose results are no steps, or which change bits: they write
/// functions as polynomials.
static bool isLowering(StringRef pass) {
  return pass.starts_with("exec-") || pass == "convert-tg-to-exec" ||
         pass == "convert-math-to-arith" || pass.contains("shard-to-tg") ||
         pass == "shard-record-placements";
}

std::vector<std::string> regather::fuzz::listStepPasses() {
  std::vector<std::string> passes;
  visitAllPasses(PassVisitor(&passes, "", nullptr));
  llvm::erase_if(passes, isLowering);
  return passes;
}

//===----------------------------------------------------------------------===//
// Values of options
//===----------------------------------------------------------------------===//

static std::string pickName(Draw &draw, const std::vector<std::string> &names,
                            StringRef otherwise) {
  return names.empty() ? otherwise.str() : draw.oneOf(llvm::ArrayRef(names));
}

/// Patterns of modules, most of which match something.
static std::string drawPattern(Draw &draw, const StepNames &names) {
  switch (draw.below(4)) {
  case 0:
    return "layers.*";
  case 1:
    return "*";
  default:
    return pickName(draw, names.modules, "head");
  }
}

static std::string drawPlan(Draw &draw, const StepNames &names) {
  switch (draw.below(5)) {
  case 0:
    return "[layers.*]each";
  case 1:
    return "[layers.*]";
  case 2:
    return "[*]";
  case 3:
    return pickName(draw, names.modules, "layers.0") + ",/layers\\..*/";
  default:
    return "[" + pickName(draw, names.modules, "layers.0") + "]";
  }
}

/// A value for an option whose type is a text, by its name: one that says
/// nothing to us is a pattern.
static std::string drawText(Draw &draw, StringRef pass, StringRef option,
                            const StepNames &names) {
  if (option == "cluster")
    return draw.oneOf<const char *>(
        {"h100-8", "h100-nodes", "cpu-threads", "a100-8"});
  if (option == "memory-limit")
    return draw.oneOf<const char *>({"1.0x", "1.05x", "1.5x", "3x", "1000000"});
  if (option == "plan")
    return drawPlan(draw, names);
  if (option == "mesh")
    return draw.oneOf<const char *>({"dp:1", "dp:2", "dp:3", "dp:4", "dp:8",
                                     "rep:2,dp:2", "rep:2,dp:4", "a:2,b:3"});
  if (option == "mesh-name")
    return "ranks";
  if (option.contains("axis"))
    return pickName(draw, names.axes, draw.percent(70) ? "rep" : "dp");
  if (option.contains("dtype"))
    return draw.oneOf<const char *>({"f32", "bf16", "f16"});
  if (option == "saved")
    return pickName(draw, names.ids, "mm");
  if (option == "save")
    return draw.oneOf<const char *>({"aten.mm.*", "aten.*", "aten.relu*"});
  if (option == "groups" || option == "optimizer-groups") {
    std::string pattern = "*" + pickName(draw, names.parameters, "weight");
    return option == "groups" ? pattern + ":weight-decay=0" : pattern;
  }
  if (option == "modules" && pass == "tg-reshard-after-forward")
    return drawPattern(draw, names) +
           draw.oneOf<const char *>({":always", ":never"});
  if (option == "modules" && pass == "tg-apply-policy")
    return drawPattern(draw, names) +
           draw.oneOf<const char *>({":full", ":selective", ":none"});
  return drawPattern(draw, names);
}

static std::string drawInteger(Draw &draw, StringRef option) {
  if (option.contains("bytes") || option.contains("budget"))
    return std::to_string(draw.oneOf<int64_t>({0, 64, 256, 1024, 100000}));
  if (option == "alignment")
    return std::to_string(draw.oneOf<int64_t>({1, 4, 8, 16, 64, 256}));
  return std::to_string(draw.oneOf<int64_t>({0, 1, 1, 2, 2, 3, 4, 8, 64}));
}

static std::string drawValue(Draw &draw, StringRef pass,
                             const OptionField &field, const StepNames &names) {
  if (!field.choices.empty())
    return draw.oneOf(llvm::ArrayRef(field.choices));
  if (field.expected == "true or false")
    return draw.percent(50) ? "true" : "false";
  if (StringRef(field.expected).contains("integer"))
    return drawInteger(draw, field.name);
  if (StringRef(field.expected).contains("number"))
    return field.name == "betas"
               ? "0.9,0.95"
               : draw.oneOf<const char *>({"0", "0.01", "0.5", "0.9", "1"});
  return drawText(draw, pass, field.name, names);
}

/// Some of all values, most of which are small.
static std::string drawOffload(Draw &draw) {
  switch (draw.below(4)) {
  case 0:
    return "mode=marked";
  case 1:
    return "mode=bytes bytes=" +
           std::to_string(draw.oneOf<int64_t>({1, 256, 4096})) +
           " min-bytes=16";
  default:
    return "mode=all min-bytes=" +
           std::to_string(draw.oneOf<int64_t>({0, 0, 100}));
  }
}

/// Options of tg-apply-policy that say something about some units belong to a
/// policy, and to each other.
static std::string agreeOnUnits(Draw &draw, StringRef options) {
  llvm::SmallVector<StringRef> words;
  options.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  auto starts = [&](StringRef prefix) {
    return llvm::any_of(
        words, [&](StringRef word) { return word.starts_with(prefix); });
  };
  bool hasPolicy = starts("policy=full") || starts("policy=selective");
  bool hasUnits = hasPolicy && (starts("units=") || starts("others="));
  llvm::erase_if(words, [&](StringRef word) {
    return word.starts_with("units=") ||
           (!hasPolicy && word.starts_with("others="));
  });
  std::string text = llvm::join(words, " ");
  // More than there are is an error.
  return hasUnits
             ? text + " units=" + std::to_string(draw.oneOf({0, 1, 1, 2, 3}))
             : text;
}

PassCall regather::fuzz::drawCall(Draw &draw, StringRef pass,
                                  const StepNames &names) {
  PassCall call{pass.str(), ""};
  // Modes that change most of what a pass does come often.
  visitAllPasses(PassVisitor(nullptr, pass, [&](const PassOptionFields &all) {
    for (const OptionField &field : all.getFields()) {
      unsigned chance = !field.choices.empty() ? 60
                        : field.name == "mesh" ? 100
                                               : 20;
      if (!draw.percent(chance))
        continue;
      std::string value = drawValue(draw, pass, field, names);
      call.options +=
          (call.options.empty() ? "" : " ") + field.name.str() + "=" + value;
    }
  }));
  // What the mode asks for.
  StringRef options = call.options;
  auto add = [&](const std::string &text) { call.options += " " + text; };
  bool isPartition = pass == "tg-partition";
  if (isPartition && options.contains("mode=budget") &&
      !options.contains(" budget="))
    add("budget=" + std::to_string(draw.oneOf<int64_t>({256, 4096, 100000})));
  if (pass == "tg-bucket-collectives" && !options.contains("mode=auto") &&
      !options.contains("plan="))
    add("plan=" + drawPlan(draw, names));
  if (pass == "tg-append-optimizer" && !options.contains("keep-gradients"))
    add("keep-gradients=true");
  if (pass == "tg-offload")
    call.options = drawOffload(draw);
  if (pass == "tg-apply-policy")
    call.options = agreeOnUnits(draw, call.options);
  // Options that name axes are drawn without a look at the mesh.
  if (pass == "tg-shard-parameters" && options.contains("mesh=rep:") &&
      !options.contains("axis=") && draw.percent(60))
    add("replicate-axis=rep shard-axis=dp");
  // Attention by blocks has other bits.
  if (pass == "tg-fuse-attention")
    call.options = "mode=report";
  // These change results: another order of sums, and sums that go on.
  constexpr std::pair<StringLiteral, StringLiteral> others[] = {
      {"sums=blocks", "sums=whole"},
      {"gradient-sums=true", "gradient-sums=false"}};
  for (auto [option, other] : others)
    if (size_t at = call.options.find(option); at != std::string::npos)
      call.options.replace(at, option.size(), other);
  call.options = StringRef(call.options).trim().str();
  return call;
}

std::vector<PassCall>
regather::fuzz::drawProgramOptions(Draw &draw, const StepNames &names) {
  std::vector<std::string> passes = {"tg-form-kernels", "convert-tg-to-exec"};
  exec::visitPasses(PassVisitor(&passes, "", nullptr));
  std::vector<PassCall> calls;
  for (const std::string &pass : passes) {
    PassCall call = drawCall(draw, pass, names);
    // The function is that of the step; graphs are for GPUs.
    if (StringRef(call.options).contains("entry=") ||
        pass == "exec-form-graphs" || draw.percent(40))
      continue;
    // Results that the caller provides are for callers of the library.
    size_t at = call.options.find("caller-results");
    if (at != std::string::npos)
      call.options.resize(at);
    call.options = StringRef(call.options).trim().str();
    // Neither streams nor operations may be none.
    if (!call.options.empty() && !StringRef(call.options).contains("=0"))
      calls.push_back(call);
  }
  return calls;
}

std::vector<PassCall> regather::fuzz::parsePipeline(StringRef text) {
  std::vector<PassCall> calls;
  while (!text.empty()) {
    // Up to a comma outside of braces.
    unsigned depth = 0;
    size_t end = 0;
    for (; end < text.size() && (depth || text[end] != ','); ++end) {
      depth += text[end] == '{';
      depth -= text[end] == '}' && depth > 0;
    }
    auto [pass, options] = text.take_front(end).split('{');
    options.consume_back("}");
    calls.push_back({pass.trim().str(), options.str()});
    text = text.drop_front(std::min(end + 1, text.size()));
  }
  return calls;
}
