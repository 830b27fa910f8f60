//===- CublasLtLibrary.cpp - Products of matrices by cuBLASLt -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLtProduct.h"
#include "RoutineLibraries.h"
#include "RoutineUses.h"

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
  bool computes(const rg_instruction &instruction) const override;
  int64_t getWorkspaceBytes() const override { return workspaceBytes; }
  bool run(const rg_instruction &instruction, const CuAddress *buffers,
           CuAddress workspace, CuStream stream, std::string &message) override;

private:
  /// What becomes of one product of the program.
  struct Routine {
    RoutineUse use;
    bool isEmpty = false;
    std::unique_ptr<CublasLtProduct> product;
  };

  bool open(std::string &message);
  void prepareProduct(size_t number, ProductPlanning planning, bool hasKernels);
  bool prepareProducts(const rg_gpu_program &program, std::string &message);
  void addProblem(size_t number, const char *description,
                  const std::string &reason);

  DeviceLibraryOptions options;
  CublasLtApi api;
  LtHandle handle = nullptr;
  std::unique_ptr<AlgorithmFile> file;
  std::vector<Routine> routines;
  int64_t workspaceBytes = 0;
  std::string problems;
};
} // namespace

CublasLtLibrary::~CublasLtLibrary() {
  routines.clear();
  if (handle)
    api.cublasLtDestroy(handle);
}

void CublasLtLibrary::addProblem(size_t number, const char *description,
                                 const std::string &reason) {
  problems += problems.empty() ? "" : "\n";
  problems += "matrix product " + std::to_string(number);
  if (description)
    problems += std::string(" (") + description + ")";
  problems += ": " + reason;
}

bool CublasLtLibrary::open(std::string &message) {
  if (!api.load(options.path, message))
    return false;
  LtStatus status = api.cublasLtCreate(&handle);
  if (status != kLtSuccess) {
    message = std::string("cuBLASLt does not start: ") +
              api.cublasLtGetStatusName(status);
    return false;
  }
  file = std::make_unique<AlgorithmFile>("cuBLASLt " + api.getVersion(),
                                         options.deviceName);
  if (!options.algorithmFile.empty())
    file->read(options.algorithmFile);
  return true;
}

void CublasLtLibrary::prepareProduct(size_t number, ProductPlanning planning,
                                     bool hasKernels) {
  Routine &routine = routines[number];
  std::string reason = planning.reason;
  if (planning.plan) {
    auto product = std::make_unique<CublasLtProduct>(
        api, handle, std::move(*planning.plan), routine.use.alignments);
    if (product->prepare(*file, reason)) {
      workspaceBytes =
          std::max(workspaceBytes, int64_t(product->getWorkspaceBytes()));
      routine.product = std::move(product);
      return;
    }
  }
  if (!hasKernels)
    addProblem(number, routine.use.description,
               reason + ", and no kernel was generated");
}

bool CublasLtLibrary::prepareProducts(const rg_gpu_program &program,
                                      std::string &message) {
  std::vector<ProductPlanning> plannings;
  bool needsLibrary = false, wantsLibrary = false;
  for (size_t i = 0; i < routines.size(); ++i) {
    ProductPlanning &planning =
        plannings.emplace_back(planProduct(program.program->gemms[i]));
    routines[i].isEmpty = planning.plan && planning.plan->getNumCalls() == 0;
    bool isPlanned = planning.plan && !routines[i].isEmpty;
    wantsLibrary |= isPlanned;
    needsLibrary |= isPlanned && !hasKernels(program.gemms, i);
  }
  bool isOpen = wantsLibrary && open(message);
  if (needsLibrary && !isOpen)
    return false;
  for (size_t i = 0; i < routines.size(); ++i) {
    if (!isOpen)
      plannings[i].plan.reset();
    if (!routines[i].isEmpty)
      prepareProduct(i, std::move(plannings[i]), hasKernels(program.gemms, i));
  }
  return true;
}

bool CublasLtLibrary::prepare(const rg_gpu_program &program,
                              const DriverApi &driver, std::string &message) {
  for (RoutineUse &use : readRoutineUses(*program.program, RG_OP_GEMM))
    routines.emplace_back().use = std::move(use);
  if (!prepareProducts(program, message))
    return false;
  if (!problems.empty()) {
    message = "nothing computes\n" + problems;
    return false;
  }
  return !file || !file->isChanged() || options.algorithmFile.empty() ||
         file->write(options.algorithmFile, message);
}

bool CublasLtLibrary::computes(const rg_instruction &instruction) const {
  if (instruction.opcode != RG_OP_GEMM)
    return false;
  const Routine &routine = routines[static_cast<size_t>(instruction.index)];
  return routine.isEmpty || routine.product;
}

bool CublasLtLibrary::run(const rg_instruction &instruction,
                          const CuAddress *buffers, CuAddress workspace,
                          CuStream stream, std::string &message) {
  const Routine &routine = routines[static_cast<size_t>(instruction.index)];
  return routine.isEmpty ||
         routine.product->run(buffers, workspace, stream, message);
}

std::unique_ptr<DeviceLibrary>
regather::runtime::createProductLibrary(const DeviceLibraryOptions &options) {
  return std::make_unique<CublasLtLibrary>(options);
}
