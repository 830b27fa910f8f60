//===- Module.cpp - Modules of the C interface ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include "Guard.h"
#include "Status.h"

#include "regather/Driver/ReadModule.h"
#include "regather/Driver/SourceDiagnostics.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace regather;
using namespace regather::capi;

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

static int getSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return RegatherSeverityNote;
  case DiagnosticSeverity::Warning:
    return RegatherSeverityWarning;
  case DiagnosticSeverity::Error:
    return RegatherSeverityError;
  case DiagnosticSeverity::Remark:
    return RegatherSeverityRemark;
  }
  return RegatherSeverityError;
}

static RegatherDiagnostic convert(Diagnostic &diagnostic,
                                  Diagnostics &diagnostics) {
  RegatherDiagnostic result = {};
  result.severity = getSeverity(diagnostic.getSeverity());
  result.message = diagnostics.keep(diagnostic.str());
  result.file = "";
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>()) {
    result.file = diagnostics.keep(place.getFilename().str());
    result.line = place.getLine();
    result.column = place.getColumn();
  }
  return result;
}

static void record(Diagnostic &diagnostic, Diagnostics &diagnostics) {
  RegatherDiagnostic result = convert(diagnostic, diagnostics);
  std::vector<RegatherDiagnostic> &notes = diagnostics.makeNotes();
  for (Diagnostic &note : diagnostic.getNotes())
    notes.push_back(convert(note, diagnostics));
  result.numNotes = notes.size();
  result.notes = notes.data();
  diagnostics.add(result);
}

RegatherStatus *capi::useContext(RegatherModule &module, Diagnostics &heard,
                                 llvm::function_ref<LogicalResult()> use) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto status = std::make_unique<RegatherStatus>();
  // The handler that is registered last is asked first.
  SourceDiagnostics printer(module.sources, module.context.get(), os);
  ScopedDiagnosticHandler recorder(module.context.get(),
                                   [&](Diagnostic &diagnostic) {
                                     record(diagnostic, status->diagnostics);
                                     record(diagnostic, heard);
                                     return failure();
                                   });
  if (succeeded(use()))
    return nullptr;
  status->message = text.empty() ? "failed without a diagnostic" : text;
  return status.release();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static RegatherStatus *
create(const char *name, RegatherModule **module,
       llvm::function_ref<OwningOpRef<ModuleOp>(RegatherModule &)> read) {
  auto created = std::make_unique<RegatherModule>();
  created->name = name;
  created->context = createContext();
  Diagnostics heard;
  if (RegatherStatus *status = useContext(*created, heard, [&] {
        created->module = read(*created);
        return success(bool(created->module));
      }))
    return status;
  *module = created.release();
  return nullptr;
}

RegatherStatus *regatherModuleRead(const char *path, RegatherModule **module) {
  return guard([&]() -> RegatherStatus * {
    if (!path || !module)
      return takeStatus(Failure("an argument is null"));
    return create(path, module, [&](RegatherModule &created) {
      return readModule(path, created.sources, *created.context);
    });
  });
}

RegatherStatus *regatherModuleParse(const char *name, const char *bytes,
                                    size_t size, RegatherModule **module) {
  return guard([&]() -> RegatherStatus * {
    if (!name || (size > 0 && !bytes) || !module)
      return takeStatus(Failure("an argument is null"));
    return create(name, module, [&](RegatherModule &created) {
      return readModule(
          llvm::MemoryBuffer::getMemBufferCopy(StringRef(bytes, size), name),
          StringRef(name).ends_with(".fx.json"), created.sources,
          *created.context);
    });
  });
}

void regatherModuleDestroy(RegatherModule *module) {
  // A call that was ended in its middle may have left anything in the context.
  if (module && !module->use.isBroken)
    delete module;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

RegatherStatus *capi::makeOutput(
    RegatherModule *module, RegatherOutput **output,
    llvm::function_ref<LogicalResult(ModuleOp, RegatherOutput &)> fill) {
  if (!module || !output)
    return takeStatus(Failure("an argument is null"));
  return guard(module->use, [&]() -> RegatherStatus * {
    auto created = std::make_unique<RegatherOutput>();
    if (RegatherStatus *status = useContext(*module, created->diagnostics, [&] {
          OwningOpRef<ModuleOp> copy = module->module->clone();
          return fill(*copy, *created);
        }))
      return status;
    *output = created.release();
    return nullptr;
  });
}

void regatherOutputDestroy(RegatherOutput *output) { delete output; }

static RegatherText getText(const RegatherOutput *output,
                            std::string RegatherOutput::*part) {
  if (!output)
    return {"", 0};
  return {(output->*part).c_str(), (output->*part).size()};
}

RegatherText regatherOutputGetText(const RegatherOutput *output) {
  return getText(output, &RegatherOutput::text);
}

RegatherText regatherOutputGetJson(const RegatherOutput *output) {
  return getText(output, &RegatherOutput::json);
}

RegatherText regatherOutputGetHtml(const RegatherOutput *output) {
  return getText(output, &RegatherOutput::html);
}

RegatherText regatherOutputGetTrace(const RegatherOutput *output) {
  return getText(output, &RegatherOutput::trace);
}

RegatherDiagnostics regatherOutputGetDiagnostics(const RegatherOutput *output) {
  return output ? output->diagnostics.get() : RegatherDiagnostics{0, nullptr};
}

RegatherStatus *regatherModulePrint(RegatherModule *module,
                                    RegatherOutput **output) {
  return makeOutput(module, output, [](ModuleOp copy, RegatherOutput &output) {
    llvm::raw_string_ostream os(output.text);
    copy.print(os);
    return success();
  });
}
