//===- StepOptionText.cpp - Options of a step as text ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/StepOptionText.h"

#include "regather/Dialect/TG/Transforms/ModelAxes.h"
#include "regather/Pipelines/PassOptionText.h"
#include "regather/Pipelines/Pipelines.h"
#include "regather/Support/LLVM/ParseJson.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace regather;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Modes with options
//===----------------------------------------------------------------------===//

/// "auto, manual or none".
static std::string listWords(ArrayRef<std::string> words) {
  return join(words.drop_back(), ", ") + " or " + words.back();
}

/// Reads `mode option=value...` over `options`. The mode is the first option of
/// the pass; its name may be left out. `others` are words that the caller
/// takes.
template <typename OptionsT>
static Failure readModeText(OptionsT &options, StringRef text, StringRef origin,
                            ArrayRef<std::string> others = {}) {
  PassOptionFields fields(options);
  const OptionField &mode = fields.getFields().front();
  StringRef word = text.split(' ').first;
  bool isBare = !word.contains('=');
  if (isBare || word.split('=').first == mode.name) {
    StringRef value = isBare ? word : word.split('=').second;
    if (!mode.read(value)) {
      std::vector<std::string> known = mode.choices;
      for (const std::string &other : others)
        if (!is_contained(known, other))
          known.push_back(other);
      return Failure(
          (origin + " expects " + listWords(known) + ", got \"" + value + "\"")
              .str());
    }
    text = text.drop_front(word.size());
  }
  return fields.read(text, origin);
}

/// The same for a pass that `none` keeps from running.
template <typename OptionsT>
static Failure readChoice(Choice<OptionsT> &choice, OptionsT defaults,
                          StringRef text, StringRef origin,
                          ArrayRef<std::string> others) {
  choice.decision = text == "none" ? PassDecision::No : PassDecision::Yes;
  choice.options = std::move(defaults);
  return text == "none" ? Failure()
                        : readModeText(choice.options, text, origin, others);
}

/// The defaults of a pass that takes times from a cluster, which is chosen
/// later.
template <typename OptionsT> static OptionsT getTimedDefaults() {
  OptionsT options;
  options.cluster.clear();
  return options;
}

/// A number of blocks, which `auto` leaves to the pass.
static Failure readChunks(Choice<ChunkRowsPassOptions> &chunk, StringRef text,
                          StringRef origin) {
  bool isAuto = text == "auto" || text.starts_with("auto ");
  if (!isAuto)
    return readChoice(chunk, {}, text, origin, {"auto", "none"});
  chunk.decision = PassDecision::Yes;
  chunk.options = {};
  return PassOptionFields(chunk.options)
      .read(text.drop_front(StringRef("auto").size()).trim(), origin);
}

/// The options of tg-offload-states are named among those of tg-offload, of
/// which the cluster is that of both. `states` alone means all of them.
static Failure readOffload(StepOptions &options, StringRef text,
                           StringRef origin) {
  options.states = getTimedDefaults<OffloadStatesPassOptions>();
  PassOptionFields states(options.states);
  OffloadPassOptions values = getTimedDefaults<OffloadPassOptions>();
  PassOptionFields fields(values);
  std::string rest;
  auto keep = [&](const PassOptionValue &option) {
    bool isList = StringRef(option.value).contains(' ');
    rest += (rest.empty() ? "" : " ") + option.name;
    if (!option.value.empty())
      rest += "=" + (isList ? "{" + option.value + "}" : option.value);
  };
  for (PassOptionValue option : splitPassOptions(text)) {
    if (option.name == "states" && option.value.empty())
      option.value = "all";
    if (!states.find(option.name)) {
      keep(option);
      continue;
    }
    if (option.name == "states" && !readStateBytes(option.value))
      return Failure((origin +
                      " expects none, all or a number of bytes for "
                      "\"states\", got \"" +
                      option.value + "\"")
                         .str());
    if (Failure failure = states.set(option, origin))
      return failure;
    if (fields.find(option.name))
      keep(option);
  }
  if (rest == "none" && text != "none")
    return Failure((origin + " expects no options beside none").str());
  if (rest.empty())
    rest = fields.getFields().front().print();
  return readChoice(options.offload, values, rest, origin, {"none"});
}

/// What is neither a mode nor an option is a plan.
static Failure readBuckets(Choice<BucketCollectivesPassOptions> &bucket,
                           StringRef text, StringRef origin) {
  auto defaults = getTimedDefaults<BucketCollectivesPassOptions>();
  if (!StringRef("[@/").contains(text.front()))
    return readChoice(bucket, std::move(defaults), text, origin,
                      {"none", "a list of modules"});
  bucket.decision = PassDecision::Yes;
  bucket.options = std::move(defaults);
  bucket.options.plan = text.str();
  return Failure();
}

/// Reads the value of one option of a pass.
template <typename OptionsT>
static Failure readField(OptionsT &options, StringRef name, StringRef text,
                         StringRef origin) {
  PassOptionFields fields(options);
  const OptionField &field = *fields.find(name);
  if (field.read(text))
    return Failure();
  return Failure(
      (origin + " expects " +
       (field.choices.empty() ? field.expected : listWords(field.choices)) +
       ", got \"" + text + "\"")
          .str());
}

/// The same for tg-shard-parameters.
static Failure readSharding(StepOptions &options, StringRef name,
                            StringRef text, StringRef origin) {
  if (Failure failure = readField(options.shard, name, text, origin))
    return failure;
  if (name == "batch")
    options.batch = options.shard.batch;
  if (name == "layout")
    options.layout = options.shard.layout;
  return Failure();
}

/// A number of at least 1, or `auto`, for which `isOpen` is set; `what` is
/// counted.
static Failure readCount(StringRef what, StringRef text, StringRef origin,
                         bool &isOpen, int64_t &count) {
  int64_t number = 1;
  isOpen = text == "auto";
  if (!isOpen && (text.getAsInteger(10, number) || number < 1))
    return Failure((origin + " expects a number of " + what +
                    ", at least 1, or auto, got \"" + text + "\"")
                       .str());
  count = number;
  return Failure();
}

/// The chunks are an option of their own, which may come first.
static Failure readCapacity(StepOptions &options, StringRef text,
                            StringRef origin) {
  int64_t chunks = options.dispatch.options.chunks;
  if (Failure failure =
          readChoice(options.dispatch, {}, text, origin, {"a number", "none"}))
    return failure;
  if (options.dispatch.options.chunks == 1)
    options.dispatch.options.chunks = chunks;
  return Failure();
}

/// Adds placements, of which `;` separates several.
static Failure readAnnotations(StepOptions &options, StringRef text,
                               StringRef origin) {
  SmallVector<StringRef> annotations;
  text.split(annotations, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef annotation : annotations) {
    if (getAnnotatedAxis(annotation).empty())
      return Failure((origin +
                      " expects placements such as \"layers.*.wq=[tp] "
                      "shard 0\", got \"" +
                      annotation + "\"")
                         .str());
    options.model.shard.push_back(annotation.trim().str());
  }
  return Failure();
}

/// `modules=...` is a mode, too.
static Failure readGraphs(StepOptions &options, StringRef text,
                          StringRef origin) {
  bool hasModules = text.starts_with("modules=");
  return setPassOptions(options, "exec-form-graphs",
                        ((hasModules ? "mode=modules " : "mode=") + text).str(),
                        origin);
}

Failure regather::setStepOption(StepOptions &options, StringRef name,
                                StringRef text, StringRef origin) {
  text = text.trim();
  if (text.empty())
    return Failure();
  if (is_contained({"mesh", "replicate-axis", "batch", "layout", "elastic"},
                   name))
    return readSharding(options, name, text, origin);
  if (name == "elastic-axes")
    return readField(options.model, name, text, origin);
  if (name == "micro-batches")
    return readCount("micro-batches", text, origin, options.choosesParts,
                     options.cut.parts);
  if (name == "shard")
    return readAnnotations(options, text, origin);
  if (name == "policy")
    return readModeText(options.policy.emplace(), text, origin);
  if (name == "optimizer")
    return readModeText(options.optimizer.emplace(), text, origin);
  if (name == "reshard")
    return readChoice(options.reshard, {}, text, origin, {"none"});
  if (name == "recompute")
    return readChoice(options.recompute, {}, text, origin, {"none"});
  if (name == "fuse-attention")
    return readChoice(options.fuseAttention, {}, text, origin, {"none"});
  if (name == "chunk")
    return readChunks(options.chunk, text, origin);
  if (name == "expert-capacity")
    return readCapacity(options, text, origin);
  if (name == "expert-chunks")
    return readCount("chunks", text, origin, options.choosesChunks,
                     options.dispatch.options.chunks);
  if (name == "offload")
    return readOffload(options, text, origin);
  if (name == "bucket")
    return readBuckets(options.bucket, text, origin);
  if (name == "schedule")
    return readChoice(options.schedule, getTimedDefaults<SchedulePassOptions>(),
                      text, origin, {"none"});
  if (name == "cuda-graph")
    return readGraphs(options, text, origin);
  return Failure((origin + " is no option of a step").str());
}

/// A mode with the options that differ from their defaults; `none` if the pass
/// does not run.
template <typename OptionsT>
static std::string printModeText(OptionsT options, OptionsT defaults,
                                 bool namesMode) {
  PassOptionFields fields(options);
  const OptionField &mode = fields.getFields().front();
  std::string text =
      (namesMode ? mode.name.str() + "=" : std::string()) + mode.print();
  // Said already.
  PassOptionFields ofDefaults(defaults);
  ofDefaults.getFields().front().read(mode.print());
  std::string others = printPassOptions(options, defaults);
  return others.empty() ? text : text + " " + others;
}

template <typename OptionsT>
static std::string printChoice(const Choice<OptionsT> &choice,
                               OptionsT defaults = {}, bool namesMode = false) {
  switch (choice.decision) {
  case PassDecision::Open:
    return "";
  case PassDecision::No:
    return "none";
  case PassDecision::Yes:
    return printModeText(choice.options, std::move(defaults), namesMode);
  }
  llvm_unreachable("unknown decision");
}

static std::string printOffload(const StepOptions &options) {
  std::string text =
      printChoice(options.offload, getTimedDefaults<OffloadPassOptions>());
  if (!options.offload.isWanted())
    return text;
  // Said already.
  OffloadStatesPassOptions states = options.states;
  states.cluster.clear();
  std::string others =
      printPassOptions(states, getTimedDefaults<OffloadStatesPassOptions>());
  return others.empty() ? text : text + " " + others;
}

static std::string printCapacity(Choice<DispatchRowsPassOptions> dispatch) {
  // An option of its own.
  dispatch.options.chunks = 1;
  return printChoice(dispatch);
}

static std::string printExpertChunks(const StepOptions &options) {
  if (options.choosesChunks)
    return "auto";
  int64_t chunks = options.dispatch.options.chunks;
  return chunks == 1 ? "" : std::to_string(chunks);
}

static std::string printChunks(const Choice<ChunkRowsPassOptions> &chunk) {
  std::string text = printChoice(chunk);
  if (chunk.isWanted() && chunk.options.chunks == 0)
    return "auto" + text.substr(1);
  return text;
}

std::string regather::printStepOption(const StepOptions &options,
                                      StringRef name) {
  if (name == "policy")
    return options.policy ? printModeText(*options.policy, {}, false) : "";
  if (name == "optimizer")
    return options.optimizer ? printModeText(*options.optimizer, {}, false)
                             : "";
  if (name == "reshard")
    return printChoice(options.reshard);
  if (name == "recompute")
    return printChoice(options.recompute);
  if (name == "micro-batches")
    return options.cut.parts == 1 ? "" : std::to_string(options.cut.parts);
  if (name == "fuse-attention")
    return printChoice(options.fuseAttention);
  if (name == "chunk")
    return printChunks(options.chunk);
  if (name == "expert-capacity")
    return printCapacity(options.dispatch);
  if (name == "expert-chunks")
    return printExpertChunks(options);
  if (name == "offload")
    return printOffload(options);
  if (name == "bucket" && options.bucket.isWanted() &&
      options.bucket.options.mode == BucketMode::Plan)
    return options.bucket.options.plan;
  if (name == "bucket")
    return printChoice(options.bucket,
                       getTimedDefaults<BucketCollectivesPassOptions>(),
                       /*namesMode=*/true);
  if (name == "schedule")
    return printChoice(options.schedule,
                       getTimedDefaults<SchedulePassOptions>(),
                       /*namesMode=*/true);
  llvm_unreachable("no option that is printed");
}

//===----------------------------------------------------------------------===//
// Options of passes
//===----------------------------------------------------------------------===//

/// Calls `read` with the options of `pass`; false if there are none.
static bool visitPass(StepOptions &options, StringRef pass,
                      llvm::function_ref<void(const PassOptionFields &)> read) {
  bool isFound = false;
  auto visit = [&](auto &candidate) {
    if (getPassName(candidate) != pass)
      return;
    isFound = true;
    read(PassOptionFields(candidate));
  };
  // What does not run has options, too, which are looked at and forgotten.
  auto visitOptional = [&](auto &candidate) {
    typename std::decay_t<decltype(candidate)>::value_type absent;
    visit(candidate ? *candidate : absent);
  };
  visit(options.cut);
  visit(options.model);
  visit(options.shard);
  visit(options.fuseAttention.options);
  visit(options.dispatch.options);
  visit(options.chunk.options);
  visitOptional(options.policy);
  visit(options.reshard.options);
  visit(options.recompute.options);
  visitOptional(options.optimizer);
  visit(options.offload.options);
  visit(options.states);
  visit(options.bucket.options);
  visit(options.schedule.options);
  visit(options.verify);
  visit(options.program.kernels);
  visit(options.program.toExec);
  visit(options.program.graphs);
  visit(options.program.memory);
  return isFound;
}

/// Decides what follows from an option of a pass that somebody has set.
static void decideBy(StepOptions &options, StringRef pass, StringRef option) {
  if (pass == "tg-shard-parameters" && option == "batch")
    options.batch = options.shard.batch;
  if (pass == "tg-shard-parameters" && option == "layout")
    options.layout = options.shard.layout;
  auto decide = [&](auto &choice) {
    if (getPassName(choice.options) == pass && option == "mode")
      choice.decision = PassDecision::Yes;
  };
  if (pass == "tg-chunk-rows")
    options.chunk.decision = PassDecision::Yes;
  if (pass == "tg-dispatch-rows")
    options.dispatch.decision = PassDecision::Yes;
  if (pass == "tg-offload-states" && option == "states")
    options.offload.decision = PassDecision::Yes;
  decide(options.fuseAttention);
  decide(options.reshard);
  decide(options.recompute);
  decide(options.offload);
  decide(options.bucket);
  decide(options.schedule);
}

/// The passes of ours that a step goes through if all is done to it.
static SmallVector<StringRef> listAllPasses() {
  StepOptions options;
  options.shard.mesh = {"dp:2", "tp:2"};
  options.policy.emplace();
  options.optimizer.emplace();
  options.reshard.decision = options.bucket.decision = PassDecision::Yes;
  options.fuseAttention.decision = PassDecision::Yes;
  options.chunk.decision = PassDecision::Yes;
  options.dispatch.decision = PassDecision::Yes;
  options.cut.parts = 2;
  options.states.states = "all";
  SmallVector<StringRef> names = listPasses(options, StepStage::Program);
  options.recompute.decision = PassDecision::Yes;
  for (StringRef name : listPasses(options, StepStage::Program))
    if (!is_contained(names, name))
      names.push_back(name);
  return names;
}

/// Sets one option.
static Failure setPassOption(StepOptions &options, StringRef pass,
                             const PassOptionValue &option, StringRef origin) {
  SmallVector<StringRef> passes = listAllPasses();
  if (!is_contained(passes, pass))
    return Failure((origin + " names pass \"" + pass +
                    "\", which no step goes through; steps go through " +
                    join(passes, ", "))
                       .str());
  options.namedPasses.insert(pass.str());
  // As a mode of others, a policy decides that the pass runs.
  if (pass == "tg-apply-policy" && option.name == "policy" && !options.policy)
    options.policy.emplace();
  std::string place = (origin + ": pass \"" + pass + "\"").str();
  Failure failure;
  bool hasOptions =
      visitPass(options, pass, [&](const PassOptionFields &fields) {
        failure = fields.set(option, place);
      });
  if (!hasOptions)
    return Failure(
        (place + " has no option \"" + option.name + "\"; there are none"));
  if (!failure)
    decideBy(options, pass, option.name);
  return failure;
}

Failure regather::setPassOptions(StepOptions &options, StringRef pass,
                                 StringRef text, StringRef origin) {
  for (const PassOptionValue &option : splitPassOptions(text))
    if (Failure failure = setPassOption(options, pass, option, origin))
      return failure;
  return Failure();
}

Failure regather::setPassOptions(StepOptions &options, StringRef text,
                                 StringRef origin) {
  auto [pass, option] = text.split(':');
  if (pass.empty() || !option.contains('='))
    return Failure(
        (origin + " expects PASS:OPTION=VALUE, got \"" + text + "\"").str());
  return setPassOptions(options, pass, option, origin);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// The value of an option as it is written in a pipeline.
static std::string getText(const json::Value &value) {
  if (auto text = value.getAsString())
    return text->str();
  const json::Array *array = value.getAsArray();
  if (!array)
    return formatv("{0}", value).str();
  return join(map_range(*array, getText), ",");
}

Failure regather::readPlan(StepOptions &options, const std::string &plan,
                           StringRef origin) {
  if (plan == kAsCaptured) {
    options.asCaptured = true;
    return Failure();
  }
  // JSON stands for itself.
  bool isText = StringRef(plan).ltrim().starts_with("{");
  auto explain = [&](const Twine &why) {
    return Failure(
        ("cannot read plan" + (isText ? "" : " '" + plan + "'") + ": " + why)
            .str());
  };
  std::string text = plan;
  if (!isText) {
    auto file = MemoryBuffer::getFile(plan);
    if (!file)
      return explain(file.getError().message());
    text = (*file)->getBuffer().str();
  }
  auto json = parseJson(text);
  if (!json)
    return explain(toString(json.takeError()));
  const json::Object *passes = json->getAsObject();
  if (!passes)
    return explain("expects an object of passes");
  for (const auto &[pass, values] : *passes) {
    const json::Object *object = values.getAsObject();
    if (!object)
      return explain("expects an object of options for pass \"" +
                     StringRef(pass) + "\"");
    for (const auto &[name, value] : *object)
      if (Failure failure = setPassOption(
              options, pass, {StringRef(name).str(), getText(value)}, origin))
        return failure;
  }
  return Failure();
}
