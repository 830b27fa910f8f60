//===- ShardsReader.cpp - Folders of shards -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonMutation.h"
#include "MemoryFile.h"
#include "Reader.h"

#include "regather/Execution/Training/ShardFolder.h"
#include "regather/Support/JsonDepth.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

using namespace regather;
using namespace regather::fuzz;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

static constexpr size_t kRanks = 2;
static constexpr size_t kLengthBytes = 8;

/// The files of both ranks, of which the first has its length before it, in
/// four bytes.
static std::array<std::string_view, kRanks> split(std::string_view bytes) {
  uint32_t first = 0;
  if (bytes.size() < sizeof(first))
    return {};
  std::memcpy(&first, bytes.data(), sizeof(first));
  bytes.remove_prefix(sizeof(first));
  size_t length = std::min(bytes.size(), size_t(first));
  return {bytes.substr(0, length), bytes.substr(length)};
}

namespace {
/// A folder whose files are in memory.
class Folder {
public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "shards-XXXXXX");
    if (!mkdtemp(pattern.data()))
      std::_Exit(2);
    path = pattern;
    for (size_t rank = 0; rank != kRanks; ++rank)
      fs::create_symlink(files[rank].getPath(),
                         fs::path(path) / ("rank-" + std::to_string(rank) +
                                           "-of-2.safetensors"));
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path, error);
  }
  void write(std::string_view bytes) {
    auto parts = split(bytes);
    for (size_t rank = 0; rank != kRanks; ++rank)
      files[rank].write(parts[rank]);
  }
  const std::string &getPath() const { return path; }

private:
  std::array<MemoryFile, kRanks> files;
  std::string path;
};
} // namespace

/// The shape that a message names: "..., got [2, 4]".
static Shape findShape(const std::string &message) {
  Shape shape;
  size_t at = message.rfind("got [");
  if (at == std::string::npos)
    return shape;
  for (const char *text = message.c_str() + at + 5; *text && *text != ']';) {
    char *end = nullptr;
    shape.push_back(std::strtoll(text, &end, 10));
    if (end == text)
      break;
    text = end + std::strspn(end, ", ");
  }
  return shape;
}

static std::string readShardsBytes(std::string_view bytes) {
  static Folder folder;
  folder.write(bytes);
  Result<std::unique_ptr<TensorSource>> source =
      openTensorSource(folder.getPath());
  std::string why;
  if (!source) {
    why = source.getMessage();
  } else {
    (void)(*source)->getSegments();
    for (const std::string &name : (*source)->getNames()) {
      if (!(*source)->contains(name))
        reportFind("no tensor of a name that the folder gave");
      Result<HostTensor> scalar = (*source)->read(name, ElementType::F32, {});
      if (scalar)
        continue;
      Result<HostTensor> tensor = (*source)->read(
          name, ElementType::F32, findShape(scalar.getMessage()));
      if (!tensor)
        why = tensor.getMessage();
    }
  }
  // The name of the folder is another one in each process.
  for (size_t at = 0; (at = why.find(folder.getPath())) != std::string::npos;)
    why.erase(at, folder.getPath().size());
  return why;
}

static std::string changeText(std::string text, unsigned seed) {
  constexpr size_t kRoom = 4096;
  size_t size = text.size();
  text.resize(size + kRoom);
  size = mutateJson(reinterpret_cast<uint8_t *>(text.data()), size, text.size(),
                    seed);
  text.resize(size);
  return text;
}

/// Changes the header of a file of tensors, or what it says of their parts.
static std::string changeFile(std::string_view file, unsigned seed) {
  uint64_t length = 0;
  if (file.size() >= kLengthBytes)
    std::memcpy(&length, file.data(), kLengthBytes);
  if (file.size() < kLengthBytes || length > file.size() - kLengthBytes)
    return std::string(file);
  std::string header(file.substr(kLengthBytes, length));
  if (seed % 4 == 0 || isDeeplyNested(header)) {
    header = changeText(header, seed / 4);
  } else {
    Json json = Json::parse(header, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json["__metadata__"].is_object() &&
        json["__metadata__"]["regather.parts"].is_string()) {
      Json &parts = json["__metadata__"]["regather.parts"];
      parts = changeText(parts.get<std::string>(), seed / 4);
    }
    header = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  std::string changed(kLengthBytes, '\0');
  uint64_t size = header.size();
  std::memcpy(changed.data(), &size, kLengthBytes);
  return changed + header + std::string(file.substr(kLengthBytes + length));
}

static size_t mutateShards(uint8_t *data, size_t size, size_t maxSize,
                           unsigned seed) {
  auto [first, second] = split({reinterpret_cast<const char *>(data), size});
  if (seed % 8 == 0 || first.empty())
    return LLVMFuzzerMutate(data, size, maxSize);
  bool changesFirst = seed / 8 % 2 == 0;
  std::string one =
      changesFirst ? changeFile(first, seed / 16) : std::string(first);
  std::string other =
      changesFirst ? std::string(second) : changeFile(second, seed / 16);
  auto length = uint32_t(one.size());
  if (sizeof(length) + one.size() + other.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, &length, sizeof(length));
  uint8_t *end = std::copy(one.begin(), one.end(), data + sizeof(length));
  std::copy(other.begin(), other.end(), end);
  return sizeof(length) + one.size() + other.size();
}

const Reader regather::fuzz::shardsReader = {"shards", readShardsBytes,
                                             mutateShards};
