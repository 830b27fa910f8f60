//===- ProgramData.cpp - Tables as constant data --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Each table is copied byte by byte; where it holds a pointer, the address of
// another global stands instead. Host and target are of one kind, so what the
// host's compiler laid out is what the target reads.
//
//===----------------------------------------------------------------------===//

#include "regather/Target/Program/ProgramTables.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"

#include <cstddef>

using namespace regather;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {
/// Adds constants to a module; equal names and shapes share one.
class DataEmitter {
public:
  explicit DataEmitter(llvm::Module &module)
      : module(module), context(module.getContext()),
        byteType(llvm::Type::getInt8Ty(context)),
        pointerType(llvm::PointerType::getUnqual(context)) {}

  /// A table in which pointers are set one after the other.
  template <typename T> class Table {
  public:
    Table(DataEmitter &emitter, ArrayRef<T> entries)
        : emitter(emitter), entries(entries) {}

    /// `field` is a pointer in one of the entries, behind all that were set
    /// before.
    template <typename P> void set(const P &field, llvm::Constant *value) {
      auto offset = reinterpret_cast<const char *>(&field) - getData();
      pointers.push_back({static_cast<size_t>(offset), value});
    }
    llvm::Constant *emit(const llvm::Twine &name) {
      return emitter.addGlobal(StringRef(getData(), entries.size() * sizeof(T)),
                               pointers, name);
    }

  private:
    const char *getData() const {
      return reinterpret_cast<const char *>(entries.data());
    }
    DataEmitter &emitter;
    ArrayRef<T> entries;
    std::vector<std::pair<size_t, llvm::Constant *>> pointers;
  };

  /// Null if the table is empty.
  llvm::GlobalVariable *
  addGlobal(StringRef bytes,
            ArrayRef<std::pair<size_t, llvm::Constant *>> pointers,
            const llvm::Twine &name);
  llvm::Constant *addString(const char *text) {
    // With the zero at its end.
    return text ? addShared(StringRef(text, strlen(text) + 1)) : getNull();
  }
  template <typename T>
  llvm::Constant *addNumbers(const T *numbers, int64_t count) {
    return addShared(
        StringRef(reinterpret_cast<const char *>(numbers), count * sizeof(T)));
  }
  llvm::Constant *getNull() {
    return llvm::ConstantPointerNull::get(
        llvm::cast<llvm::PointerType>(pointerType));
  }

private:
  llvm::Constant *addShared(StringRef bytes);

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::Type *byteType;
  llvm::Type *pointerType;
  llvm::StringMap<llvm::Constant *> shared;
};
} // namespace

llvm::GlobalVariable *
DataEmitter::addGlobal(StringRef bytes,
                       ArrayRef<std::pair<size_t, llvm::Constant *>> pointers,
                       const llvm::Twine &name) {
  std::vector<llvm::Constant *> parts;
  size_t position = 0;
  auto addBytes = [&](size_t end) {
    if (end > position)
      parts.push_back(llvm::ConstantDataArray::getString(
          context, bytes.slice(position, end), /*AddNull=*/false));
  };
  for (auto [offset, value] : pointers) {
    addBytes(offset);
    parts.push_back(value);
    position = offset + sizeof(void *);
  }
  addBytes(bytes.size());
  llvm::Constant *contents =
      llvm::ConstantStruct::getAnon(context, parts, /*Packed=*/true);
  auto *global = new llvm::GlobalVariable(
      module, contents->getType(), /*isConstant=*/true,
      llvm::GlobalValue::PrivateLinkage, contents, name);
  global->setAlignment(llvm::Align(64));
  return global;
}

llvm::Constant *DataEmitter::addShared(StringRef bytes) {
  llvm::Constant *&constant = shared[bytes];
  if (!constant) {
    llvm::GlobalVariable *global = addGlobal(bytes, {}, "data");
    global->setAlignment(llvm::Align(8));
    constant = global;
  }
  return constant;
}

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

static llvm::Constant *emitKernels(DataEmitter &emitter, llvm::Module &module,
                                   ArrayRef<rg_kernel> kernels,
                                   ArrayRef<std::string> symbols) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  llvm::Type *index = llvm::Type::getInt64Ty(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context),
                                       {pointer, index, index, pointer},
                                       /*isVarArg=*/false);
  DataEmitter::Table<rg_kernel> table(emitter, kernels);
  for (auto [kernel, symbol] : llvm::zip(kernels, symbols)) {
    auto callee = module.getOrInsertFunction(symbol, type);
    table.set(kernel.name, emitter.addString(kernel.name));
    table.set(kernel.function, llvm::cast<llvm::Constant>(callee.getCallee()));
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

static llvm::Constant *emitTransfers(DataEmitter &emitter,
                                     ArrayRef<rg_transfer> transfers) {
  DataEmitter::Table<rg_transfer> table(emitter, transfers);
  for (const rg_transfer &transfer : transfers) {
    const rg_collective &collective = transfer.collective;
    table.set(collective.sources,
              emitter.addNumbers(collective.sources, collective.pair_count));
    table.set(collective.targets,
              emitter.addNumbers(collective.targets, collective.pair_count));
    table.set(collective.members, emitMembers(emitter, collective));
    table.set(collective.name, emitter.addString(collective.name));
  }
  return table.emit("transfers");
}

static llvm::Constant *emitInstructions(DataEmitter &emitter,
                                        ArrayRef<rg_instruction> instructions) {
  DataEmitter::Table<rg_instruction> table(emitter, instructions);
  for (const rg_instruction &instruction : instructions)
    table.set(instruction.description,
              emitter.addString(instruction.description));
  return table.emit("instructions");
}

void ProgramTables::emit(llvm::Module &module, ArrayRef<std::string> symbols) {
  const rg_program &header = get();
  DataEmitter emitter(module);
  DataEmitter::Table<rg_program> table(emitter, header);
  table.set(header.name, emitter.addString(header.name));
  table.set(header.arguments, emitValues(emitter, arguments, "arguments"));
  table.set(header.results, emitValues(emitter, results, "results"));
  table.set(header.constants, emitConstants(emitter, constants));
  table.set(header.kernels, emitKernels(emitter, module, kernels, symbols));
  table.set(header.gemms,
            DataEmitter::Table<rg_gemm_desc>(emitter, gemms).emit("gemms"));
  table.set(header.attentions,
            DataEmitter::Table<rg_attention_desc>(emitter, attentions)
                .emit("attentions"));
  table.set(header.axes, emitAxes(emitter, axes));
  table.set(header.transfers, emitTransfers(emitter, transfers));
  table.set(header.places,
            DataEmitter::Table<rg_place>(emitter, places).emit("places"));
  table.set(header.instructions, emitInstructions(emitter, instructions));
  auto *global = llvm::cast<llvm::GlobalVariable>(table.emit("program"));
  global->setName(RG_PROGRAM_SYMBOL);
  global->setLinkage(llvm::GlobalValue::ExternalLinkage);
}
