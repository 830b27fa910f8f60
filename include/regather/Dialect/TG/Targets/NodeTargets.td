//===- NodeTargets.td - All operators and targets ----------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The source of NodeTargets.inc, which NodeTargets.h and NodeTargets.cpp of
// Dialect/TG/Targets include.
//
//===----------------------------------------------------------------------===//

include "llvm/TableGen/SearchableTable.td"

include "regather/Dialect/TG/Targets/Attention.td"
include "regather/Dialect/TG/Targets/ComplexNumbers.td"
include "regather/Dialect/TG/Targets/Constants.td"
include "regather/Dialect/TG/Targets/Effects.td"
include "regather/Dialect/TG/Targets/Elementwise.td"
include "regather/Dialect/TG/Targets/Indexing.td"
include "regather/Dialect/TG/Targets/Losses.td"
include "regather/Dialect/TG/Targets/Normalizations.td"
include "regather/Dialect/TG/Targets/Pooling.td"
include "regather/Dialect/TG/Targets/Contractions.td"
include "regather/Dialect/TG/Targets/PyTorchOnly.td"
include "regather/Dialect/TG/Targets/Random.td"
include "regather/Dialect/TG/Targets/Rearrangements.td"
include "regather/Dialect/TG/Targets/Reductions.td"
include "regather/Dialect/TG/Targets/Views.td"

def NodeOperator : GenericEnum {
  let FilterClass = "OperatorRecord";
}

def NodeTarget : GenericEnum {
  let FilterClass = "TargetRecord";
}

def kOperators : GenericTable {
  let FilterClass = "OperatorRecord";
  let CppTypeName = "NodeOperatorInfo";
  let Fields = ["Enumerator", "Name", "Class", "Cost", "PyTorch", "Draw",
                "IsExpensive"];
  string TypeOf_Enumerator = "code";
  string TypeOf_Class = "code";
  string TypeOf_Cost = "code";
  string TypeOf_PyTorch = "code";
  string TypeOf_Draw = "code";
}

def kTargets : GenericTable {
  let FilterClass = "TargetRecord";
  let CppTypeName = "NodeTargetInfo";
  let Fields = ["Enumerator", "Name", "Operator", "Parameters", "NumResults",
                "HasOptionalResults", "SizeParameter", "SizeDim", "Lowering",
                "Sharding"];
  string TypeOf_Enumerator = "code";
  string TypeOf_Operator = "code";
  string TypeOf_NumResults = "code";
  string TypeOf_SizeDim = "code";
  string TypeOf_Lowering = "code";
  string TypeOf_Sharding = "code";
}

