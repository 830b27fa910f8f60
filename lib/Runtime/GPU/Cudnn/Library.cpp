//===- Library.cpp - Attention by cuDNN -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "EngineFile.h"
#include "GPU/RoutineLibraries.h"
#include "GPU/RoutineUses.h"

#include <algorithm>
#include <limits>

using namespace regather::runtime;
using regather::Failure;

namespace {
class CudnnLibrary final : public DeviceLibrary {
public:
  explicit CudnnLibrary(const DeviceLibraryOptions &options)
      : options(options) {}
  ~CudnnLibrary() override;

  Failure prepare(const rg_gpu_program &program,
                  const DriverApi &driver) override;
  Failure chooseAlgorithms(const std::string *given) override;
  std::string printAlgorithms() const override {
    return file ? file->print() : "{}";
  }
  std::string getNote() const override { return note; }
  bool computes(const rg_instruction &instruction) const override;
  int64_t getWorkspaceBytes() const override { return workspaceBytes; }
  Failure run(const rg_instruction &instruction, const CuAddress *buffers,
              CuAddress workspace, CuStream stream) override;
  std::string describe() const override;

private:
  /// What becomes of one attention of the program.
  struct Routine {
    RoutineUse use;
    rg_attention_desc desc;
    /// Why a generated kernel computes it; empty if the library does.
    std::string reason;
    bool hasKernels = false;
    std::unique_ptr<CudnnAttention> attention;
  };

  bool isRequired() const { return options.attention == "cudnn"; }
  CudnnAttentionPlan plan(const Routine &routine, size_t version) const;
  /// Gives each routine a reason that the library is not needed for.
  bool needsLibrary();
  Failure open();
  void prepareRoutine(Routine &routine);
  std::string describe(size_t number) const;
  Failure reportProblems() const;

  DeviceLibraryOptions options;
  CudnnApi api;
  const DriverApi *driver = nullptr;
  DnnTarget target;
  std::unique_ptr<EngineFile> file;
  const rg_program *program = nullptr;
  bool isElastic = false;
  std::vector<Routine> routines;
  int64_t workspaceBytes = 0;
  std::string note;
};
} // namespace

CudnnLibrary::~CudnnLibrary() {
  routines.clear();
  if (target.handle)
    api.cudnnDestroy(target.handle);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

CudnnAttentionPlan CudnnLibrary::plan(const Routine &routine,
                                      size_t version) const {
  return planCudnnAttention(
      routine.desc, {routine.use.alignments, options.architecture, version});
}

bool CudnnLibrary::needsLibrary() {
  bool isNeeded = false;
  for (size_t i = 0; i < routines.size(); ++i) {
    Routine &routine = routines[i];
    constexpr size_t kNewest = std::numeric_limits<size_t>::max();
    if (isElastic)
      routine.reason = "the step is elastic, and the order of the library's "
                       "sums may depend on the number of rows";
    else if (options.attention == "generated")
      routine.reason = "they are asked for";
    else
      routine.reason = plan(routine, kNewest).reason;
    isNeeded |= routine.reason.empty();
  }
  return isNeeded;
}

Failure CudnnLibrary::open() {
  if (Failure failure = api.load(options.cudnnPath))
    return failure;
  DnnStatus status = api.cudnnCreate(&target.handle);
  if (status != kDnnSuccess)
    return "cuDNN " + formatCudnnVersion(api.cudnnGetVersion()) +
           " does not start on a driver for CUDA " + driver->getVersion() +
           ": " + api.describeError(status);
  file = std::make_unique<EngineFile>(
      "cuDNN " + formatCudnnVersion(api.cudnnGetVersion()), options.deviceName);
  return Failure();
}

void CudnnLibrary::prepareRoutine(Routine &routine) {
  CudnnAttentionPlan planned = plan(routine, api.cudnnGetVersion());
  routine.reason = planned.reason;
  if (!planned.reason.empty())
    return;
  auto attention = std::make_unique<CudnnAttention>(api, target);
  std::string key = describeAttention(routine.desc);
  if (Failure failure =
          attention->prepare(routine.desc, planned, file->find(key))) {
    routine.reason = "cuDNN " + formatCudnnVersion(api.cudnnGetVersion()) +
                     ": " + failure.getMessage();
    return;
  }
  file->set(key, attention->getChoice());
  workspaceBytes = std::max(workspaceBytes, attention->getWorkspaceBytes());
  routine.attention = std::move(attention);
}

Failure CudnnLibrary::prepare(const rg_gpu_program &gpuProgram,
                              const DriverApi &newDriver) {
  if (!options.attention.empty() && !isRequired() &&
      options.attention != "generated")
    return "attention is computed by 'cudnn' or by 'generated' kernels, not "
           "by '" +
           options.attention + "'";
  driver = &newDriver;
  program = gpuProgram.program;
  isElastic = gpuProgram.elastic != 0;
  for (RoutineUse &use : readRoutineUses(*program, RG_OP_ATTENTION)) {
    Routine &routine = routines.emplace_back();
    routine.hasKernels = hasKernels(gpuProgram.attentions, routines.size() - 1);
    routine.use = std::move(use);
    routine.desc = setUnitStrides(program->attentions[routines.size() - 1]);
  }
  if (needsLibrary())
    if (Failure failure = open())
      for (Routine &routine : routines)
        if (routine.reason.empty())
          routine.reason = failure.getMessage();
  return reportProblems();
}

Failure CudnnLibrary::chooseAlgorithms(const std::string *given) {
  if (!file)
    return Failure();
  file->parse(given ? *given : AlgorithmFile::load(options.algorithmFile));
  for (size_t i = 0; i < routines.size(); ++i)
    if (routines[i].reason.empty())
      prepareRoutine(routines[i]);
  Failure failure = reportProblems();
  return failure ? failure
                 : keepAlgorithms(*file, options, given != nullptr, note);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

std::string CudnnLibrary::describe(size_t number) const {
  std::string text = "attention " + std::to_string(number);
  if (const char *description = routines[number].use.description)
    text += std::string(" (") + description + ")";
  return text;
}

Failure CudnnLibrary::reportProblems() const {
  std::string declined, missing;
  for (size_t i = 0; i < routines.size(); ++i) {
    if (routines[i].reason.empty())
      continue;
    std::string line = "\n" + describe(i) + ": " + routines[i].reason;
    if (isRequired())
      declined += line;
    else if (!routines[i].hasKernels)
      missing += line + ", and no kernel was generated";
  }
  if (!declined.empty())
    return "cuDNN has to compute attention, but it does not compute" + declined;
  return missing.empty() ? Failure() : "nothing computes" + missing;
}

std::string CudnnLibrary::describe() const {
  std::string text;
  for (size_t i = 0; i < routines.size(); ++i) {
    const Routine &routine = routines[i];
    text += describe(i) + ": ";
    if (routine.attention)
      text += "cuDNN " + formatCudnnVersion(api.cudnnGetVersion()) + ", " +
              routine.attention->getChoice().describe() + ", " +
              std::to_string(routine.attention->getWorkspaceBytes()) +
              " bytes of workspace\n";
    else
      text += "generated kernels: " + routine.reason + "\n";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool CudnnLibrary::computes(const rg_instruction &instruction) const {
  return instruction.opcode == RG_OP_ATTENTION &&
         routines[static_cast<size_t>(instruction.index)].attention;
}

Failure CudnnLibrary::run(const rg_instruction &instruction,
                          const CuAddress *buffers, CuAddress workspace,
                          CuStream stream) {
  return routines[static_cast<size_t>(instruction.index)].attention->run(
      buffers, workspace, stream);
}

std::unique_ptr<DeviceLibrary>
regather::runtime::createAttentionLibrary(const DeviceLibraryOptions &options) {
  return std::make_unique<CudnnLibrary>(options);
}
