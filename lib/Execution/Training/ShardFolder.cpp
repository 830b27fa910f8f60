//===- ShardFolder.cpp - One file for each rank ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/ShardFolder.h"

#include "../Tensors/ShardFiles.h"
#include "../Tensors/StepText.h"
#include "../Tensors/TensorParts.h"

#include "regather/Support/JsonDepth.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <set>

using namespace regather;
using OrderedJson = nlohmann::ordered_json;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
/// What one rank writes.
struct RankFile {
  std::vector<NamedTensor> tensors;
  OrderedJson parts = OrderedJson::array();
};
} // namespace

static OrderedJson describe(const StepValue &value, const TensorPart &part) {
  OrderedJson object = {{"name", value.name},
                        {"shape", value.globalShape},
                        {"offsets", part.offsets},
                        {"sizes", part.sizes}};
  for (const StepMember &member : value.members)
    object["members"].push_back({{"name", member.name},
                                 {"offset", member.offset},
                                 {"shape", member.shape}});
  return object;
}

/// Adds each part of `value`, which is number `index` of `values`, to the file
/// of the first rank that has it.
static Failure addValue(const StepSignature &step, StepValue value,
                        const TrainingResult &training,
                        const std::vector<RankValues> &values, size_t index,
                        std::vector<RankFile> &files) {
  std::vector<HostTensor> locals;
  for (const RankValues &each : values)
    locals.push_back(each[index]);
  if (getPartial(value) && training.onlyRank)
    return Failure("'" + value.name +
                   "' is a sum of parts, of which each process of the job has "
                   "one");
  if (getPartial(value)) {
    Result<HostTensor> sum = unshardTensor(locals, value, step);
    if (!sum)
      return sum.getFailure();
    value.placement.clear();
    value.localShape = value.globalShape;
    locals.assign(locals.size(), *sum);
  }
  std::set<Shape> seen;
  for (size_t rank = 0; rank != locals.size(); ++rank) {
    TensorPart part = getPart(value, step, static_cast<int64_t>(rank));
    if (!seen.insert(part.offsets).second)
      continue;
    files[rank].tensors.push_back({value.name, locals[rank]});
    files[rank].parts.push_back(describe(value, part));
  }
  return Failure();
}

/// Tells files of one run from those of another: a hash of all bytes, or, where
/// no process has them all, of the losses.
/// Source: FNV-1a, Fowler, Noll and Vo, in words of 64 bits.
static std::string getSaveId(const std::vector<RankFile> &files,
                             const TrainingResult &training) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](const std::byte *data, size_t bytes) {
    uint64_t word = 0;
    std::memcpy(&word, data, bytes);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;
  };
  if (training.onlyRank)
    for (double loss : training.losses)
      add(reinterpret_cast<const std::byte *>(&loss), sizeof(loss));
  for (const RankFile &file : files)
    for (const NamedTensor &named : file.tensors) {
      if (training.onlyRank)
        break;
      const std::byte *data = named.tensor.getData();
      auto bytes = static_cast<size_t>(named.tensor.getNumBytes());
      for (size_t i = 0; i < bytes; i += sizeof(uint64_t))
        add(data + i, std::min(sizeof(uint64_t), bytes - i));
    }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(hash));
  return text;
}

Failure regather::writeShardFolder(const std::string &directory,
                                   const StepSignature &step,
                                   const TrainingResult &training,
                                   const JobBarrier &waitForAll) {
  std::vector<RankFile> files(step.ranks);
  for (size_t i = 0; i != step.results.size(); ++i)
    if (Failure failure = addValue(step, step.results[i], training,
                                   training.results, i, files))
      return failure;
  std::vector<size_t> constants = getConstants(step);
  for (size_t i = 0; i != constants.size(); ++i)
    if (Failure failure = addValue(step, step.arguments[constants[i]], training,
                                   training.constants, i, files))
      return failure;
  std::string save = getSaveId(files, training);
  if (Failure failure = prepareSave(directory, step.ranks))
    return failure;
  for (size_t rank = 0; rank != files.size(); ++rank) {
    if (training.onlyRank && static_cast<size_t>(*training.onlyRank) != rank)
      continue;
    std::string path =
        getSavingPath(directory, static_cast<int64_t>(rank), step.ranks);
    std::map<std::string, std::string> metadata = {
        {"regather.rank", std::to_string(rank)},
        {"regather.ranks", std::to_string(step.ranks)},
        {"regather.save", save},
        {"regather.parts", files[rank].parts.dump()}};
    if (step.segments)
      metadata[kElasticKey] = std::to_string(step.segments);
    if (!step.elasticAxes.empty())
      metadata[kElasticAxesKey] = step.elasticAxes;
    if (Failure failure = writeSafetensors(path, files[rank].tensors, metadata))
      return Failure("cannot write '" + path + "': " + failure.getMessage());
  }
  if (training.onlyRank)
    if (Failure failure = waitForAll())
      return failure;
  if (Failure failure = commitSave(directory))
    return failure;
  return training.onlyRank ? waitForAll() : Failure();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// One part of a stored tensor.
struct StoredPart {
  size_t file;
  TensorPart part;
  Shape localShape;
};

/// A tensor that the ranks hold together, with its members if it is flat.
struct StoredTensor {
  std::string name;
  Shape shape;
  std::vector<StepMember> members;
  std::vector<StoredPart> parts;
};

class ShardFolder : public TensorSource {
public:
  static Result<std::unique_ptr<TensorSource>>
  open(const std::string &directory);

  bool contains(const std::string &name) const override {
    return places.count(name) != 0;
  }
  const std::vector<std::string> &getNames() const override { return names; }
  int64_t getSegments() const override { return files.front().getSegments(); }
  std::string getElasticAxes() const override {
    return files.front().getElasticAxes();
  }
  Result<HostTensor> read(const std::string &name, ElementType type,
                          const Shape &shape) const override;

private:
  Failure openFiles(int64_t ranks);
  Failure addParts(size_t file);
  Failure addPart(size_t file, const OrderedJson &object);
  Failure addTensor(StoredTensor tensor, const std::string &path);
  Failure checkComplete() const;
  /// All parts of a stored tensor put together. The members of a flat tensor
  /// are read one after the other, so the last one is kept.
  Result<HostTensor> assemble(size_t number, ElementType type) const;

  std::string directory;
  std::vector<SafetensorsFile> files;
  std::vector<StoredTensor> tensors;
  std::map<std::string, size_t> tensorOfName;
  /// The stored tensor that each name in files is in, and its member.
  struct Place {
    size_t tensor;
    std::optional<size_t> member;
  };
  std::map<std::string, Place> places;
  mutable std::optional<std::pair<size_t, HostTensor>> last;
  std::vector<std::string> names;
};
} // namespace

Result<std::unique_ptr<TensorSource>>
ShardFolder::open(const std::string &directory) {
  Result<int64_t> ranks = findRanks(directory);
  if (!ranks)
    return ranks.getFailure();
  auto folder = std::make_unique<ShardFolder>();
  folder->directory = directory;
  if (Failure failure = folder->openFiles(*ranks))
    return failure;
  for (size_t file = 0; file != folder->files.size(); ++file)
    if (Failure failure = folder->addParts(file))
      return failure;
  if (Failure failure = folder->checkComplete())
    return failure;
  return std::unique_ptr<TensorSource>(std::move(folder));
}

/// The metadata of a file; empty if there are none.
static std::string getText(const SafetensorsFile &file, const char *key) {
  const std::string *text = file.getMetadata(key);
  return text ? *text : "";
}

Failure ShardFolder::openFiles(int64_t ranks) {
  for (int64_t rank = 0; rank != ranks; ++rank) {
    Result<SafetensorsFile> file =
        SafetensorsFile::open(findShard(directory, rank, ranks));
    if (!file)
      return file.getFailure();
    if (getText(*file, "regather.rank") != std::to_string(rank) ||
        getText(*file, "regather.ranks") != std::to_string(ranks))
      return Failure("'" + file->getPath() +
                     "' does not say that it is of rank " +
                     std::to_string(rank) + " of " + std::to_string(ranks));
    if (rank > 0 && getText(*file, "regather.save") !=
                        getText(files.front(), "regather.save"))
      return Failure("'" + files.front().getPath() + "' and '" +
                     file->getPath() + "' were not saved together");
    files.push_back(std::move(*file));
  }
  return Failure();
}

/// The field called `name` as a list of non-negative numbers; nothing if it is
/// none.
static std::optional<Shape> readNumbers(const OrderedJson &object,
                                        const char *name) {
  auto it = object.find(name);
  if (it == object.end() || !it->is_array())
    return std::nullopt;
  Shape numbers;
  for (const OrderedJson &number : *it) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() > INT64_MAX)
      return std::nullopt;
    numbers.push_back(number.get<int64_t>());
  }
  return numbers;
}

/// The field called `name`; empty if it is no text.
static std::string readName(const OrderedJson &object) {
  auto it = object.find("name");
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

/// The members that `object` lists, which have to lie in a tensor of `size`
/// elements; nothing if they do not.
static std::optional<std::vector<StepMember>>
readMembers(const OrderedJson &object, int64_t size) {
  std::vector<StepMember> members;
  auto it = object.find("members");
  if (it == object.end())
    return members;
  for (const OrderedJson &fields : *it) {
    if (!fields.is_object() || !fields.contains("offset") ||
        !fields["offset"].is_number_unsigned())
      return std::nullopt;
    std::string name = readName(fields);
    auto offset = fields["offset"].get<uint64_t>();
    auto shape = readNumbers(fields, "shape");
    if (name.empty() || !shape || offset > static_cast<uint64_t>(size) ||
        !isAddressable(*shape, ElementType::I8) ||
        getNumElements(*shape) > size - static_cast<int64_t>(offset))
      return std::nullopt;
    members.push_back({name, static_cast<int64_t>(offset), *shape});
  }
  return members;
}

Failure ShardFolder::addParts(size_t file) {
  std::string text = getText(files[file], "regather.parts");
  OrderedJson parts = OrderedJson::parse(text, nullptr,
                                         /*allow_exceptions=*/false);
  if (!parts.is_array() || isDeeplyNested(text))
    return Failure("'" + files[file].getPath() +
                   "' does not say what its tensors are parts of");
  for (const OrderedJson &object : parts)
    if (Failure failure = addPart(file, object))
      return failure;
  return Failure();
}

/// True if the part lies in the global tensor, and is not larger than what the
/// file holds.
static bool isInside(const TensorPart &part, const Shape &local,
                     const Shape &global) {
  if (part.offsets.size() != global.size() ||
      part.sizes.size() != global.size() || local.size() != global.size())
    return false;
  for (size_t i = 0; i != global.size(); ++i)
    if (part.sizes[i] > local[i] || part.offsets[i] > global[i] ||
        part.sizes[i] > global[i] - part.offsets[i])
      return false;
  return true;
}

Failure ShardFolder::addPart(size_t file, const OrderedJson &object) {
  const std::string &path = files[file].getPath();
  std::string name = readName(object);
  auto shape = readNumbers(object, "shape");
  auto offsets = readNumbers(object, "offsets");
  auto sizes = readNumbers(object, "sizes");
  const Shape *local = files[file].getShape(name);
  if (!local)
    return Failure("'" + path + "' has no tensor " + quote(name) +
                   ", of which it describes a part");
  if (!shape || !offsets || !sizes ||
      !isAddressable(*shape, ElementType::F64) ||
      !isInside({*offsets, *sizes}, *local, *shape))
    return Failure("'" + path + "' describes no part of tensor " + quote(name));
  auto members = readMembers(object, getNumElements(*shape));
  if (!members || (!members->empty() && shape->size() != 1))
    return Failure("'" + path + "' describes tensors that are not in " +
                   quote(name));
  StoredPart part{file, {*offsets, *sizes}, *local};
  auto it = tensorOfName.find(name);
  if (it == tensorOfName.end())
    return addTensor({name, *shape, *members, {part}}, path);
  StoredTensor &tensor = tensors[it->second];
  if (tensor.shape != *shape)
    return Failure("'" + files[tensor.parts.front().file].getPath() +
                   "' and '" + path + "' describe tensor " + quote(name) +
                   " differently");
  tensor.parts.push_back(std::move(part));
  return Failure();
}

Failure ShardFolder::addTensor(StoredTensor tensor, const std::string &path) {
  size_t number = tensors.size();
  tensorOfName[tensor.name] = number;
  auto add = [&](const std::string &name, Place place) {
    names.push_back(name);
    return places.try_emplace(name, place).second;
  };
  bool isNew = true;
  if (tensor.members.empty())
    isNew = add(tensor.name, {number, std::nullopt});
  for (size_t i = 0; i != tensor.members.size(); ++i)
    isNew &= add(tensor.members[i].name, {number, i});
  if (!isNew)
    return Failure("'" + path + "' holds a tensor twice, in " +
                   quote(tensor.name));
  tensors.push_back(std::move(tensor));
  return Failure();
}

/// True if no two parts have an element in common, and are cells of a grid, as
/// those that a placement makes. By sorting; parts without elements do not
/// count.
static bool areApart(const StoredTensor &tensor) {
  std::vector<const TensorPart *> filled;
  std::set<Shape> offsets;
  for (const StoredPart &stored : tensor.parts)
    if (getNumElements(stored.part.sizes) > 0) {
      filled.push_back(&stored.part);
      if (!offsets.insert(stored.part.offsets).second)
        return false;
    }
  for (size_t d = 0; d != tensor.shape.size(); ++d) {
    std::map<int64_t, int64_t> sizes;
    for (const TensorPart *part : filled)
      if (sizes.try_emplace(part->offsets[d], part->sizes[d]).first->second !=
          part->sizes[d])
        return false;
    int64_t end = 0;
    for (auto [offset, size] : sizes) {
      if (offset < end)
        return false;
      end = offset + size;
    }
  }
  return true;
}

Failure ShardFolder::checkComplete() const {
  for (const StoredTensor &tensor : tensors) {
    if (!areApart(tensor))
      return Failure("folder '" + directory + "' holds parts of tensor " +
                     quote(tensor.name) + " that overlap");
    int64_t count = 0;
    for (const StoredPart &part : tensor.parts)
      count += getNumElements(part.part.sizes);
    if (count != getNumElements(tensor.shape))
      return Failure("folder '" + directory + "' holds " +
                     std::to_string(count) + " of " +
                     std::to_string(getNumElements(tensor.shape)) +
                     " elements of tensor " + quote(tensor.name));
  }
  return Failure();
}

Result<HostTensor> ShardFolder::assemble(size_t number,
                                         ElementType type) const {
  if (last && last->first == number && last->second.getType() == type)
    return last->second;
  const StoredTensor &tensor = tensors[number];
  HostTensor global = HostTensor::zeros(type, tensor.shape);
  for (const StoredPart &part : tensor.parts) {
    Result<HostTensor> local =
        files[part.file].read(tensor.name, type, part.localShape);
    if (!local)
      return local.getFailure();
    StepValue value;
    value.elementType = type;
    value.localShape = part.localShape;
    value.globalShape = tensor.shape;
    forEachRow(value, part.part, [&](int64_t to, int64_t from, int64_t bytes) {
      std::memcpy(global.getData() + to, local->getData() + from,
                  static_cast<size_t>(bytes));
    });
  }
  last.emplace(number, global);
  return global;
}

Result<HostTensor> ShardFolder::read(const std::string &name, ElementType type,
                                     const Shape &shape) const {
  auto it = places.find(name);
  if (it == places.end())
    return Failure("'" + directory + "' has no tensor " + quote(name));
  const Place &place = it->second;
  const StoredTensor &stored = tensors[place.tensor];
  const Shape &found =
      place.member ? stored.members[*place.member].shape : stored.shape;
  if (found != shape)
    return Failure("tensor " + quote(name) + " in '" + directory +
                   "' must have shape " + formatShape(shape) + ", got " +
                   formatShape(found));
  Result<HostTensor> global = assemble(place.tensor, type);
  if (!global || !place.member)
    return global;
  StepValue value;
  value.elementType = type;
  value.members = {stored.members[*place.member]};
  return splitMembers(value, *global).front();
}

Result<std::unique_ptr<TensorSource>>
regather::openTensorSource(const std::string &path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return ShardFolder::open(path);
  Result<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.getFailure();
  return std::unique_ptr<TensorSource>(
      std::make_unique<SafetensorsFile>(std::move(*file)));
}
