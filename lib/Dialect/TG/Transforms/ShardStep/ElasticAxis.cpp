//===- ElasticAxis.cpp - An axis whose ranks decide no bit ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElasticAxis.h"

#include "../ShardParameters/OwnExperts.h"
#include "../TreeSums.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/Transforms/Experts.h"
#include "regather/Support/MeshText.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// Experts of a rank multiply the rows that go to them, and what a token gets
/// from several is added up by rank: the segments of an axis are no leaves.
static LogicalResult verifyNoExperts(func::FuncOp func, StringRef axis) {
  if (axis != "ep")
    return success();
  for (NodeOp node : func.getBody().front().getOps<NodeOp>())
    if (findExperts(node))
      return node.emitError()
             << "option 'elastic-axes' names axis \"ep\", which cuts the "
                "experts of '"
             << node.getTarget()
             << "': what they give a token is added up by the ranks that hold "
                "them";
  return success();
}

FailureOr<AxisSegments>
regather::tg::spmd::readElasticAxis(func::FuncOp func, const DataMesh &whole,
                                    ArrayRef<std::string> texts,
                                    ArrayRef<StringRef> order) {
  AxisSegments elastic;
  if (texts.empty())
    return elastic;
  auto emit = [&] { return emitError(func->getParentOp()->getLoc()); };
  if (texts.size() > 1)
    return emit() << "option 'elastic-axes' expects one axis, because what is "
                     "cut behind it is decided by the sizes that it leaves, "
                     "got "
                  << texts.size();
  auto read = parseMeshAxis(texts.front());
  if (!read || read->second < 1)
    return emit() << "option 'elastic-axes' expects an axis and a number of "
                     "segments, such as tp:4, got \""
                  << texts.front() << '"';
  elastic = {read->first, read->second};
  if (!llvm::is_contained(order, elastic.axis))
    return emit() << "option 'elastic-axes' names axis \"" << elastic.axis
                  << "\", over which the step is not cut";
  if (order.back() != elastic.axis)
    return emit() << "option 'elastic-axes' names axis \"" << elastic.axis
                  << "\", but axis \"" << order.back()
                  << "\" is cut behind it, by the sizes that its ranks leave; "
                     "option 'axes' gives the order";
  int64_t ranks = whole.countRanks(
      AxesAttr::get(func.getContext(), ArrayRef<StringRef>(elastic.axis)));
  if (!holdSubtrees(ranks, elastic.segments))
    return emit() << "option 'elastic-axes' cuts what lies over axis \""
                  << elastic.axis << "\" into " << elastic.segments
                  << " segments, of which " << ranks
                  << " ranks cannot hold equal subtrees: their number has to "
                     "be a power of two that divides the segments, or that of "
                     "the segments";
  if (failed(verifyNoExperts(func, elastic.axis)))
    return failure();
  return elastic;
}

DataMesh regather::tg::spmd::getSearchMesh(const DataMesh &axisMesh) {
  DataMesh mesh = axisMesh;
  if (!mesh.segments)
    return mesh;
  mesh.shardRanks = mesh.segments;
  mesh.segments = 0;
  for (auto [name, size] : llvm::zip_equal(mesh.axes.getNames(), mesh.sizes))
    if (llvm::is_contained(mesh.shardAxes.getNames(), name))
      size = mesh.shardRanks;
  return mesh;
}

void regather::tg::spmd::markElasticAxis(func::FuncOp func,
                                         const AxisSegments &elastic) {
  if (elastic.axis.empty())
    return;
  Builder builder(func.getContext());
  func->setAttr(
      kModelSegmentsAttrName,
      builder.getDictionaryAttr(builder.getNamedAttr(
          elastic.axis, builder.getI64IntegerAttr(elastic.segments))));
}
