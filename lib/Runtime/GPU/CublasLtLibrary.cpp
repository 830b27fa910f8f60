//===- CublasLtLibrary.cpp - Routines of libraries on devices -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLtProduct.h"
#include "DeviceLibrary.h"

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
    /// Over all instructions with it, in bytes by buffer.
    std::vector<int64_t> alignments;
    /// Where it is used first; may be null.
    const char *description = nullptr;
    bool isEmpty = false;
    std::unique_ptr<CublasLtProduct> product;
  };

  void readInstructions(const rg_program &program);
  bool open(std::string &message);
  void prepareProduct(size_t number, ProductPlanning planning, bool hasKernels);
  bool prepareProducts(const rg_gpu_program &program, std::string &message);
  void addProblem(const char *what, size_t number, const char *description,
                  const std::string &reason);

  DeviceLibraryOptions options;
  CublasLtApi api;
  LtHandle handle = nullptr;
  std::unique_ptr<AlgorithmFile> file;
  std::vector<Routine> routines;
  std::vector<const char *> attentionDescriptions;
  int64_t workspaceBytes = 0;
  std::string problems;
};
} // namespace

/// Arenas, arguments and constants begin at multiples of it.
static constexpr int64_t kBufferAlignment = 256;

CublasLtLibrary::~CublasLtLibrary() {
  routines.clear();
  if (handle)
    api.cublasLtDestroy(handle);
}

/// Collects where each routine is used and how its buffers are aligned.
void CublasLtLibrary::readInstructions(const rg_program &program) {
  routines.resize(static_cast<size_t>(program.gemm_count));
  attentionDescriptions.resize(static_cast<size_t>(program.attention_count));
  for (int64_t i = 0; i < program.instruction_count; ++i) {
    const rg_instruction &instruction = program.instructions[i];
    auto index = static_cast<size_t>(instruction.index);
    if (instruction.opcode == RG_OP_ATTENTION && !attentionDescriptions[index])
      attentionDescriptions[index] = instruction.description;
    if (instruction.opcode != RG_OP_GEMM)
      continue;
    Routine &routine = routines[index];
    if (!routine.description)
      routine.description = instruction.description;
    auto count = static_cast<size_t>(instruction.place_count);
    if (routine.alignments.size() < count)
      routine.alignments.resize(count, kBufferAlignment);
    for (size_t p = 0; p < count; ++p) {
      int64_t offset =
          program.places[instruction.first_place + int64_t(p)].offset |
          routine.alignments[p];
      routine.alignments[p] = offset & -offset;
    }
  }
}

void CublasLtLibrary::addProblem(const char *what, size_t number,
                                 const char *description,
                                 const std::string &reason) {
  problems += problems.empty() ? "" : "\n";
  problems += what + (' ' + std::to_string(number));
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

static bool hasKernels(const rg_gpu_kernel *kernels, size_t number) {
  return kernels && kernels[number].launch_count > 0;
}

void CublasLtLibrary::prepareProduct(size_t number, ProductPlanning planning,
                                     bool hasKernels) {
  Routine &routine = routines[number];
  std::string reason = planning.reason;
  if (planning.plan) {
    auto product = std::make_unique<CublasLtProduct>(
        api, handle, std::move(*planning.plan), routine.alignments);
    if (product->prepare(*file, reason)) {
      workspaceBytes =
          std::max(workspaceBytes, int64_t(product->getWorkspaceBytes()));
      routine.product = std::move(product);
      return;
    }
  }
  if (!hasKernels)
    addProblem("matrix product", number, routine.description,
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
  readInstructions(*program.program);
  if (!prepareProducts(program, message))
    return false;
  for (size_t i = 0; i < attentionDescriptions.size(); ++i)
    if (!hasKernels(program.attentions, i))
      addProblem("attention", i, attentionDescriptions[i],
                 "no kernel was generated");
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
regather::runtime::createDeviceLibrary(const DeviceLibraryOptions &options) {
  return std::make_unique<CublasLtLibrary>(options);
}
