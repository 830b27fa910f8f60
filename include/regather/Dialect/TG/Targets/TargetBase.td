//===- TargetBase.td - What a record of an operator says ---*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator of the captured framework, such as `aten.add`, has overloads,
// such as `aten.add.Tensor`: the targets of nodes. One `defm` declares an
// operator and the overloads that the project knows:
//
//   defm AtenAdd : Operator<"aten.add", Elementwise, [
//     Overload<["Scalar", "Tensor"], "self other alpha">
//   ], pytorch=Recomputable>;
//
// This gives `NodeOperator::AtenAdd`, `NodeTarget::AtenAddScalar` and
// `NodeTarget::AtenAddTensor` in NodeTargets.h. docs/adding-an-operator.md says
// what else a new operator needs.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_TARGETBASE
#define REGATHER_DIALECT_TG_TARGETS_TARGETBASE

//===----------------------------------------------------------------------===//
// Enumerators of NodeTargets.h, which says what they mean
//===----------------------------------------------------------------------===//

class Cost<string name> {
  string Cpp = "CostClass::" # name;
}
def ViewCost : Cost<"View">;
def ElementsCost : Cost<"Elements">;
def PickCost : Cost<"Pick">;
def GemmCost : Cost<"Gemm">;
def AddedGemmCost : Cost<"AddedGemm">;
def GroupedGemmCost : Cost<"GroupedGemm">;
def FactorizationCost : Cost<"Factorization">;
def TriangularSolveCost : Cost<"TriangularSolve">;
def ConvolutionCost : Cost<"Convolution">;
def ConvolutionBackwardCost : Cost<"ConvolutionBackward">;
def AttentionCost : Cost<"Attention">;
def AttentionBackwardCost : Cost<"AttentionBackward">;

/// A class of operators, with the cost that most of them have, and whether they
/// are expensive.
class Class<string name, Cost cost = ElementsCost, bit expensive = false> {
  string Cpp = "OperatorClass::" # name;
  Cost UsualCost = cost;
  bit IsExpensive = expensive;
}
def Reshape : Class<"Reshape", ViewCost>;
def View : Class<"View", ViewCost>;
def Rearrangement : Class<"Rearrangement">;
def Elementwise : Class<"Elementwise">;
def Reduction : Class<"Reduction">;
def Sorting : Class<"Sorting", ElementsCost, true>;
def Normalization : Class<"Normalization">;
def Loss : Class<"Loss">;
def Pooling : Class<"Pooling">;
def Gemm : Class<"Gemm", GemmCost, true>;
def Convolution : Class<"Convolution", ConvolutionCost, true>;
def Attention : Class<"Attention", AttentionCost, true>;
def Indexing : Class<"Indexing">;
def Constant : Class<"Constant">;
def Random : Class<"Random">;
def ComplexNumbers : Class<"ComplexNumbers">;
def Communication : Class<"Communication">;
def Assertion : Class<"Assertion">;

class PyTorchSet<string name> {
  string Cpp = "PyTorchSet::" # name;
}
def Unlisted : PyTorchSet<"Unlisted">;
def PyTorchView : PyTorchSet<"View">;
def Recomputable : PyTorchSet<"Recomputable">;
def PyTorchRandom : PyTorchSet<"Random">;

class Draw<string name> {
  string Cpp = "RandomDraw::" # name;
}
def NoDraw : Draw<"Nothing">;
def UndefinedDraw : Draw<"Undefined">;
def WordDraw : Draw<"Word">;
def LongDraw : Draw<"Long">;
def SignificandDraw : Draw<"Significand">;

class Lowering<string name> {
  string Cpp = "TargetLowering::" # name;
}
def Built : Lowering<"Built">;
def Expanded : Lowering<"Expanded">;
def Opaque : Lowering<"Opaque">;

class Sharding<string name> {
  string Cpp = "TargetSharding::" # name;
}
def Ruled : Sharding<"Ruled">;
def Whole : Sharding<"Whole">;

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// Of `results`: their number depends on the arguments.
defvar kVarying = -1;
/// Of `sizeDim`: the argument lists all sizes.
defvar kAllDims = -1;

/// Overloads with the same parameters.
/// - parameters: their names in order, separated by spaces.
/// - results: the number of results, or kVarying.
/// - optional: results may be none.
/// - size: the parameter that holds sizes of result 0, of dimension `sizeDim`
///   or of all: a node on a part of the tensors has other sizes there.
/// - lowering: `Built` has a builder in Conversion/TGNodesToLinalg.
/// - sharding: `Ruled` has a rule in Dialect/TG/Sharding.
class Overload<list<string> names, string parameters, int results = 1,
               bit optional = false, string size = "",
               int sizeDim = kAllDims, Lowering lowering = Built,
               Sharding sharding = Ruled> {
  list<string> Names = names;
  string Parameters = parameters;
  int NumResults = results;
  bit HasOptionalResults = optional;
  string SizeParameter = size;
  int SizeDim = sizeDim;
  Lowering HowLowered = lowering;
  Sharding HowSharded = sharding;
  assert !or(!empty(size), !ne(!find(" " # parameters # " ",
                                     " " # size # " "), -1)),
         "no parameter is called \"" # size # "\"";
}

/// The overload `default`.
class Default<string parameters, int results = 1, bit optional = false,
              string size = "", int sizeDim = kAllDims,
              Lowering lowering = Built, Sharding sharding = Ruled>
    : Overload<["default"], parameters, results, optional, size, sizeDim,
               lowering, sharding>;

/// `dim_IntList` -> `DimIntList`.
class CamelCase<string name> {
  string ret = !foldl(
      "_", !range(0, !size(name)), text, i,
      !if(!eq(!substr(text, !sub(!size(text), 1)), "_"),
          !substr(text, 0, !sub(!size(text), 1)) #
              !toupper(!substr(name, i, 1)),
          text # !substr(name, i, 1)));
}

class OperatorRecord<string name, Class kind, Cost cost, PyTorchSet pytorch,
                     Draw draw, bit expensive> {
  string Enumerator = "NodeOperator::" # NAME;
  string Name = name;
  string Class = kind.Cpp;
  string Cost = cost.Cpp;
  string PyTorch = pytorch.Cpp;
  string Draw = draw.Cpp;
  bit IsExpensive = expensive;
}

class TargetRecord<OperatorRecord operator, string overload,
                   Overload properties> {
  string Enumerator = "NodeTarget::" # NAME;
  string Name = operator.Name # "." # overload;
  string Operator = "NodeOperator::" # !cast<string>(operator);
  string Parameters = properties.Parameters;
  string NumResults = !cast<string>(properties.NumResults);
  bit HasOptionalResults = properties.HasOptionalResults;
  string SizeParameter = properties.SizeParameter;
  string SizeDim = !cast<string>(properties.SizeDim);
  string Lowering = properties.HowLowered.Cpp;
  string Sharding = properties.HowSharded.Cpp;
}

/// An operator, named without overload, with the overloads that are known.
/// - pytorch: the set in which PyTorch's partitioner lists it.
/// - draw: how many random bits an element takes.
/// - expensive: saving its results is better than computing them again.
multiclass Operator<string name, Class kind, list<Overload> overloads = [],
                    Cost cost = kind.UsualCost, PyTorchSet pytorch = Unlisted,
                    Draw draw = NoDraw, bit expensive = kind.IsExpensive> {
  def NAME : OperatorRecord<name, kind, cost, pytorch, draw, expensive>;
  foreach group = overloads in
    foreach overload = group.Names in
      def NAME # CamelCase<overload>.ret
          : TargetRecord<!cast<OperatorRecord>(NAME), overload, group>;
}

#endif // REGATHER_DIALECT_TG_TARGETS_TARGETBASE
