//===- ModulesText.cpp - Modules as a table -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/DescribeModules.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

/// Three digits and a letter: 1.23G.
static std::string formatNumber(double number) {
  StringRef letters = " kMGTPEZ";
  while (number >= 999.5 && letters.size() > 1) {
    number /= 1000;
    letters = letters.drop_front();
  }
  if (letters.front() == ' ')
    return llvm::formatv("{0}", static_cast<int64_t>(number));
  int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  std::string text = digits == 2   ? llvm::formatv("{0:f2}", number).str()
                     : digits == 1 ? llvm::formatv("{0:f1}", number).str()
                                   : llvm::formatv("{0:f0}", number).str();
  return text + letters.front();
}

namespace {
/// Writes lines of the tree under a heading of those phases that have
/// something.
class TextTree {
public:
  TextTree(const ModuleDescription &description, unsigned depth, bool folds)
      : tree(description.tree), tops(description.tops), depth(depth),
        folds(folds), hasSeconds(!description.cluster.empty()) {}

  void write(llvm::raw_ostream &os);

private:
  struct Line {
    std::string name;
    ModuleSummary sum;
  };

  void add(const ModuleRun &run, const std::string &name, unsigned indent);
  void writeHeading(llvm::raw_ostream &os, size_t width) const;
  void writeLine(llvm::raw_ostream &os, const Line &line, size_t width) const;

  const ModuleTree &tree;
  ArrayRef<unsigned> tops;
  unsigned depth;
  bool folds;
  bool hasSeconds;
  std::vector<Line> lines;
  std::vector<unsigned> columns;
};
} // namespace

/// Recursive, as deep as names are nested.
void TextTree::add(const ModuleRun &run, const std::string &name,
                   unsigned indent) {
  Line line{std::string(2 * indent, ' ') + name, {}};
  // Modules that are alike have equal children, each of which stands for all.
  for (unsigned module : run.modules)
    line.sum += tree.getSummary(module);
  lines.push_back(std::move(line));
  if (indent >= depth)
    return;
  const ModuleNames &names = tree.getNames();
  auto areAlike = [&](unsigned first, unsigned second) {
    return folds && tree.areAlike(first, second);
  };
  // Runs go through the children in order, so that those of equal modules are
  // at the same places.
  size_t place = 0;
  for (ModuleRun &inner : foldChildren(names, run.modules.front(), areAlike)) {
    ModuleRun all{inner.name, {}};
    for (size_t end = place + inner.modules.size(); place < end; ++place)
      for (unsigned module : run.modules)
        all.modules.push_back(names.getChildren(module)[place]);
    add(all, all.name, indent + 1);
  }
}

void TextTree::writeHeading(llvm::raw_ostream &os, size_t width) const {
  std::string phases, columnNames;
  llvm::raw_string_ostream upper(phases), lower(columnNames);
  upper << llvm::left_justify("", width)
        << llvm::left_justify("  parameters", 22);
  lower << llvm::left_justify("module", width)
        << llvm::formatv("{0,12}{1,10}", "bytes", "per rank");
  for (unsigned column : columns) {
    upper << "  "
          << llvm::left_justify(getPhaseColumnName(column),
                                hasSeconds ? 51 : 31);
    lower << llvm::formatv("{0,8}{1,8}{2,7}{3,10}", "ops", "flops", "coll.",
                           "received");
    if (hasSeconds)
      lower << llvm::formatv("{0,10}{1,10}", "compute", "comm.");
  }
  os << StringRef(phases).rtrim() << '\n' << columnNames << '\n';
}

void TextTree::writeLine(llvm::raw_ostream &os, const Line &line,
                         size_t width) const {
  const ModuleSummary &sum = line.sum;
  os << llvm::left_justify(line.name, width)
     << llvm::formatv(
            "{0,12}{1,10}",
            formatNumber(static_cast<double>(sum.parameters.bytes)),
            formatNumber(static_cast<double>(sum.parameters.bytesPerRank)));
  for (unsigned column : columns) {
    const ModuleWork &work = sum.work[column];
    os << llvm::formatv("{0,8}{1,8}{2,7}{3,10}",
                        formatNumber(static_cast<double>(work.ops)),
                        formatNumber(work.flops), work.getNumCollectives(),
                        formatNumber(static_cast<double>(work.receivedBytes)));
    if (hasSeconds)
      os << llvm::formatv("{0,8:f2}ms{1,8:f2}ms", work.computeSeconds * 1e3,
                          work.collectiveSeconds * 1e3);
  }
  os << '\n';
}

void TextTree::write(llvm::raw_ostream &os) {
  for (unsigned top : tops)
    add({"", {top}}, top == 0 ? "model" : tree.getNames().getPath(top), 0);
  for (unsigned column = 0; column < kNumPhaseColumns; ++column)
    if (llvm::any_of(lines, [&](const Line &line) {
          return line.sum.work[column].ops > 0;
        }))
      columns.push_back(column);
  size_t width = StringRef("module").size();
  for (const Line &line : lines)
    width = std::max(width, line.name.size());
  writeHeading(os, width);
  for (const Line &line : lines)
    writeLine(os, line, width);
}

std::string regather::formatText(const ModuleDescription &description,
                                 unsigned depth, bool folds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  TextTree(description, depth, folds).write(os);
  return text;
}
