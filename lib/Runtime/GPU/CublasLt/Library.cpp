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

namespace {
class CublasLtLibrary final : public DeviceLibrary {
public:
  explicit CublasLtLibrary(const DeviceLibraryOptions &options)
      : options(options) {}
  ~CublasLtLibrary() override;

  bool prepare(const rg_gpu_program &program, const DriverApi &driver,
               std::string &message) override;
  bool chooseAlgorithms(const std::string *given,
                        std::string &message) override;
  std::string printAlgorithms() const override;
  std::string getNote() const override { return note; }
  bool computes(const rg_instruction &instruction) const override;
  int64_t getWorkspaceBytes() const override { return workspaceBytes; }
  bool run(const rg_instruction &instruction, const CuAddress *buffers,
           CuAddress workspace, CuStream stream, std::string &message) override;

private:
  /// What becomes of one GEMM of the program.
  struct Routine {
    RoutineUse use;
    bool isEmpty = false;
    bool hasKernels = false;
    std::unique_ptr<CublasLtGemm> gemm;
  };

  bool open(std::string &message);
  void prepareGemm(size_t number, GemmPlanning planning);
  bool prepareGemms(const rg_gpu_program &program, std::string &message);
  std::string getVersion() const { return "cuBLASLt " + api.getVersion(); }
  /// For GEMMs that are large, or for all.
  int64_t getTimingBytes(bool all) const;
  /// Unless generated kernels compute it.
  void addProblem(size_t number, const std::string &reason);
  bool reportProblems(std::string &message) const;

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
  problems += "\nmatrix product " + std::to_string(number);
  if (routine.use.description)
    problems += std::string(" (") + routine.use.description + ")";
  problems += ": " + reason + ", and no kernel was generated";
}

bool CublasLtLibrary::reportProblems(std::string &message) const {
  if (!problems.empty())
    message = "nothing computes" + problems;
  return problems.empty();
}

bool CublasLtLibrary::open(std::string &message) {
  if (!api.start(options.path, *driver, handle, message))
    return false;
  file = std::make_unique<AlgorithmFile>(getVersion(), options.deviceName);
  return true;
}

void CublasLtLibrary::prepareGemm(size_t number, GemmPlanning planning) {
  Routine &routine = routines[number];
  std::string reason = planning.reason;
  if (planning.plan) {
    auto gemm = std::make_unique<CublasLtGemm>(
        api, handle, std::move(*planning.plan), routine.use.alignments);
    if (gemm->describe(reason)) {
      routine.gemm = std::move(gemm);
      return;
    }
  }
  addProblem(number, reason);
}

bool CublasLtLibrary::prepareGemms(const rg_gpu_program &program,
                                   std::string &message) {
  std::vector<GemmPlanning> plannings;
  bool needsLibrary = false, wantsLibrary = false;
  for (size_t i = 0; i < routines.size(); ++i) {
    GemmPlanning &planning =
        plannings.emplace_back(planGemm(program.program->gemms[i]));
    routines[i].isEmpty = planning.plan && planning.plan->getNumCalls() == 0;
    routines[i].hasKernels = hasKernels(program.gemms, i);
    bool isPlanned = planning.plan && !routines[i].isEmpty;
    wantsLibrary |= isPlanned;
    needsLibrary |= isPlanned && !routines[i].hasKernels;
  }
  bool isOpen = wantsLibrary && open(message);
  if (needsLibrary && !isOpen)
    return false;
  for (size_t i = 0; i < routines.size(); ++i) {
    if (!isOpen)
      plannings[i].plan.reset();
    if (!routines[i].isEmpty)
      prepareGemm(i, std::move(plannings[i]));
  }
  return true;
}

bool CublasLtLibrary::prepare(const rg_gpu_program &program,
                              const DriverApi &newDriver,
                              std::string &message) {
  driver = &newDriver;
  for (RoutineUse &use : readRoutineUses(*program.program, RG_OP_GEMM))
    routines.emplace_back().use = std::move(use);
  return prepareGemms(program, message) && reportProblems(message);
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

bool CublasLtLibrary::chooseAlgorithms(const std::string *given,
                                       std::string &message) {
  if (!file)
    return true;
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
    std::string reason;
    switch (chooser.choose(*gemm, reason)) {
    case AlgorithmChooser::Choice::Made:
      workspaceBytes =
          std::max(workspaceBytes, int64_t(gemm->getWorkspaceBytes()));
      break;
    case AlgorithmChooser::Choice::None:
      gemm.reset();
      addProblem(i, reason);
      break;
    case AlgorithmChooser::Choice::Failed:
      message = reason;
      return false;
    }
  }
  return reportProblems(message) &&
         keepAlgorithms(*file, options, given != nullptr, message, note);
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

bool CublasLtLibrary::run(const rg_instruction &instruction,
                          const CuAddress *buffers, CuAddress workspace,
                          CuStream stream, std::string &message) {
  const Routine &routine = routines[static_cast<size_t>(instruction.index)];
  return routine.isEmpty ||
         routine.gemm->run(buffers, workspace, stream, message);
}

std::unique_ptr<DeviceLibrary>
regather::runtime::createGemmLibrary(const DeviceLibraryOptions &options) {
  return std::make_unique<CublasLtLibrary>(options);
}
