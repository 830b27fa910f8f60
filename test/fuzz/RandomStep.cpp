//===- RandomStep.cpp - Valid training steps from a seed ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomStep.h"

#include "RandomLayers.h"

#include "llvm/ADT/STLExtras.h"

using namespace regather::fuzz;

namespace {
/// The mesh, and what its axes are for.
struct Layout {
  std::vector<TextAxis> mesh;
  AxisSet dataAxes = 0, sequenceAxis = 0, tensorAxis = 0;
};

/// The loss and the gradients of one batch follow the activations of another.
class StepBuilder {
public:
  StepBuilder(Draw &draw, Layout layout)
      : draw(draw), layout(layout), text(draw, layout.mesh),
        parameters(text, draw, makePlan()), context{text,
                                                    draw,
                                                    parameters,
                                                    layout.dataAxes,
                                                    layout.sequenceAxis,
                                                    layout.tensorAxis,
                                                    draw.percent(50),
                                                    {},
                                                    {},
                                                    0} {}

  RandomStep build();

private:
  struct Module {
    std::string name;
    std::vector<std::unique_ptr<Layer>> layers;
  };

  ParameterPlan makePlan();
  TextValue addInput(const std::string &name);
  void drawSizes();
  void addModules();
  void runBatch(unsigned number, bool isLast);
  void updateBuffer(const TextValue &x);
  /// Collectives that nobody waits for, and waits that nobody reads.
  void addDeadCollective(const TextValue &x);
  TextValue reduceLoss(const TextValue &loss);

  Draw &draw;
  const Layout layout;
  StepText text;
  /// Set by makePlan, which comes before the other members.
  std::string element;
  RandomParameters parameters;
  LayerContext context;
  int64_t rows = 1, features = 1, outputs = 1;
  std::vector<Module> modules;
  std::optional<TextValue> loss;
};
} // namespace

static Layout drawLayout(Draw &draw) {
  Layout layout;
  if (draw.percent(20))
    return layout;
  int64_t ranks = 1;
  unsigned count = draw.between(1, 3);
  for (unsigned i = 0; i != count; ++i) {
    int64_t size = draw.oneOf<int64_t>({1, 2, 2, 2, 3, 4, 8});
    if (ranks * size > 8)
      size = 8 / ranks;
    ranks *= size;
    AxisSet axis = 1u << i;
    switch (draw.below(4)) {
    case 0:
      if (!layout.tensorAxis) {
        layout.tensorAxis = axis;
        layout.mesh.push_back({"tp", size});
        continue;
      }
      break;
    case 1:
      if (!layout.sequenceAxis) {
        layout.sequenceAxis = axis;
        layout.dataAxes |= axis;
        layout.mesh.push_back({"sp", size});
        continue;
      }
      break;
    default:
      break;
    }
    layout.dataAxes |= axis;
    layout.mesh.push_back({i == 0 ? "dp" : "rep" + std::to_string(i), size});
  }
  return layout;
}

ParameterPlan StepBuilder::makePlan() {
  ParameterPlan plan;
  element = draw.oneOf<const char *>(
      {"f32", "f32", "f32", "f32", "f32", "bf16", "bf16", "f16"});
  plan.element = element;
  plan.dataAxes = layout.dataAxes;
  plan.gathersAgain = draw.percent(25);
  plan.gathersPerUse = draw.percent(20);
  plan.gathersTogether = draw.percent(40);
  return plan;
}

TextValue StepBuilder::addInput(const std::string &name) {
  TextRole role;
  role.role = "input";
  role.name = name;
  if (layout.dataAxes)
    role.placement = "[" + text.printAxes(layout.dataAxes) + " = shard 0]";
  int64_t columns = name.substr(0, 6) == "target" ? outputs : features;
  return text.addArgument({{rows, columns}, element}, role, layout.dataAxes);
}

/// Most steps are small; some are wide, or so long in one direction that work
/// on a value is done in several blocks.
void StepBuilder::drawSizes() {
  switch (draw.below(25)) {
  case 0:
  case 1:
    context.sizes = {32, 40, 48};
    rows = draw.oneOf<int64_t>({24, 40});
    return;
  case 2:
    context.sizes = {1, 2, 3, 5};
    rows = draw.oneOf<int64_t>({130, 515, 1040, 4100});
    return;
  case 3:
    context.sizes = {1, 2, 3, 530};
    rows = draw.oneOf<int64_t>({1, 2, 3});
    return;
  default:
    context.sizes = {1, 2, 3, 4, 5, 6, 8};
    rows = draw.oneOf<int64_t>({1, 2, 3, 4, 6, 8});
  }
}

void StepBuilder::addModules() {
  drawSizes();
  features = draw.oneOf(llvm::ArrayRef<int64_t>(context.sizes));
  outputs = features;
  unsigned count = draw.between(1, 4);
  for (unsigned i = 0; i != count; ++i) {
    Module module;
    // Now and then parameters of the root module.
    module.name = draw.percent(12) ? ""
                  : i == count - 1 && draw.percent(50)
                      ? "head"
                      : "layers." + std::to_string(i);
    text.module = module.name;
    std::string prefix =
        module.name.empty() ? "root" + std::to_string(i) : module.name;
    unsigned layers = draw.between(1, 4);
    for (unsigned k = 0; k != layers; ++k) {
      // The first layer of a step has a parameter.
      bool hasParameter = (i == 0 && k == 0) || draw.percent(40);
      module.layers.push_back(
          hasParameter ? makeParameterLayer(context, outputs,
                                            prefix + "." + std::to_string(k))
          : draw.percent(8) ? makeControlLayer(context)
                            : makePlainLayer(context));
    }
    modules.push_back(std::move(module));
  }
  text.module = "";
}

void StepBuilder::updateBuffer(const TextValue &x) {
  TextRole role;
  role.role = "buffer";
  role.name = "running";
  unsigned number = text.countArguments();
  TextType type{{x.type.dims[1]}, element};
  TextValue buffer = text.addArgument(type, role, 0);
  TextValue sums =
      text.node("aten.sum.dim_IntList", {x}, type, "#tg.operand<0>, [0]");
  if (x.varying)
    sums = text.wait(
        text.start("all_reduce", "max", {sums}, x.varying, "", {type}, 0))[0];
  TextValue half =
      text.node("aten.mul.Tensor", {buffer}, type, "#tg.operand<0>, 0.5");
  TextValue next = text.node("aten.add.Tensor", {half, sums}, type);
  TextRole update;
  update.role = "update of " + std::to_string(number);
  text.addResult(next, update);
}

void StepBuilder::addDeadCollective(const TextValue &x) {
  if (!layout.dataAxes)
    return;
  StepText::Future future =
      text.start("all_reduce", "sum", {x}, layout.dataAxes, "", {x.type}, 0);
  if (draw.percent(50))
    text.wait(future);
}

TextValue StepBuilder::reduceLoss(const TextValue &value) {
  if (!value.varying)
    return value;
  return text.wait(text.start("all_reduce", draw.percent(50) ? "sum" : "avg",
                              {value}, value.varying, "", {value.type}, 0))[0];
}

void StepBuilder::runBatch(unsigned number, bool isLast) {
  std::string suffix = number ? "." + std::to_string(number) : "";
  TextValue x = addInput("x" + suffix), target = addInput("target" + suffix);
  text.phase = "forward";
  for (Module &module : modules) {
    text.module = module.name;
    for (auto &layer : module.layers)
      x = layer->forward(x);
  }
  text.module = "";
  if (isLast && draw.percent(20))
    updateBuffer(x);
  if (draw.percent(15))
    addDeadCollective(x);
  TextValue product = text.node("aten.mul.Tensor", {x, target}, x.type);
  TextValue sum = text.node("aten.sum.default", {product}, {{}, element});
  if (element != "f32")
    sum = text.node("aten._to_copy.default", {sum}, {{}, "f32"}, "",
                    "dtype = f32");
  loss = loss ? text.node("aten.add.Tensor", {*loss, sum}, sum.type) : sum;
  if (isLast) {
    TextRole role;
    role.role = "loss";
    text.addResult(reduceLoss(*loss), role);
    if (draw.percent(25)) {
      TextRole split;
      if (x.varying)
        split.placement = "[" + text.printAxes(x.varying) + " = shard 0]";
      text.addResult(x, split);
    }
  }

  text.phase = "backward";
  TextValue gradient =
      text.node("aten.mul.Tensor", {target}, target.type, "#tg.operand<0>, 1");
  for (Module &module : llvm::reverse(modules)) {
    text.module = module.name;
    for (auto &layer : llvm::reverse(module.layers))
      gradient = layer->backward(gradient);
    if (isLast)
      parameters.reduceComplete();
  }
  text.module = "";
  if (isLast && draw.percent(10))
    addDeadCollective(gradient);
}

RandomStep StepBuilder::build() {
  RandomStep step;
  step.isExact = context.isExact;
  step.lacksPhases = draw.percent(8);
  text.hasPhases = !step.lacksPhases;
  text.policies = draw.percent(70) ? 0 : draw.oneOf({3, 10, 30});
  if (draw.percent(30)) {
    TextRole role;
    role.role = "rng";
    role.name = "rng.seed";
    TextValue seed = text.addArgument({{}, "i64"}, role, 0);
    role.name = "rng.offset";
    context.random = {seed, text.addArgument({{}, "i64"}, role, 0)};
  }
  addModules();
  unsigned batches = draw.percent(85) ? 1 : draw.between(2, 3);
  // Collectives always have a phase, which inference takes for given.
  for (unsigned i = 0; i != batches; ++i)
    runBatch(i, i + 1 == batches);
  step.text = text.take();
  return step;
}

RandomStep regather::fuzz::makeRandomStep(Draw &draw) {
  Layout layout = drawLayout(draw);
  return StepBuilder(draw, layout).build();
}
