//===- BundleReader.cpp - What bundles say of themselves ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "MemoryFile.h"
#include "Reader.h"

#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Support/Sha256.h"

#include <cstring>

using namespace regather;
using namespace regather::fuzz;

/// The end of the file: the magic, version, bytes of the object and of the
/// manifest, and the SHA-256 of both. Bundle.cpp has the same as a struct.
static constexpr size_t kSizesAt = 16, kDigestAt = 32, kTrailerBytes = 64;

/// The code of a bundle is what may be run, so it is not loaded.
static std::string readBundleBytes(std::string_view bytes) {
  static MemoryFile input;
  input.write(bytes);
  Result<Manifest> manifest = readManifest(input.getPath());
  if (!manifest)
    return manifest.getMessage();
  std::string text = formatManifest(*manifest);
  Result<Manifest> again = parseManifest(text);
  if (!again)
    reportFind("what was written cannot be read: " + again.getMessage());
  if (formatManifest(*again) != text)
    reportFind("what was written reads as another manifest");
  return std::string();
}

/// Mostly changes the manifest and writes the trailer that belongs to it.
static size_t mutateBundle(uint8_t *data, size_t size, size_t maxSize,
                           unsigned seed) {
  uint64_t sizes[2] = {};
  if (size >= kTrailerBytes)
    std::memcpy(sizes, data + size - kTrailerBytes + kSizesAt, sizeof(sizes));
  auto [object, manifest] = sizes;
  if (seed % 8 == 0 || size < kTrailerBytes || object > size - kTrailerBytes ||
      manifest != size - kTrailerBytes - object)
    return LLVMFuzzerMutate(data, size, maxSize);
  uint8_t trailer[kTrailerBytes];
  std::memcpy(trailer, data + size - kTrailerBytes, kTrailerBytes);
  sizes[1] = mutateJson(data + object, manifest,
                        maxSize - object - kTrailerBytes, seed / 8);
  Sha256 sha;
  sha.add({reinterpret_cast<char *>(data), object + sizes[1]});
  Sha256::Digest digest = sha.finish();
  std::memcpy(trailer + kSizesAt, sizes, sizeof(sizes));
  std::memcpy(trailer + kDigestAt, digest.data(), digest.size());
  std::memcpy(data + object + sizes[1], trailer, kTrailerBytes);
  return object + sizes[1] + kTrailerBytes;
}

const Reader regather::fuzz::bundleReader = {"bundle", readBundleBytes,
                                             mutateBundle};
