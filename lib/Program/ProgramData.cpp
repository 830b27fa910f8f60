//===- ProgramData.cpp - Tables as constant data --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataEmitter.h"

#include "regather/Program/ProgramTables.h"

using namespace regather;
using llvm::ArrayRef;
using llvm::StringRef;

static llvm::Constant *emitValues(DataEmitter &emitter,
                                  ArrayRef<rg_value> values,
                                  const llvm::Twine &name) {
  DataEmitter::Table<rg_value> table(emitter, values);
  for (const rg_value &value : values) {
    table.set(value.name, emitter.addString(value.name));
    table.set(value.shape, emitter.addNumbers(value.shape, value.rank));
  }
  return table.emit(name);
}

static llvm::Constant *emitConstants(DataEmitter &emitter,
                                     ArrayRef<rg_constant> constants) {
  DataEmitter::Table<rg_constant> table(emitter, constants);
  for (const rg_constant &constant : constants)
    table.set(
        constant.data,
        emitter.addGlobal(StringRef(static_cast<const char *>(constant.data),
                                    static_cast<size_t>(constant.bytes)),
                          {}, "constant"));
  return table.emit("constants");
}

static llvm::Constant *emitKernels(DataEmitter &emitter,
                                   ArrayRef<rg_kernel> kernels,
                                   ArrayRef<llvm::Constant *> functions) {
  DataEmitter::Table<rg_kernel> table(emitter, kernels);
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    table.set(kernel.name, emitter.addString(kernel.name));
    table.set(kernel.function,
              functions.empty() ? emitter.getNull() : functions[i]);
  }
  return table.emit("kernels");
}

static llvm::Constant *emitAxes(DataEmitter &emitter, ArrayRef<rg_axes> axes) {
  DataEmitter::Table<rg_axes> table(emitter, axes);
  for (const rg_axes &entry : axes) {
    table.set(entry.sizes, emitter.addNumbers(entry.sizes, entry.count));
    table.set(entry.strides, emitter.addNumbers(entry.strides, entry.count));
  }
  return table.emit("axes");
}

static llvm::Constant *emitMembers(DataEmitter &emitter,
                                   const rg_collective &collective) {
  ArrayRef<rg_member> members(collective.members, collective.member_count);
  DataEmitter::Table<rg_member> table(emitter, members);
  for (const rg_member &member : members) {
    table.set(member.input_shape,
              emitter.addNumbers(member.input_shape, member.rank));
    table.set(member.output_shape,
              emitter.addNumbers(member.output_shape, member.rank));
  }
  return table.emit("members");
}

static llvm::Constant *
emitCollectives(DataEmitter &emitter,
                ArrayRef<rg_collective_entry> collectives) {
  DataEmitter::Table<rg_collective_entry> table(emitter, collectives);
  for (const rg_collective_entry &entry : collectives) {
    const rg_collective &collective = entry.collective;
    table.set(collective.sources,
              emitter.addNumbers(collective.sources, collective.pair_count));
    table.set(collective.targets,
              emitter.addNumbers(collective.targets, collective.pair_count));
    table.set(collective.members, emitMembers(emitter, collective));
    table.set(collective.name, emitter.addString(collective.name));
  }
  return table.emit("collectives");
}

static llvm::Constant *emitInstructions(DataEmitter &emitter,
                                        ArrayRef<rg_instruction> instructions) {
  DataEmitter::Table<rg_instruction> table(emitter, instructions);
  for (const rg_instruction &instruction : instructions)
    table.set(instruction.description,
              emitter.addString(instruction.description));
  return table.emit("instructions");
}

llvm::GlobalVariable *
ProgramTables::emitProgram(DataEmitter &emitter,
                           ArrayRef<llvm::Constant *> functions) {
  const rg_program &header = get();
  DataEmitter::Table<rg_program> table(emitter, header);
  table.set(header.name, emitter.addString(header.name));
  table.set(header.arguments, emitValues(emitter, arguments, "arguments"));
  table.set(header.results, emitValues(emitter, results, "results"));
  table.set(header.constants, emitConstants(emitter, constants));
  table.set(header.kernels, emitKernels(emitter, kernels, functions));
  table.set(header.gemms,
            DataEmitter::Table<rg_gemm_desc>(emitter, gemms).emit("gemms"));
  table.set(header.attentions,
            DataEmitter::Table<rg_attention_desc>(emitter, attentions)
                .emit("attentions"));
  table.set(header.convolutions,
            DataEmitter::Table<rg_convolution_desc>(emitter, convolutions)
                .emit("convolutions"));
  table.set(header.grouped_gemms,
            DataEmitter::Table<rg_grouped_gemm_desc>(emitter, groupedGemms)
                .emit("grouped_gemms"));
  table.set(header.axes, emitAxes(emitter, axes));
  table.set(header.collectives, emitCollectives(emitter, collectives));
  table.set(header.slices,
            DataEmitter::Table<rg_slice>(emitter, slices).emit("slices"));
  table.set(header.instructions, emitInstructions(emitter, instructions));
  return table.emit("program");
}

void ProgramTables::emit(llvm::Module &module, ArrayRef<std::string> symbols,
                         StringRef symbol) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  llvm::Type *index = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context),
                                       {pointer, index, index, pointer},
                                       /*isVarArg=*/false);
  std::vector<llvm::Constant *> functions;
  for (const std::string &kernel : symbols)
    functions.push_back(llvm::cast<llvm::Constant>(
        module.getOrInsertFunction(kernel, type).getCallee()));
  DataEmitter emitter(module);
  DataEmitter::setName(emitProgram(emitter, functions), symbol);
}
