//===- PyTorchOnly.td - Listed by PyTorch alone ------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elementwise operators of which the project knows no overload. PyTorch's
// partitioner may compute them again.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TARGETS_PYTORCHONLY
#define REGATHER_DIALECT_TG_TARGETS_PYTORCHONLY

include "regather/Dialect/TG/Targets/TargetBase.td"

/// An operator in PyTorch's list of what is cheap to compute again.
multiclass RecomputableOperator<string name>
    : Operator<name, Elementwise, [], pytorch=Recomputable>;

defm AtenAndMethod : RecomputableOperator<"aten.__and__">;
defm AtenCelu : RecomputableOperator<"aten.celu">;
defm AtenClip : RecomputableOperator<"aten.clip">;
defm AtenDeg2rad : RecomputableOperator<"aten.deg2rad">;
defm AtenDigamma : RecomputableOperator<"aten.digamma">;
defm AtenErfinv : RecomputableOperator<"aten.erfinv">;
defm AtenFloatPower : RecomputableOperator<"aten.float_power">;
defm AtenFrexp : RecomputableOperator<"aten.frexp">;
defm AtenGcd : RecomputableOperator<"aten.gcd">;
defm AtenHardshrink : RecomputableOperator<"aten.hardshrink">;
defm AtenHeaviside : RecomputableOperator<"aten.heaviside">;
defm AtenI0 : RecomputableOperator<"aten.i0">;
defm AtenIgamma : RecomputableOperator<"aten.igamma">;
defm AtenIgammac : RecomputableOperator<"aten.igammac">;
defm AtenIsneginf : RecomputableOperator<"aten.isneginf">;
defm AtenIsposinf : RecomputableOperator<"aten.isposinf">;
defm AtenLcm : RecomputableOperator<"aten.lcm">;
defm AtenLdexp : RecomputableOperator<"aten.ldexp">;
defm AtenLgamma : RecomputableOperator<"aten.lgamma">;
defm AtenLogaddexp : RecomputableOperator<"aten.logaddexp">;
defm AtenLogaddexp2 : RecomputableOperator<"aten.logaddexp2">;
defm AtenMvlgamma : RecomputableOperator<"aten.mvlgamma">;
defm AtenNextafter : RecomputableOperator<"aten.nextafter">;
defm AtenOrMethod : RecomputableOperator<"aten.__or__">;
defm AtenPolygamma : RecomputableOperator<"aten.polygamma">;
defm AtenPositive : RecomputableOperator<"aten.positive">;
defm AtenRad2deg : RecomputableOperator<"aten.rad2deg">;
defm AtenRrelu : RecomputableOperator<"aten.rrelu">;
defm AtenSelu : RecomputableOperator<"aten.selu">;
defm AtenSinc : RecomputableOperator<"aten.sinc">;
defm AtenSoftshrink : RecomputableOperator<"aten.softshrink">;
defm AtenSpecialAiryAi : RecomputableOperator<"aten.special_airy_ai">;
defm AtenSpecialBesselJ0 : RecomputableOperator<"aten.special_bessel_j0">;
defm AtenSpecialBesselJ1 : RecomputableOperator<"aten.special_bessel_j1">;
defm AtenSpecialBesselY0 : RecomputableOperator<"aten.special_bessel_y0">;
defm AtenSpecialBesselY1 : RecomputableOperator<"aten.special_bessel_y1">;
defm AtenSpecialChebyshevPolynomialT
    : RecomputableOperator<"aten.special_chebyshev_polynomial_t">;
defm AtenSpecialChebyshevPolynomialU
    : RecomputableOperator<"aten.special_chebyshev_polynomial_u">;
defm AtenSpecialChebyshevPolynomialV
    : RecomputableOperator<"aten.special_chebyshev_polynomial_v">;
defm AtenSpecialChebyshevPolynomialW
    : RecomputableOperator<"aten.special_chebyshev_polynomial_w">;
defm AtenSpecialEntr : RecomputableOperator<"aten.special_entr">;
defm AtenSpecialErfcx : RecomputableOperator<"aten.special_erfcx">;
defm AtenSpecialHermitePolynomialH
    : RecomputableOperator<"aten.special_hermite_polynomial_h">;
defm AtenSpecialHermitePolynomialHe
    : RecomputableOperator<"aten.special_hermite_polynomial_he">;
defm AtenSpecialI0e : RecomputableOperator<"aten.special_i0e">;
defm AtenSpecialI1 : RecomputableOperator<"aten.special_i1">;
defm AtenSpecialI1e : RecomputableOperator<"aten.special_i1e">;
defm AtenSpecialLaguerrePolynomialL
    : RecomputableOperator<"aten.special_laguerre_polynomial_l">;
defm AtenSpecialLegendrePolynomialP
    : RecomputableOperator<"aten.special_legendre_polynomial_p">;
defm AtenSpecialLogNdtr : RecomputableOperator<"aten.special_log_ndtr">;
defm AtenSpecialModifiedBesselI0
    : RecomputableOperator<"aten.special_modified_bessel_i0">;
defm AtenSpecialModifiedBesselI1
    : RecomputableOperator<"aten.special_modified_bessel_i1">;
defm AtenSpecialModifiedBesselK0
    : RecomputableOperator<"aten.special_modified_bessel_k0">;
defm AtenSpecialModifiedBesselK1
    : RecomputableOperator<"aten.special_modified_bessel_k1">;
defm AtenSpecialNdtri : RecomputableOperator<"aten.special_ndtri">;
defm AtenSpecialScaledModifiedBesselK0
    : RecomputableOperator<"aten.special_scaled_modified_bessel_k0">;
defm AtenSpecialScaledModifiedBesselK1
    : RecomputableOperator<"aten.special_scaled_modified_bessel_k1">;
defm AtenSpecialShiftedChebyshevPolynomialT
    : RecomputableOperator<"aten.special_shifted_chebyshev_polynomial_t">;
defm AtenSpecialShiftedChebyshevPolynomialU
    : RecomputableOperator<"aten.special_shifted_chebyshev_polynomial_u">;
defm AtenSpecialShiftedChebyshevPolynomialV
    : RecomputableOperator<"aten.special_shifted_chebyshev_polynomial_v">;
defm AtenSpecialShiftedChebyshevPolynomialW
    : RecomputableOperator<"aten.special_shifted_chebyshev_polynomial_w">;
defm AtenSpecialSphericalBesselJ0
    : RecomputableOperator<"aten.special_spherical_bessel_j0">;
defm AtenSpecialXlog1py : RecomputableOperator<"aten.special_xlog1py">;
defm AtenSpecialZeta : RecomputableOperator<"aten.special_zeta">;
defm AtenTrueDivide : RecomputableOperator<"aten.true_divide">;
defm AtenTypeAs : RecomputableOperator<"aten.type_as">;
defm AtenXlogy : RecomputableOperator<"aten.xlogy">;
defm AtenXorMethod : RecomputableOperator<"aten.__xor__">;
defm PrimsDiv : RecomputableOperator<"prims.div">;

#endif // REGATHER_DIALECT_TG_TARGETS_PYTORCHONLY
