//===- DataEmitter.h - Tables as constant data ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each table is copied byte by byte; where it holds a pointer, the address of
// another global stands instead. Host and target are of one kind, so what the
// host's compiler laid out is what the target reads.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_PROGRAM_DATAEMITTER_H
#define REGATHER_LIB_PROGRAM_DATAEMITTER_H

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

#include <cstddef>

namespace regather {

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
    Table(DataEmitter &emitter, llvm::ArrayRef<T> entries)
        : emitter(emitter), entries(entries) {}

    /// `field` is a pointer in one of the entries, behind all that were set
    /// before.
    template <typename P> void set(const P &field, llvm::Constant *value) {
      auto offset = reinterpret_cast<const char *>(&field) - getData();
      pointers.push_back({static_cast<size_t>(offset), value});
    }
    llvm::GlobalVariable *emit(const llvm::Twine &name) {
      return emitter.addGlobal(
          llvm::StringRef(getData(), entries.size() * sizeof(T)), pointers,
          name);
    }

  private:
    const char *getData() const {
      return reinterpret_cast<const char *>(entries.data());
    }
    DataEmitter &emitter;
    llvm::ArrayRef<T> entries;
    std::vector<std::pair<size_t, llvm::Constant *>> pointers;
  };

  /// Null if the table is empty.
  llvm::GlobalVariable *
  addGlobal(llvm::StringRef bytes,
            llvm::ArrayRef<std::pair<size_t, llvm::Constant *>> pointers,
            const llvm::Twine &name);
  llvm::Constant *addString(const char *text) {
    // With the zero at its end.
    return text ? addShared(llvm::StringRef(text, strlen(text) + 1))
                : getNull();
  }
  template <typename T>
  llvm::Constant *addNumbers(const T *numbers, int64_t count) {
    return addShared(llvm::StringRef(reinterpret_cast<const char *>(numbers),
                                     count * sizeof(T)));
  }
  /// Lets other objects find a global.
  static void setName(llvm::GlobalVariable *global, llvm::StringRef name);

  llvm::Constant *getNull() {
    return llvm::ConstantPointerNull::get(
        llvm::cast<llvm::PointerType>(pointerType));
  }

private:
  llvm::Constant *addShared(llvm::StringRef bytes);

  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::Type *byteType;
  llvm::Type *pointerType;
  llvm::StringMap<llvm::Constant *> shared;
};

} // namespace regather

#endif // REGATHER_LIB_PROGRAM_DATAEMITTER_H
