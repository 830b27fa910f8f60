//===- PrintBundleRun.cpp - A run of a bundle -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Bundle/PrintBundleRun.h"

#include "regather/Execution/Training/RunJob.h"

using namespace regather;

int regather::printBundleRun(const RunOptions &options, BundleOptions bundle,
                             Progress &progress) {
  bundle.reportNote = [&](const std::string &note) { progress.note(note); };
  std::shared_ptr<MpiJob> job = bundle.job;
  if (job && job->getRank() != 0)
    progress.silence();
  Result<RunSubject> subject =
      describeBundle(options.file, std::move(bundle),
                     [](const std::string &message) { printError(message); });
  if (!subject)
    return printJobError(job.get(), subject.getFailure());
  return finishJob(job.get(), printRun(options, *subject, progress));
}
