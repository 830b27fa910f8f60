//===- ClusterReader.cpp - Files of clusters ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "Reader.h"

#include "regather/Analysis/Cost/Cluster.h"

using namespace regather;
using namespace regather::fuzz;

/// What was read is written, read again and written to the same text.
static std::string readClusterBytes(std::string_view bytes) {
  Result<Cluster> cluster = parseCluster({bytes.data(), bytes.size()}, "input");
  if (!cluster)
    return cluster.getMessage();
  (void)cluster->checkRanks(48);
  std::string text = formatCluster(*cluster, "");
  Result<Cluster> again = parseCluster(text, "output");
  if (!again)
    reportFind("what was written cannot be read: " + again.getMessage());
  if (formatCluster(*again, "") != text)
    reportFind("what was written reads as another cluster");
  return std::string();
}

const Reader regather::fuzz::clusterReader = {"cluster", readClusterBytes,
                                              mutateJson};
