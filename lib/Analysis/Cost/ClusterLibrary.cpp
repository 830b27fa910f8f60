//===- ClusterLibrary.cpp - Clusters that come with Regather --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/Cluster.h"
#include "regather/Support/LLVM/MakeFailure.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace regather;

namespace {
struct EmbeddedCluster {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};
} // namespace

// The files of clusters/, by name. CMake makes the list.
static constexpr EmbeddedCluster kClusters[] = {
#include "Clusters.inc"
};

llvm::ArrayRef<llvm::StringRef> regather::getClusterNames() {
  static const std::vector<llvm::StringRef> names = [] {
    std::vector<llvm::StringRef> list;
    for (const EmbeddedCluster &cluster : kClusters)
      list.push_back(cluster.name);
    return list;
  }();
  return names;
}

Result<Cluster> regather::loadCluster(llvm::StringRef nameOrPath) {
  for (const EmbeddedCluster &cluster : kClusters)
    if (nameOrPath == cluster.name)
      return parseCluster(cluster.text, (nameOrPath + ".json").str());
  auto file = llvm::MemoryBuffer::getFile(nameOrPath);
  if (!file)
    return makeFailure("cannot read cluster file '" + nameOrPath +
                       "': " + file.getError().message() +
                       "; clusters known by name are " +
                       llvm::join(getClusterNames(), ", "));
  return parseCluster((*file)->getBuffer(), nameOrPath);
}
