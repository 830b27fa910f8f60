//===- SameDeclaration.h - Two declarations of one function -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_VENDOR_SAMEDECLARATION_H
#define REGATHER_TEST_VENDOR_SAMEDECLARATION_H

#include <cstddef>
#include <type_traits>

namespace regather::test {

template <typename Ours, typename Theirs> constexpr bool isAlike();

/// Whether what two pointers point to has one layout. Structs are compared
/// field by field elsewhere; those of handles have names of ours.
template <typename Ours, typename Theirs> constexpr bool pointsAlike() {
  if (std::is_const_v<Ours> != std::is_const_v<Theirs>)
    return false;
  using OurBare = std::remove_const_t<Ours>;
  using TheirBare = std::remove_const_t<Theirs>;
  if constexpr (std::is_class_v<OurBare> && std::is_class_v<TheirBare>)
    return true;
  else if constexpr (std::is_void_v<OurBare> || std::is_void_v<TheirBare>)
    return std::is_same_v<OurBare, TheirBare>;
  else
    return isAlike<OurBare, TheirBare>();
}

/// Whether a caller passes two types alike. An enum is a number of its size.
template <typename Ours, typename Theirs> constexpr bool isAlike() {
  if constexpr (std::is_same_v<Ours, Theirs>)
    return true;
  else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>)
    return pointsAlike<std::remove_pointer_t<Ours>,
                       std::remove_pointer_t<Theirs>>();
  else if constexpr (std::is_enum_v<Theirs>)
    return std::is_integral_v<Ours> && sizeof(Ours) == sizeof(Theirs);
  else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs) &&
           std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs);
  else
    return false;
}

/// Whether two functions are called alike.
template <typename Ours, typename Theirs> struct CalledAlike;
template <typename OurResult, typename... OurParameters, typename TheirResult,
          typename... TheirParameters>
struct CalledAlike<OurResult (*)(OurParameters...),
                   TheirResult (*)(TheirParameters...)> {
  template <typename... T> struct List {};
  template <typename... A, typename... B>
  static constexpr bool compare(List<A...>, List<B...>) {
    if constexpr (sizeof...(A) == sizeof...(B))
      return (isAlike<A, B>() && ...);
    else
      return false;
  }
  static constexpr bool value =
      isAlike<OurResult, TheirResult>() &&
      compare(List<OurParameters...>(), List<TheirParameters...>());
};

} // namespace regather::test

/// A member of a table of functions is what the vendor declares by its name.
#define SAME_FUNCTION(Api, name)                                               \
  static_assert(                                                               \
      regather::test::CalledAlike<decltype(Api::name),                         \
                                  std::decay_t<decltype(::name)>>::value,      \
      #name " has another signature")
#define SAME_VALUE(ours, theirs)                                               \
  static_assert(static_cast<long long>(ours) ==                                \
                    static_cast<long long>(theirs),                            \
                #ours " is not " #theirs)
#define SAME_FIELD(Ours, ours, Theirs, theirs)                                 \
  static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs) &&            \
                    sizeof(decltype(Ours::ours)) ==                            \
                        sizeof(decltype(Theirs::theirs)),                      \
                #Ours "::" #ours " lies elsewhere")
#define SAME_SIZE(Ours, Theirs)                                                \
  static_assert(sizeof(Ours) == sizeof(Theirs) &&                              \
                    alignof(Ours) == alignof(Theirs),                          \
                #Ours " has another size")

#endif // REGATHER_TEST_VENDOR_SAMEDECLARATION_H
