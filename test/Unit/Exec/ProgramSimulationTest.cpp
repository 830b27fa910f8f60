//===- ProgramSimulationTest.cpp - Programs do what steps say -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Random steps are evaluated as they stand and as programs over planned memory,
// with collectives as late as events allow. Elements are tokens: hashes of what
// they are computed from.

#include "RandomStep.h"

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace regather;

namespace {
using Tokens = std::vector<uint64_t>;
} // namespace

static Tokens compute(StringRef what, int64_t output, ArrayRef<Tokens> inputs,
                      int64_t size) {
  uint64_t seed = llvm::hash_combine(llvm::StringRef(what), output);
  for (const Tokens &input : inputs)
    seed = llvm::hash_combine(seed, llvm::hash_combine_range(input));
  Tokens result;
  for (int64_t i = 0; i != size; ++i)
    result.push_back(llvm::hash_combine(seed, i));
  return result;
}

/// The elements of a constant, as tokens: numbers stand for themselves.
static Tokens getTokens(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return {static_cast<uint64_t>(integer.getInt())};
  Tokens tokens;
  for (Attribute element :
       cast<DenseElementsAttr>(value).getValues<Attribute>())
    tokens.push_back(isa<IntegerAttr>(element)
                         ? cast<IntegerAttr>(element).getValue().getZExtValue()
                         : cast<FloatAttr>(element)
                               .getValue()
                               .bitcastToAPInt()
                               .getZExtValue());
  return tokens;
}

static int64_t getNumElements(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.getNumElements() : 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// Evaluates a step value by value.
class StepEvaluator {
public:
  std::vector<Tokens> run(func::FuncOp func, ArrayRef<Tokens> arguments) {
    for (auto [argument, value] :
         llvm::zip_equal(func.getArguments(), arguments))
      values[argument] = value;
    return runBlock(func.front());
  }

private:
  std::vector<Tokens> get(ValueRange range) {
    std::vector<Tokens> result;
    for (Value value : range)
      result.push_back(values.at(value));
    return result;
  }
  void set(ValueRange range, ArrayRef<Tokens> tokens) {
    for (auto [value, token] : llvm::zip_equal(range, tokens))
      values[value] = token;
  }
  std::vector<Tokens> runBlock(Block &block) {
    for (Operation &op : block.without_terminator())
      runOp(&op);
    return get(block.getTerminator()->getOperands());
  }
  void runOp(Operation *op);

  std::map<Value, Tokens, bool (*)(Value, Value)> values{[](Value a, Value b) {
    return a.getAsOpaquePointer() < b.getAsOpaquePointer();
  }};
};
} // namespace

void StepEvaluator::runOp(Operation *op) {
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant))) {
    set(op->getResults(), getTokens(constant));
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    bool taken = values.at(branch.getCondition())[0] != 0;
    set(op->getResults(), runBlock(op->getRegion(taken ? 0 : 1).front()));
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    std::vector<Tokens> carried = get(loop.getInitArgs());
    for (uint64_t i = 0; i < values.at(loop.getUpperBound())[0]; ++i) {
      set(loop.getRegionIterArgs(), carried);
      carried = runBlock(*loop.getBody());
    }
    set(op->getResults(), carried);
  } else if (auto wait = dyn_cast<tg::WaitOp>(op)) {
    set(op->getResults(), values.at(wait.getFuture()));
  } else if (auto unflatten = dyn_cast<tg::UnflattenOp>(op)) {
    const Tokens &flat = values.at(unflatten.getFlat());
    for (auto [result, offset] :
         llvm::zip_equal(op->getResults(), unflatten.getOffsets()))
      values[result] =
          Tokens(flat.begin() + offset,
                 flat.begin() + offset + getNumElements(result.getType()));
  } else if (auto flatten = dyn_cast<tg::FlattenOp>(op)) {
    Tokens flat(getNumElements(flatten.getFlat().getType()));
    for (auto [member, offset] :
         llvm::zip_equal(op->getOperands(), flatten.getOffsets()))
      llvm::copy(values.at(member), flat.begin() + offset);
    values[flatten.getFlat()] = flat;
  } else if (auto collective = dyn_cast<tg::CollectiveOpInterface>(op)) {
    Type type = collective.getFuture().getType().getTensors().front();
    values[collective.getFuture()] =
        compute(op->getName().stripDialect(), 0, get(op->getOperands()),
                getNumElements(type));
  } else {
    auto launch = dyn_cast<tg::LaunchOp>(op);
    // What is not in a kernel gets one with such a name.
    StringRef name = launch ? launch.getKernel() : op->getName().stripDialect();
    std::vector<Tokens> inputs = get(op->getOperands());
    for (OpResult result : op->getResults())
      values[result] = compute(name, result.getResultNumber(), inputs,
                               getNumElements(result.getType()));
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {
/// Runs a program over memory. A collective takes effect when something waits
/// for it; until then its outputs hold garbage, and nobody may touch them, nor
/// change its inputs.
class ProgramSimulator {
public:
  std::vector<Tokens> run(exec::ProgramOp program, ArrayRef<Tokens> arguments);

private:
  struct InFlight {
    exec::CollectiveOp op;
    std::vector<Tokens> inputs;
  };

  void runBlock(Block &block);
  void runOp(Operation *op);
  Tokens load(Value buffer);
  void store(Value buffer, const Tokens &tokens);
  void complete(uint64_t stream, size_t count);

  /// By space, which is the arena or an argument or a constant, and address.
  std::map<std::pair<void *, int64_t>, uint64_t> memory;
  std::map<uint64_t, std::vector<InFlight>> started;
  std::map<uint64_t, size_t> completed;
  llvm::DenseMap<Value, std::pair<uint64_t, size_t>> events;
};
} // namespace

static constexpr uint64_t kGarbage = 0xBAD;

static std::pair<void *, int64_t> getAddress(Value buffer) {
  exec::BufferPlace place = exec::getPlace(buffer);
  if (auto slice = place.base.getDefiningOp<exec::SliceOp>())
    return {nullptr, place.offset + static_cast<int64_t>(*slice.getOffset())};
  return {place.base.getAsOpaquePointer(), place.offset};
}

Tokens ProgramSimulator::load(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto [space, address] = getAddress(buffer);
  Tokens tokens;
  for (int64_t i = 0; i != type.getNumElements(); ++i) {
    auto it = memory.find(
        {space, address + i * exec::getElementBytes(type.getElementType())});
    tokens.push_back(it == memory.end() ? kGarbage : it->second);
  }
  return tokens;
}

void ProgramSimulator::store(Value buffer, const Tokens &tokens) {
  auto type = cast<MemRefType>(buffer.getType());
  auto [space, address] = getAddress(buffer);
  for (auto [i, token] : llvm::enumerate(tokens))
    memory[{space,
            address + i * exec::getElementBytes(type.getElementType())}] =
        token;
}

/// Completes the first `count` collectives of a stream.
void ProgramSimulator::complete(uint64_t stream, size_t count) {
  for (size_t &done = completed[stream]; done < count; ++done) {
    InFlight &flight = started[stream][done];
    exec::CollectiveOp op = flight.op;
    for (auto [i, input, output] :
         llvm::enumerate(op.getInputs(), op.getOutputs())) {
      if (input != output)
        EXPECT_EQ(load(input), flight.inputs[i]) << "an input has changed";
      EXPECT_EQ(load(output),
                Tokens(getNumElements(output.getType()), kGarbage))
          << "an output was touched";
      store(output,
            compute(stringifyCollectiveKind(op.getKind()), 0, flight.inputs[i],
                    getNumElements(output.getType())));
    }
  }
}

void ProgramSimulator::runBlock(Block &block) {
  for (Operation &op : block)
    runOp(&op);
}

void ProgramSimulator::runOp(Operation *op) {
  if (auto constant = dyn_cast<exec::ConstantOp>(op)) {
    store(constant.getBuffer(), getTokens(constant.getValue()));
  } else if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
    std::vector<Tokens> inputs;
    for (Value input : launch.getInputs())
      inputs.push_back(load(input));
    StringRef name = launch.getKernel();
    if (name.starts_with("negf"))
      name = "negf";
    for (auto [i, output] : llvm::enumerate(launch.getOutputs()))
      store(output, compute(name, i, inputs, getNumElements(output.getType())));
  } else if (auto copy = dyn_cast<exec::CopyOp>(op)) {
    store(copy.getTarget(), load(copy.getSource()));
  } else if (auto fill = dyn_cast<exec::FillOp>(op)) {
    auto type = cast<MemRefType>(fill.getTarget().getType());
    store(fill.getTarget(),
          getTokens(DenseElementsAttr::get(exec::getTensorType(type),
                                           Attribute(fill.getValue()))));
  } else if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
    InFlight &flight = started[collective.getStream()].emplace_back();
    flight.op = collective;
    for (Value input : collective.getInputs())
      flight.inputs.push_back(load(input));
    for (Value output : collective.getOutputs())
      store(output, Tokens(getNumElements(output.getType()), kGarbage));
  } else if (auto record = dyn_cast<exec::RecordOp>(op)) {
    events[record.getEvent()] = {record.getStream(),
                                 started[record.getStream()].size()};
  } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
    auto [stream, count] = events.lookup(wait.getEvent());
    complete(stream, count);
  } else if (auto graph = dyn_cast<exec::GraphOp>(op)) {
    runBlock(graph.getBody().front());
  } else if (auto branch = dyn_cast<exec::IfOp>(op)) {
    Region &region = op->getRegion(load(branch.getCondition())[0] ? 0 : 1);
    if (!region.empty())
      runBlock(region.front());
  } else if (auto loop = dyn_cast<exec::ForOp>(op)) {
    for (uint64_t i = load(loop.getLower())[0]; i < load(loop.getUpper())[0];
         i += load(loop.getStep())[0]) {
      store(loop.getIndex(), {i});
      runBlock(loop.getBody().front());
    }
  }
}

std::vector<Tokens> ProgramSimulator::run(exec::ProgramOp program,
                                          ArrayRef<Tokens> arguments) {
  for (auto [argument, value] :
       llvm::zip_equal(program.getArguments(), arguments))
    store(argument, value);
  Block &body = program.getBody().front();
  runBlock(body);
  for (auto &[stream, flights] : started)
    complete(stream, flights.size());
  std::vector<Tokens> results;
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(load(result));
  return results;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

namespace {
class ProgramSimulationTest : public ::testing::Test {
protected:
  ProgramSimulationTest() : context(makeRegistry()) { registerAllPasses(); }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  bool runPasses(ModuleOp module, StringRef pipeline) {
    PassManager pm(&context);
    return succeeded(parsePassPipeline(pipeline, pm)) &&
           succeeded(pm.run(module));
  }

  /// Compares a program with the step that it was lowered from.
  void compare(ModuleOp step, ModuleOp lowered) {
    auto func = step.lookupSymbol<func::FuncOp>("step");
    auto program = lowered.lookupSymbol<exec::ProgramOp>("step");
    for (uint64_t flags = 0; flags != 12; ++flags) {
      std::vector<Tokens> arguments = {
          {flags & 1}, {flags >> 1 & 1}, {flags / 4}};
      for (BlockArgument argument : func.getArguments().drop_front(3))
        arguments.push_back(compute("argument", argument.getArgNumber(), {},
                                    getNumElements(argument.getType())));
      ASSERT_EQ(ProgramSimulator().run(program, arguments),
                StepEvaluator().run(func, arguments));
    }
  }

  MLIRContext context;
};
} // namespace

TEST_F(ProgramSimulationTest, RandomSteps) {
  for (uint64_t seed = 0; seed != 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::string text = test::makeRandomStep(seed);
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    OwningOpRef<ModuleOp> lowered(module->clone());
    std::string pipeline =
        llvm::formatv("convert-tg-to-exec{{comm-streams={0}},"
                      "exec-plan-memory{{in-place={1} donate={2} effort=10000},"
                      "tg-verify-step",
                      1 + seed % 3, seed % 5 != 0, seed % 7 != 0);
    ASSERT_TRUE(runPasses(*lowered, pipeline)) << text;
    ASSERT_NO_FATAL_FAILURE(compare(*module, *lowered)) << text;
  }
}

/// Spreads the launches outside of control flow over two modules, in runs.
static void drawModules(exec::ProgramOp program, uint64_t seed) {
  std::mt19937_64 random(seed);
  unsigned module = 0;
  for (auto launch : program.getBody().getOps<exec::LaunchOp>()) {
    if (random() % 6 == 0)
      module = random() % 3;
    if (module != 0)
      launch->setAttr(tg::kModuleAttrName,
                      StringAttr::get(program.getContext(),
                                      "layers." + std::to_string(module)));
  }
}

// Graphs change the order of what is started, and nothing else; before memory
// is planned as well as after it.
TEST_F(ProgramSimulationTest, RandomGraphs) {
  int64_t numGraphs = 0;
  for (uint64_t seed = 0; seed != 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::string text = test::makeRandomStep(seed);
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    OwningOpRef<ModuleOp> lowered(module->clone());
    ASSERT_TRUE(runPasses(
        *lowered,
        llvm::formatv("convert-tg-to-exec{{comm-streams={0}}", 1 + seed % 3)
            .str()));
    auto program = lowered->lookupSymbol<exec::ProgramOp>("step");
    drawModules(program, seed);
    const char *plan = "exec-plan-memory{effort=10000}",
               *graphs = "exec-form-graphs{mode=unit min-ops=1}";
    std::string pipeline =
        llvm::formatv("{0},{1},tg-verify-step", seed % 2 ? plan : graphs,
                      seed % 2 ? graphs : plan);
    ASSERT_TRUE(runPasses(*lowered, pipeline)) << text;
    program.walk([&](exec::GraphOp) { ++numGraphs; });
    ASSERT_NO_FATAL_FAILURE(compare(*module, *lowered)) << text;
    bool hasControlFlow = !program.getBody().getOps<exec::IfOp>().empty() ||
                          !program.getBody().getOps<exec::ForOp>().empty();
    if (hasControlFlow)
      continue;
    lowered = OwningOpRef<ModuleOp>(module->clone());
    ASSERT_TRUE(runPasses(*lowered,
                          "convert-tg-to-exec,exec-form-graphs{mode=full},"
                          "exec-plan-memory{effort=10000},tg-verify-step"))
        << text;
    ASSERT_NO_FATAL_FAILURE(compare(*module, *lowered)) << text;
  }
  EXPECT_GT(numGraphs, 150);
}
