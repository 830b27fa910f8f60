//===- ImportFx.h - Read captured training graphs ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_IMPORT_IMPORTFX_H
#define REGATHER_IMPORT_IMPORTFX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace regather {

/// Reads the main buffer of `sourceMgr`, a captured graph as docs/fx-json.md
/// describes it, into a module with one `tg.mesh` for each mesh and one public
/// function @step. Returns null after reporting up to 20 errors, each with the
/// line of the model's source where one is known. Takes time linear in the
/// size of the file.
///
/// The dialects func and tg must be loaded or loadable. The module is not yet
/// verified: shapes of collectives, for example, are left to their verifier.
mlir::OwningOpRef<mlir::ModuleOp> importFx(llvm::SourceMgr &sourceMgr,
                                           mlir::MLIRContext *context);

/// Registers `--import-fx` for mlirTranslateMain.
void registerImportFxTranslation();

} // namespace regather

#endif // REGATHER_IMPORT_IMPORTFX_H
