//===- KernelImage.cpp - What an image of kernels holds -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelImage.h"

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <string_view>

using namespace regather::runtime;

static constexpr uint16_t kCudaMachine = 190;

bool KernelImage::read(const void *image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0)
    return readElf(image);
  return readPtx(static_cast<const char *>(image));
}

bool KernelImage::runsOn(int64_t device) const {
  if (format == ImageFormat::HostObject)
    return true;
  if (isSpecific)
    return device == architecture;
  if (format == ImageFormat::Ptx)
    return device >= architecture;
  return device >= architecture && device / 10 == architecture / 10;
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

/// The name at a place in a text.
static std::string_view getName(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_$";
  size_t begin = text.find_first_of(kLetters);
  if (begin == std::string_view::npos)
    return {};
  text.remove_prefix(begin);
  return text.substr(0, text.find_first_not_of(kLetters));
}

static int64_t count(std::string_view text, std::string_view word) {
  int64_t number = 0;
  for (size_t i = text.find(word); i != std::string_view::npos;
       i = text.find(word, i + 1))
    ++number;
  return number;
}

bool KernelImage::readPtx(const char *data) {
  constexpr std::string_view kVersion = ".version ", kTarget = ".target ",
                             kEntry = ".entry ";
  std::string_view text = data;
  size_t target = text.find(kTarget);
  if (target == std::string_view::npos)
    return false;
  format = ImageFormat::Ptx;
  if (size_t version = text.find(kVersion); version != std::string_view::npos) {
    char *minor = nullptr;
    ptxVersion =
        10 * std::strtoll(data + version + kVersion.size(), &minor, 10);
    ptxVersion += *minor == '.' ? std::strtoll(minor + 1, nullptr, 10) : 0;
  }
  std::string name(getName(text.substr(target + kTarget.size())));
  if (name.compare(0, 3, "sm_") != 0)
    return false;
  char *end = nullptr;
  architecture = std::strtoll(name.c_str() + 3, &end, 10);
  isSpecific = *end == 'a';
  for (size_t i = text.find(kEntry); i != std::string_view::npos;
       i = text.find(kEntry, i + 1)) {
    std::string_view rest = text.substr(i + kEntry.size());
    rest = rest.substr(0, rest.find_first_of("){"));
    entries.push_back({std::string(getName(rest)), count(rest, ".param ")});
  }
  return true;
}

//===----------------------------------------------------------------------===//
// ELF
//===----------------------------------------------------------------------===//

/// One struct in a file that need not be aligned.
template <typename T> static T load(const char *file, uint64_t offset) {
  T value;
  std::memcpy(&value, file + offset, sizeof(value));
  return value;
}

bool KernelImage::readElf(const void *image) {
  const char *file = static_cast<const char *>(image);
  auto header = load<Elf64_Ehdr>(file, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  bytes = int64_t(header.e_shoff) +
          int64_t(header.e_shnum) * int64_t(header.e_shentsize);
  if (header.e_machine != kCudaMachine) {
    format = ImageFormat::HostObject;
    return true;
  }
  format = ImageFormat::Cubin;
  // The eighth version of the format has moved it.
  architecture = header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff
                                                    : header.e_flags & 0xff;
  auto getSection = [&](uint64_t i) {
    return load<Elf64_Shdr>(file, header.e_shoff + i * header.e_shentsize);
  };
  // Each entry has a section for its code.
  constexpr std::string_view kCode = ".text.";
  uint64_t names = getSection(header.e_shstrndx).sh_offset;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    std::string_view name = file + names + getSection(i).sh_name;
    if (name.substr(0, kCode.size()) == kCode)
      entries.push_back({std::string(name.substr(kCode.size())), -1});
  }
  return true;
}
