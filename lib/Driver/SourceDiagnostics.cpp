//===- SourceDiagnostics.cpp - Errors with their source -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/SourceDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/LineIterator.h"

using namespace mlir;
using namespace regather;

/// Characters of a line that is still shown.
static constexpr size_t kLongestLine = 400;

SourceDiagnostics::SourceDiagnostics(llvm::SourceMgr &sources,
                                     MLIRContext *context,
                                     llvm::raw_ostream &os)
    : SourceMgrDiagnosticHandler(sources, context, os) {
  setHandler([this](Diagnostic &diagnostic) { print(diagnostic); });
}

/// True if there is no line to show, or one that can be read.
bool SourceDiagnostics::isLineShort(Location location) {
  auto place = location->findInstanceOf<FileLineColLoc>();
  if (!place)
    return true;
  const llvm::MemoryBuffer *buffer = getBufferForFile(place.getFilename());
  if (!buffer)
    return true;
  llvm::line_iterator line(*buffer, /*SkipBlanks=*/false);
  while (!line.is_at_end() && line.line_number() < place.getLine())
    ++line;
  return line.is_at_end() || line->size() <= kLongestLine;
}

void SourceDiagnostics::printWithoutSource(Diagnostic &diagnostic) {
  emitDiagnostic(diagnostic.getLocation(), diagnostic.str(),
                 diagnostic.getSeverity(), /*displaySourceLine=*/false);
  for (Diagnostic &note : diagnostic.getNotes())
    emitDiagnostic(note.getLocation(), note.str(), note.getSeverity(),
                   /*displaySourceLine=*/false);
}

/// What is about no place in a file.
void SourceDiagnostics::printWithoutPlace(Diagnostic &diagnostic) {
  bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
  os << "regather: " << (isError ? "error: " : "warning: ") << diagnostic.str()
     << '\n';
}

void SourceDiagnostics::print(Diagnostic &diagnostic) {
  if (isa<UnknownLoc>(diagnostic.getLocation()))
    return printWithoutPlace(diagnostic);
  // What is wrong about a file as such is found before it becomes a source.
  bool isShort =
      mgr.getNumBuffers() > 0 && isLineShort(diagnostic.getLocation());
  for (Diagnostic &note : diagnostic.getNotes())
    isShort &= isLineShort(note.getLocation());
  if (isShort)
    emitDiagnostic(diagnostic);
  else
    printWithoutSource(diagnostic);
}
