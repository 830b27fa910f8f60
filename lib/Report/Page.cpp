//===- Page.cpp - A report as a page --------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Format.h"
#include "Sections.h"
#include "Style.h"

#include "regather/Report/RenderReport.h"
#include "regather/Timeline/WriteTimeline.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace regather::report;

llvm::ArrayRef<Section> regather::report::getSections() {
  static constexpr Section sections[] = {
      {"timeline", "Timeline", writeTimeline},
      {"advice", "What would help", writeAdvice},
      {"buckets", "Units and buckets", writeBuckets},
      {"memory", "Memory over the program", writeMemory},
      {"parameters", "Gathered parameters", writeParameters},
      {"saved", "Saved for backward", writeSaved},
      {"recomputed", "Computed again in backward", writeRecomputed},
      {"collectives", "Communication", writeCollectives}};
  return sections;
}

static void writeChip(llvm::raw_ostream &os, llvm::StringRef label,
                      llvm::StringRef value) {
  if (!value.empty())
    os << "<span>" << label << ' ' << escape(value) << "</span>\n";
}

static void writeHeader(llvm::raw_ostream &os, const StepReport &report) {
  const Overview &step = report.overview;
  const Request &request = report.request;
  os << "<header><h1>" << escape(llvm::sys::path::filename(step.file))
     << "</h1>\n<div class=\"chips\">\n";
  writeChip(os, "function", step.entry);
  writeChip(os, "mesh", step.mesh);
  writeChip(os, "ranks", formatCount(step.ranks));
  writeChip(os, "operations", formatCount(step.ops));
  writeChip(os, "arithmetic of a rank", formatFlops(step.flops));
  writeChip(os, "batch", request.batch);
  writeChip(os, "attention by blocks", request.attention);
  writeChip(os, "blocks of rows", request.chunk);
  writeChip(os, "policy", request.policy);
  writeChip(os, "reshard", request.reshard);
  writeChip(os, "recompute", request.recompute);
  writeChip(os, "on the host", request.offload);
  writeChip(os, "buckets", request.bucket);
  writeChip(os, "schedule", request.schedule);
  writeChip(os, "optimizer", request.optimizer);
  os << "</div></header>\n<nav>";
  for (const Section &section : getSections())
    os << "<a href=\"#" << section.id << "\">" << escape(section.title)
       << "</a>\n";
  os << "</nav>\n";
}

std::string regather::report::renderHtml(const StepReport &report) {
  std::string page;
  llvm::raw_string_ostream os(page);
  os << "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">"
        "\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n<title>"
     << escape(llvm::sys::path::filename(report.overview.file))
     << ": step report</title>\n<style>" << kStyle << getTimelineStyle()
     << "</style>\n</head>\n<body>\n";
  writeHeader(os, report);
  writeSummary(os, report);
  for (const Section &section : getSections()) {
    os << "<section id=\"" << section.id << "\">\n<h2>" << escape(section.title)
       << "</h2>\n";
    section.write(os, report);
    os << "</section>\n";
  }
  os << "<footer>Bytes are those of one rank; kB, MB and GB are powers of "
        "1,000. FLOP counts a multiplication and an addition as two. Written "
        "by "
        "<code>regather report</code>.</footer>\n<script>"
     << kScript << getTimelineScript() << "</script>\n</body>\n</html>\n";
  return page;
}
