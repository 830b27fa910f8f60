//===- FunctionSyntax.h - Operations that look like functions - -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_FUNCTIONSYNTAX_H
#define REGATHER_DIALECT_TG_IR_FUNCTIONSYNTAX_H

#include "mlir/Interfaces/FunctionImplementation.h"

namespace regather {

/// Parses an operation with FunctionOpInterface, as func.func is written.
template <typename OpT>
mlir::ParseResult parseFunctionLike(mlir::OpAsmParser &parser,
                                    mlir::OperationState &result) {
  auto buildType = [](mlir::Builder &builder, llvm::ArrayRef<mlir::Type> inputs,
                      llvm::ArrayRef<mlir::Type> results,
                      mlir::function_interface_impl::VariadicFlag,
                      std::string &) {
    return builder.getFunctionType(inputs, results);
  };
  llvm::SMLoc loc = parser.getNameLoc();
  if (mlir::function_interface_impl::parseFunctionOp(
          parser, result, /*allowVariadic=*/false,
          OpT::getFunctionTypeAttrName(result.name), buildType,
          OpT::getArgAttrsAttrName(result.name),
          OpT::getResAttrsAttrName(result.name)))
    return mlir::failure();
  // Attributes of the wrong kind would be dropped when the operation is built.
  return OpT::verifyInherentAttrs(result.name, result.attributes, [&] {
    return parser.emitError(loc)
           << "'" << result.name.getStringRef() << "' op ";
  });
}

template <typename OpT>
void printFunctionLike(OpT op, mlir::OpAsmPrinter &printer) {
  mlir::function_interface_impl::printFunctionOp(
      printer, op, /*isVariadic=*/false, op.getFunctionTypeAttrName(),
      op.getArgAttrsAttrName(), op.getResAttrsAttrName());
}

} // namespace regather

#endif // REGATHER_DIALECT_TG_IR_FUNCTIONSYNTAX_H
