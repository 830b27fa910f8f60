//===- regather-tblgen.cpp - Tables of the options of passes --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-tblgen declares a struct of options for each pass. This tool lists the
// fields of these structs with the names and the values that texts have for
// them, so that texts become structs without a second list of options. It lists
// the passes, too, for whatever wants to run any of them.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;

/// Emits, for the struct of one pass, its pass and a visit of all its fields.
static void emitPass(raw_ostream &os, const Record &pass) {
  std::string type = (pass.getName() + "Options").str();
  os << "inline ::llvm::StringRef getPassName(const " << type << " &) {\n"
     << "  return \"" << pass.getValueAsString("argument") << "\";\n}\n"
     << "template <typename VisitorT>\nvoid visitOptions(" << type
     << " &options, VisitorT &&visit) {\n";
  for (const Record *option : pass.getValueAsListOfDefs("options")) {
    os << "  visit(\"" << option->getValueAsString("argument") << "\", options."
       << option->getValueAsString("cppName");
    if (StringRef flags = option->getValueAsString("additionalOptFlags");
        flags.contains("cl::values"))
      os << ", " << flags;
    os << ");\n";
  }
  os << "}\n\n";
}

/// Emits a visit of all passes of the file: by name and, where a pass has
/// options, with their defaults.
static void emitPassList(raw_ostream &os, ArrayRef<const Record *> passes) {
  os << "template <typename VisitorT>\n"
        "void visitPasses(VisitorT &&visit) {\n";
  for (const Record *pass : passes) {
    os << "  visit(\"" << pass->getValueAsString("argument") << '"';
    if (!pass->getValueAsListOfDefs("options").empty())
      os << ", " << pass->getName() << "Options()";
    os << ");\n";
  }
  os << "}\n";
}

static bool emitOptionTables(raw_ostream &os, const RecordKeeper &records) {
  emitSourceFileHeader("Tables of the options of passes", os, records);
  ArrayRef<const Record *> passes =
      records.getAllDerivedDefinitions("PassBase");
  for (const Record *pass : passes)
    if (!pass->getValueAsListOfDefs("options").empty())
      emitPass(os, *pass);
  emitPassList(os, passes);
  return false;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv,
                              "Regather: tables of the options of passes\n");
  return TableGenMain(argv[0], emitOptionTables);
}
