//===- Library.cpp - GEMMs of matrices by cuBLASLt ------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlgorithmChooser.h"
#include "GPU/RoutineLibraries.h"
#include "GPU/RoutineUses.h"

#include <algorithm>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

namespace {
class CublasLtLibrary final : public DeviceLibrary {
public:
  explicit CublasLtLibrary(const DeviceLibraryOptions &options)
      : options(options) {}
  ~CublasLtLibrary() override;

  Failure prepare(const rg_gpu_program &program,
                  const DriverApi &driver) override;
  Failure chooseAlgorithms(const std::string *given) override;
  std::string printAlgorithms() const override;
  std::string getNote() const override { return note; }
  bool computes(const rg_instruction &instruction) const override;
  int64_t getWorkspaceBytes() const override { return workspaceBytes; }
  Failure run(const rg_instruction &instruction, const CuAddress *buffers,
              CuAddress workspace, CuStream stream) override;

private:
  /// What becomes of one GEMM of the program.
  struct Routine {
    RoutineUse use;
    bool isEmpty = false;
    bool hasKernels = false;
    std::unique_ptr<CublasLtGemm> gemm;
  };

  Failure open();
  void prepareGemm(size_t number, GemmPlanning planning);
  Failure prepareGemms(const rg_gpu_program &program);
  std::string getVersion() const { return "cuBLASLt " + api.getVersion(); }
  /// For GEMMs that are large, or for all.
  int64_t getTimingBytes(bool all) const;
  /// Unless generated kernels compute it.
  void addProblem(size_t number, const std::string &reason);
  Failure reportProblems() const;

  DeviceLibraryOptions options;
  CublasLtApi api;
  const DriverApi *driver = nullptr;
  LtHandle handle = nullptr;
  std::unique_ptr<AlgorithmFile> file;
  std::vector<Routine> routines;
  int64_t workspaceBytes = 0;
  std::string problems, note;
};
} // namespace

CublasLtLibrary::~CublasLtLibrary() {
  routines.clear();
  if (handle)
    api.cublasLtDestroy(handle);
}

void CublasLtLibrary::addProblem(size_t number, const std::string &reason) {
  const Routine &routine = routines[number];
  if (routine.hasKernels)
    return;
  problems += "\nGEMM " + std::to_string(number);
  if (routine.use.description)
    problems += std::string(" (") + routine.use.description + ")";
  problems += ": " + reason + ", and no kernel was generated";
}

Failure CublasLtLibrary::reportProblems() const {
  return problems.empty() ? Failure() : "nothing computes" + problems;
}

Failure CublasLtLibrary::open() {
  Result<LtHandle> started = api.start(options.path, *driver);
  if (!started)
    return started.getFailure();
  handle = *started;
  file = std::make_unique<AlgorithmFile>(getVersion(), options.deviceName);
  return Failure();
}

void CublasLtLibrary::prepareGemm(size_t number, GemmPlanning planning) {
  Routine &routine = routines[number];
  std::string reason = planning.reason;
  if (planning.plan) {
    auto gemm = std::make_unique<CublasLtGemm>(
        api, handle, std::move(*planning.plan), routine.use.alignments);
    Failure failure = gemm->describe();
    if (!failure) {
      routine.gemm = std::move(gemm);
      return;
    }
    reason = failure.getMessage();
  }
  addProblem(number, reason);
}

Failure CublasLtLibrary::prepareGemms(const rg_gpu_program &program) {
  std::vector<GemmPlanning> plannings;
  bool needsLibrary = false, wantsLibrary = false;
  for (size_t i = 0; i < routines.size(); ++i) {
    GemmPlanning &planning =
        plannings.emplace_back(planGemm(program.program->gemms[i]));
    routines[i].isEmpty = planning.plan && planning.plan->getNumCalls() == 0;
    if (program.elastic)
      planning = {std::nullopt, "the step is elastic"};
    routines[i].hasKernels = hasKernels(program.gemms, i);
    bool isPlanned = planning.plan && !routines[i].isEmpty;
    wantsLibrary |= isPlanned;
    needsLibrary |= isPlanned && !routines[i].hasKernels;
  }
  Failure failure = wantsLibrary ? open() : Failure();
  if (needsLibrary && failure)
    return failure;
  bool isOpen = wantsLibrary && !failure;
  for (size_t i = 0; i < routines.size(); ++i) {
    if (!isOpen)
      plannings[i].plan.reset();
    if (!routines[i].isEmpty)
      prepareGemm(i, std::move(plannings[i]));
  }
  return reportProblems();
}

Failure CublasLtLibrary::prepare(const rg_gpu_program &program,
                                 const DriverApi &newDriver) {
  driver = &newDriver;
  for (RoutineUse &use : readRoutineUses(*program.program, RG_OP_GEMM))
    routines.emplace_back().use = std::move(use);
  return prepareGemms(program);
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

int64_t CublasLtLibrary::getTimingBytes(bool all) const {
  int64_t bytes = 0;
  for (const Routine &routine : routines)
    if (routine.gemm && (all || routine.gemm->isLarge()))
      bytes = std::max(bytes, routine.gemm->getTimingBytes());
  return bytes;
}

Failure CublasLtLibrary::chooseAlgorithms(const std::string *given) {
  if (!file)
    return Failure();
  file->parse(given ? *given : AlgorithmFile::load(options.algorithmFile));
  using Mode = AlgorithmChooser::Mode;
  Mode mode = given                     ? Mode::Given
              : options.timesAlgorithms ? Mode::Timed
                                        : Mode::First;
  AlgorithmChooser chooser(*file, *driver, mode,
                           getTimingBytes(/*all=*/mode == Mode::Timed));
  for (size_t i = 0; i < routines.size(); ++i) {
    std::unique_ptr<CublasLtGemm> &gemm = routines[i].gemm;
    if (!gemm)
      continue;
    AlgorithmChooser::Choice choice = chooser.choose(*gemm);
    if (!choice)
      return choice.getFailure();
    if (*choice) {
      gemm.reset();
      addProblem(i, **choice);
      continue;
    }
    workspaceBytes =
        std::max(workspaceBytes, int64_t(gemm->getWorkspaceBytes()));
  }
  Failure failure = reportProblems();
  return failure ? failure
                 : keepAlgorithms(*file, options, given != nullptr, note);
}

/// Without what else the file has.
std::string CublasLtLibrary::printAlgorithms() const {
  if (!file)
    return "{}";
  AlgorithmFile used(getVersion(), options.deviceName);
  for (const Routine &routine : routines)
    if (routine.gemm)
      used.set(routine.gemm->getKey(), *file->find(routine.gemm->getKey()));
  return used.print();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

bool CublasLtLibrary::computes(const rg_instruction &instruction) const {
  if (instruction.opcode != RG_OP_GEMM)
    return false;
  const Routine &routine = routines[static_cast<size_t>(instruction.index)];
  return routine.isEmpty || routine.gemm;
}

Failure CublasLtLibrary::run(const rg_instruction &instruction,
                             const CuAddress *buffers, CuAddress workspace,
                             CuStream stream) {
  const Routine &routine = routines[static_cast<size_t>(instruction.index)];
  return routine.isEmpty ? Failure()
                         : routine.gemm->run(buffers, workspace, stream);
}

std::unique_ptr<DeviceLibrary>
regather::runtime::createGemmLibrary(const DeviceLibraryOptions &options) {
  return std::make_unique<CublasLtLibrary>(options);
}
