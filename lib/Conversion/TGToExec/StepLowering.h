//===- StepLowering.h - From tensors to buffers, streams and events -*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CONVERSION_TGTOEXEC_STEPLOWERING_H
#define REGATHER_LIB_CONVERSION_TGTOEXEC_STEPLOWERING_H

#include "regather/Dialect/Exec/Analysis/StreamOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

namespace regather {

/// Writes the program of a step, in which `ComputeOutliner` has left only
/// operations that a program has. Slices get no places in memory yet.
class StepLowering {
public:
  StepLowering(mlir::func::FuncOp func, unsigned maxCommStreams);

  /// The program, beside the step and with its name.
  exec::ProgramOp run();

  int64_t getNumCollectives() const { return numCollectives; }
  int64_t getNumInPlace() const { return numInPlace; }
  int64_t getNumTransfers() const { return numTransfers; }

private:
  /// Where a value is to be computed: a part of a flat tensor.
  struct FlatPlace {
    mlir::Value flat;
    int64_t offset = 0;
  };

  void assignStreams();
  void lowerBlock(mlir::Block &block);
  void lowerOp(mlir::Operation *op);
  void lowerLaunch(tg::LaunchOp op);
  void lowerCollective(tg::CollectiveOpInterface op);
  void lowerHostCopy(tg::HostCopyOpInterface op);
  void lowerAxisIndex(tg::AxisIndexOp op);
  void lowerFlatten(tg::FlattenOp op);
  void lowerUnflatten(tg::UnflattenOp op);
  void lowerConstant(mlir::Operation *op);
  void lowerIf(mlir::scf::IfOp op);
  void lowerFor(mlir::scf::ForOp op);
  void lowerRegion(mlir::Region &from, mlir::Region &to,
                   llvm::function_ref<void()> finish);

  void placeFlatMembers(mlir::Block &block);
  /// The value that `value` is a reshape of, if nothing else reads the
  /// reshapes.
  static mlir::Value skipReshapes(mlir::Value value);
  mlir::Value getBuffer(mlir::Value value) { return buffers.lookup(value); }
  llvm::SmallVector<mlir::Value> getBuffers(mlir::ValueRange values);
  mlir::Value createSlice(mlir::Type type, mlir::Location loc);
  /// The buffer that `value` is to be computed in; it becomes its buffer.
  mlir::Value createDestination(mlir::Value value);
  mlir::Value createView(mlir::Value source, int64_t offset, mlir::Type type,
                         mlir::Location loc);
  void createCopy(mlir::Value source, mlir::Value target, mlir::Location loc);
  void copyInParallel(llvm::ArrayRef<mlir::Value> sources,
                      llvm::ArrayRef<mlir::Value> targets, mlir::Location loc);
  bool canReduceInPlace(tg::CollectiveOpInterface op, unsigned member);
  mlir::Value getCommunicator(mlir::FlatSymbolRefAttr mesh, tg::AxesAttr axes,
                              mlir::Location loc);
  /// Keeps the attributes of `from`, but for `tg.saved_results`: programs
  /// compute into buffers and have no results.
  static void copyAttributes(mlir::Operation *from, mlir::Operation *to);
  uint64_t getTag(tg::CollectiveOpInterface op);
  void follow(mlir::Operation *op);

  /// A mesh and axes of it.
  using Group = std::pair<mlir::Attribute, mlir::Attribute>;

  mlir::func::FuncOp func;
  unsigned maxCommStreams;
  mlir::OpBuilder builder;
  exec::ProgramOp program;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  llvm::DenseMap<mlir::Value, FlatPlace> flatPlaces;
  llvm::DenseMap<mlir::Value, exec::StreamOrder::Arrival> arrivals;
  /// The outputs of collectives that were started.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> inFlight;
  llvm::MapVector<Group, mlir::Value> communicators;
  llvm::MapVector<Group, unsigned> streams;
  /// Of copies to the host and back.
  unsigned toHostStream = 0, fromHostStream = 0;
  exec::StreamOrder order;
  /// What each value is a view, a cast or a gathered copy of, and the numbers
  /// of the values of the step that are not.
  llvm::DenseMap<mlir::Value, mlir::Value> roots;
  llvm::DenseMap<mlir::Value, uint64_t> rootNumbers;
  int64_t numCollectives = 0, numInPlace = 0, numTransfers = 0;
};

} // namespace regather

#endif // REGATHER_LIB_CONVERSION_TGTOEXEC_STEPLOWERING_H
