//===- TG.h - The tg dialect ------------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations, attributes, types and interfaces of the tg dialect. See
// TGBase.td for what the dialect means.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TG_H
#define REGATHER_DIALECT_TG_IR_TG_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "regather/Dialect/TG/IR/ShardingRule.h"
#include "regather/Support/MeshRanks.h"

#include "regather/Dialect/TG/IR/TGDialect.h.inc"
#include "regather/Dialect/TG/IR/TGEnums.h.inc"

#include "regather/Dialect/TG/IR/TGAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "regather/Dialect/TG/IR/TGAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "regather/Dialect/TG/IR/TGTypes.h.inc"

#include "regather/Dialect/TG/IR/TGInterfaces.h.inc"

#define GET_OP_CLASSES
#include "regather/Dialect/TG/IR/TGOps.h.inc"

namespace regather::tg {

/// Names of the discardable attributes; TGBase.td lists their meaning.
inline constexpr llvm::StringLiteral kPhaseAttrName = "tg.phase";
inline constexpr llvm::StringLiteral kModuleAttrName = "tg.module";
inline constexpr llvm::StringLiteral kPolicyAttrName = "tg.policy";
inline constexpr llvm::StringLiteral kSavedResultsAttrName = "tg.saved_results";
inline constexpr llvm::StringLiteral kIdAttrName = "tg.id";
inline constexpr llvm::StringLiteral kBucketAttrName = "tg.bucket";
inline constexpr llvm::StringLiteral kRoleAttrName = "tg.role";
inline constexpr llvm::StringLiteral kNameAttrName = "tg.name";
inline constexpr llvm::StringLiteral kAliasesAttrName = "tg.aliases";
inline constexpr llvm::StringLiteral kRegistrationAttrName = "tg.registration";
inline constexpr llvm::StringLiteral kMembersAttrName = "tg.members";
inline constexpr llvm::StringLiteral kPlacementAttrName = "tg.placement";
inline constexpr llvm::StringLiteral kPlannedPlacementAttrName =
    "tg.planned_placement";
inline constexpr llvm::StringLiteral kDonatedAttrName = "tg.donated";
inline constexpr llvm::StringLiteral kReshardAttrName = "tg.reshard";
inline constexpr llvm::StringLiteral kRowsAttrName = "tg.rows";

/// Reads and writes a list of axes as operations show it: `[dp, tp]`.
mlir::ParseResult parseAxisList(mlir::AsmParser &parser, AxesAttr &axes);
void printAxisList(mlir::AsmPrinter &printer, AxesAttr axes);

/// The mesh that `symbol` names as seen from `from`; null if there is none.
/// Scans one symbol table.
MeshOp lookupMesh(mlir::Operation *from, mlir::FlatSymbolRefAttr symbol);

/// The mesh that `symbol` names; an error at `op` if there is none or if it
/// lacks one of `axes`.
llvm::FailureOr<MeshOp> verifyMeshAndAxes(mlir::Operation *op,
                                          mlir::FlatSymbolRefAttr symbol,
                                          AxesAttr axes,
                                          mlir::SymbolTableCollection &tables);

/// The phase of `op`: of the collective, or its `tg.phase`; nothing if
/// unmarked.
std::optional<Phase> getPhase(mlir::Operation *op);

/// The wait for the future of `op`; null if there is none.
WaitOp getWait(CollectiveOpInterface op);

/// Rebuilds a collective and its wait with the members in `kept` alone, and
/// returns the new wait. There is a wait, and nothing reads the other members.
WaitOp keepMembers(CollectiveOpInterface op, llvm::ArrayRef<unsigned> kept,
                   mlir::RewriterBase &rewriter);

/// True for a tensor that lies in memory of the host.
bool isOnHost(mlir::Type type);
/// The same tensor on the host, or on the device.
mlir::RankedTensorType getHostType(mlir::RankedTensorType type);
mlir::RankedTensorType getDeviceType(mlir::RankedTensorType type);

/// The wait for a future; null if there is none.
WaitOp getFutureWait(mlir::TypedValue<FutureType> future);

/// Size of a tensor in bytes; i1 elements take one byte. The shape is static.
int64_t getTensorBytes(mlir::RankedTensorType type);

/// Sum over the tensors of static shape among the types.
int64_t getTensorBytes(mlir::TypeRange types);

using regather::getShardSize;

/// The shape of the global tensor of which `local` is one rank's part, or
/// failure when the placement does not fit the shape (see `verifyPlacement`).
llvm::FailureOr<llvm::SmallVector<int64_t>>
getGlobalShape(PlacementAttr placement, mlir::RankedTensorType local,
               MeshOp mesh);

/// Checks a placement against a local tensor type and its mesh: axes exist and
/// occur once, dimensions exist, and the global shape gives the local one.
llvm::LogicalResult
verifyPlacement(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                PlacementAttr placement, mlir::RankedTensorType local,
                MeshOp mesh);

/// What one execution of an operation costs. See CostOpInterface for units.
struct OpCost {
  double flops = 0;
  int64_t readBytes = 0;
  int64_t writtenBytes = 0;
  bool view = false;
};

/// Asks the interface; without one, operands are read and results written once.
OpCost getOpCost(mlir::Operation *op);

/// Gives the structured ops of linalg, and the views of tensor, a
/// CostOpInterface.
void registerCostExternalModels(mlir::DialectRegistry &registry);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_TG_H
