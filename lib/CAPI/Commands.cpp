//===- Commands.cpp - Commands on modules ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Guard.h"
#include "Module.h"
#include "Options.h"
#include "Status.h"

#include "regather/Driver/ReportCollector.h"
#include "regather/Driver/StepStatistics.h"
#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Report/RenderReport.h"
#include "regather/Support/AtomicFile.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace regather;
using namespace regather::capi;

/// Carries out a command on a copy of the module.
static RegatherStatus *
carryOut(RegatherModule *module, Command command,
         const RegatherOptions &options, RegatherOutput **output,
         llvm::function_ref<LogicalResult(ModuleOp, CommandRequest &,
                                          RegatherOutput &)>
             fill) {
  return makeOutput(
      module, output,
      [&](ModuleOp copy, RegatherOutput &output) -> LogicalResult {
        Result<CommandRequest> request = readOptions(command, options);
        if (!request)
          return emitError(UnknownLoc::get(copy.getContext()))
                 << request.getMessage();
        return fill(copy, *request, output);
      });
}

RegatherStatus *regatherListOptions(const char *command,
                                    RegatherOutput **output) {
  return guard([&]() -> RegatherStatus * {
    if (!command || !output)
      return takeStatus(Failure("an argument is null"));
    Result<Command> parsed = parseCommand(command);
    if (!parsed)
      return takeStatus(parsed.getFailure());
    auto created = std::make_unique<RegatherOutput>();
    llvm::raw_string_ostream os(created->json);
    llvm::json::OStream stream(os);
    stream.array([&] {
      for (const CommandOption *option : listOptions(*parsed))
        stream.object([&] {
          stream.attribute("name", option->name);
          stream.attribute("value", option->value);
          stream.attribute("help", option->help);
        });
    });
    *output = created.release();
    return nullptr;
  });
}

RegatherStatus *regatherCalibrate(RegatherOptions options,
                                  RegatherOutput **output) {
  return guard([&]() -> RegatherStatus * {
    if (!output)
      return takeStatus(Failure("an argument is null"));
    Result<CommandRequest> request = readOptions(Command::Calibrate, options);
    if (!request)
      return takeStatus(request.getFailure());
    CalibrationRequest calibration =
        takeCalibrationRequest(std::move(*request));
    ProgressListener silent;
    Result<Cluster> cluster = calibrateMachine(calibration, silent);
    if (!cluster)
      return takeStatus(cluster.getFailure());
    auto created = std::make_unique<RegatherOutput>();
    created->text = formatCalibrationText(*cluster);
    created->json = formatCalibration(*cluster, calibration);
    *output = created.release();
    return nullptr;
  });
}

RegatherStatus *regatherModuleCount(RegatherModule *module,
                                    RegatherOptions options,
                                    RegatherOutput **output) {
  return carryOut(module, Command::Stats, options, output,
                  [&](ModuleOp copy, CommandRequest &, RegatherOutput &output) {
                    StepStatistics statistics = collectStatistics(copy);
                    output.text = formatText(statistics);
                    output.json = formatJson(statistics, module->name);
                    return success();
                  });
}

RegatherStatus *regatherModuleDescribe(RegatherModule *module,
                                       RegatherOptions options,
                                       RegatherOutput **output) {
  return carryOut(module, Command::Tree, options, output,
                  [&](ModuleOp copy, CommandRequest &command,
                      RegatherOutput &output) -> LogicalResult {
                    FailureOr<ModuleDescription> description = describeModules(
                        copy, takeModulesRequest(command, module->name));
                    if (failed(description))
                      return failure();
                    output.text =
                        formatText(*description, command.depth, command.folds);
                    output.json = formatJson(*description, command.depth);
                    return success();
                  });
}

RegatherStatus *regatherModuleSimulate(RegatherModule *module,
                                       RegatherOptions options,
                                       RegatherOutput **output) {
  return carryOut(module, Command::Simulate, options, output,
                  [&](ModuleOp copy, CommandRequest &command,
                      RegatherOutput &output) -> LogicalResult {
                    std::unique_ptr<Prediction> prediction = predictStep(
                        copy,
                        takeSimulateRequest(std::move(command), module->name));
                    if (!prediction)
                      return failure();
                    output.text = formatText(*prediction->summary);
                    output.json = formatJson(*prediction->summary);
                    output.html = formatPage(*prediction);
                    output.trace = formatTrace(*prediction);
                    return success();
                  });
}

RegatherStatus *regatherModulePlan(RegatherModule *module,
                                   RegatherOptions options,
                                   RegatherOutput **output) {
  return carryOut(module, Command::Plan, options, output,
                  [&](ModuleOp copy, CommandRequest &command,
                      RegatherOutput &output) -> LogicalResult {
                    ProgressListener silent;
                    FailureOr<MeshSearch> search = planMeshes(
                        copy, takePlanRequest(std::move(command), module->name),
                        silent);
                    if (failed(search))
                      return failure();
                    // The plans hold all the same, so it is no error.
                    if (!search->problem.empty())
                      copy.emitWarning() << search->problem;
                    output.text = formatText(*search);
                    output.json = formatJson(*search);
                    output.html = formatPage(*search);
                    return success();
                  });
}

RegatherStatus *regatherModuleReport(RegatherModule *module,
                                     RegatherOptions options,
                                     RegatherOutput **output) {
  return carryOut(module, Command::Report, options, output,
                  [&](ModuleOp copy, CommandRequest &command,
                      RegatherOutput &output) -> LogicalResult {
                    FailureOr<report::StepReport> report =
                        reportStep(copy, module->name, command.step);
                    if (failed(report))
                      return failure();
                    output.html = renderHtml(*report);
                    output.json = renderJson(*report);
                    return success();
                  });
}

RegatherStatus *regatherModuleCompile(RegatherModule *module, const char *path,
                                      RegatherOptions options,
                                      RegatherOutput **output) {
  if (!path)
    return takeStatus(Failure("an argument is null"));
  return carryOut(
      module, Command::Compile, options, output,
      [&](ModuleOp copy, CommandRequest &command,
          RegatherOutput &output) -> LogicalResult {
        Location nowhere = UnknownLoc::get(copy.getContext());
        // Before long work whose result would be lost.
        if (Failure failure = checkWritable(path))
          return emitError(nowhere)
                 << "cannot write '" << path << "': " << failure.getMessage();
        ProgressListener silent;
        FailureOr<CompiledModule> compiled = compileModule(
            copy, takeCompileRequest(std::move(command), module->name), silent);
        if (failed(compiled))
          return failure();
        const BundleContents &bundle = compiled->bundle;
        if (Failure failure =
                writeBundle(path, bundle.object->getBuffer(), bundle.manifest))
          return emitError(nowhere) << failure.getMessage();
        output.text = output.json = formatManifest(bundle.manifest);
        return success();
      });
}
