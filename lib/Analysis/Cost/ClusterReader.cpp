//===- ClusterReader.cpp - Read cluster files -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Cost/Cluster.h"
#include "regather/Support/LLVM/MakeFailure.h"
#include "regather/Support/LLVM/ParseJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace regather;
namespace json = llvm::json;

namespace {
/// The numbers that a field can have. The range is wide enough for any hardware
/// of the next decades, so a number outside of it has the wrong unit.
struct Range {
  double low, high;
};
constexpr Range kFlopsPerSecond = {1e6, 1e18};
constexpr Range kBytesPerSecond = {1e3, 1e15};
constexpr Range kBytes = {1e6, 1e15};
constexpr Range kSeconds = {0, 10};
constexpr Range kRankCount = {1, 1 << 24};
constexpr Range kPart = {1e-3, 1};
constexpr Range kSlowdown = {1, 100};
/// Of one kernel.
constexpr double kMostFlops = 1e21;

/// The first thing that is wrong, and where.
class Problem {
public:
  void report(llvm::StringRef path, const llvm::Twine &what) {
    if (text.empty())
      text = ("\"" + path + "\" " + what).str();
  }
  bool isReported() const { return !text.empty(); }
  const std::string &getText() const { return text; }

private:
  std::string text;
};

/// Reads the fields of one object. A missing field is reported, and reads as
/// zero or empty.
class Fields {
public:
  Fields(const json::Value &value, std::string path, Problem &problem)
      : object(value.getAsObject()), path(std::move(path)), problem(problem) {
    if (!object)
      problem.report(this->path.empty() ? "the file" : this->path,
                     "must be an object");
  }
  /// Reports fields that nobody asked for, but for "comment", which is for
  /// people.
  ~Fields() {
    if (!object)
      return;
    std::vector<std::string> unknown;
    for (const auto &field : *object)
      if (llvm::StringRef name = field.first;
          name != "comment" && !known.contains(name))
        unknown.push_back(getPath(name));
    llvm::sort(unknown);
    if (!unknown.empty())
      problem.report(unknown.front(), "is no field of a cluster file");
  }

  std::string getPath(llvm::StringRef field) const {
    return path.empty() ? field.str() : path + "." + field.str();
  }
  bool has(llvm::StringRef field) const { return object && object->get(field); }

  const json::Value *get(llvm::StringRef field) {
    known.insert(field);
    const json::Value *value = object ? object->get(field) : nullptr;
    if (!value)
      problem.report(getPath(field), "is missing");
    return value;
  }
  double getNumber(llvm::StringRef field, Range range) {
    const json::Value *value = get(field);
    return value ? readNumber(*value, getPath(field), range, problem) : 0;
  }
  double getNumber(llvm::StringRef field, Range range, double standard) {
    return has(field) ? getNumber(field, range) : standard;
  }
  int64_t getInteger(llvm::StringRef field, Range range) {
    double number = getNumber(field, range);
    if (number != static_cast<double>(static_cast<int64_t>(number)))
      problem.report(getPath(field), "must be an integer");
    return static_cast<int64_t>(number);
  }
  std::string getString(llvm::StringRef field) {
    const json::Value *value = get(field);
    if (!value)
      return "";
    auto text = value->getAsString();
    if (!text || text->empty())
      problem.report(getPath(field), "must be a text that is not empty");
    return text.value_or("").str();
  }
  /// Calls `read` with each element and its path.
  void forEach(
      llvm::StringRef field,
      llvm::function_ref<void(const json::Value &, std::string path)> read) {
    const json::Value *value = get(field);
    if (!value)
      return;
    const json::Array *array = value->getAsArray();
    if (!array || array->empty())
      return problem.report(getPath(field), "must be a list of one or more");
    for (auto [i, element] : llvm::enumerate(*array))
      read(element, llvm::formatv("{0}[{1}]", getPath(field), i));
  }

  static double readNumber(const json::Value &value, const std::string &path,
                           Range range, Problem &problem) {
    auto number = value.getAsNumber();
    if (!number) {
      problem.report(path, "must be a number");
      return range.low;
    }
    // Written so that a NaN is out of range, too.
    if (!(*number >= range.low && *number <= range.high)) {
      problem.report(path, llvm::formatv("must be between {0:e1} and {1:e1}, "
                                         "got {2}",
                                         range.low, range.high, *number));
      return range.low;
    }
    return *number;
  }

private:
  const json::Object *object;
  std::string path;
  Problem &problem;
  llvm::StringSet<> known;
};
} // namespace

/// What a device has of its host.
static void readHost(const json::Value &value, Device &device,
                     Problem &problem) {
  Fields fields(value, "device.host", problem);
  device.hostMemoryBytes = fields.getNumber("memory_bytes", kBytes);
  device.hostBandwidth =
      fields.getNumber("bandwidth_bytes_per_second", kBytesPerSecond);
  device.hostLatencySeconds = fields.getNumber("latency_seconds", kSeconds);
}

/// Reads pairs of a size and seconds, both ascending.
static void readPoints(Fields &fields, llvm::StringRef field, double most,
                       std::vector<std::pair<double, double>> &points,
                       Problem &problem) {
  fields.forEach(field, [&](const json::Value &element, std::string path) {
    const json::Array *pair = element.getAsArray();
    if (!pair || pair->size() != 2)
      return problem.report(path, "must be a pair of " +
                                      field.rsplit('_').second +
                                      " and seconds");
    double size =
        Fields::readNumber((*pair)[0], path + "[0]", {1, most}, problem);
    double seconds =
        Fields::readNumber((*pair)[1], path + "[1]", {1e-9, 1e4}, problem);
    if (!points.empty() &&
        (size <= points.back().first || seconds < points.back().second))
      return problem.report(path, "must not be below the pair before it");
    points.emplace_back(size, seconds);
  });
}

static MeasuredWork readWork(const json::Value &value, const std::string &path,
                             Problem &problem) {
  Fields fields(value, path, problem);
  MeasuredWork work;
  std::string name = fields.getString("work");
  bool isKnown = false;
  for (WorkKind kind : {WorkKind::Matmul, WorkKind::Attention,
                        WorkKind::AttentionBackward, WorkKind::Other})
    if (name == getWorkName(kind)) {
      work.kind = kind;
      isKnown = true;
    }
  if (!isKnown)
    problem.report(fields.getPath("work"),
                   R"(must be "matmul", "attention", "attention_backward" or )"
                   R"("kernel")");
  if (work.kind == WorkKind::Other) {
    readPoints(fields, "seconds_by_bytes", kBytes.high, work.points, problem);
    return work;
  }
  work.type = fields.getString("type");
  readPoints(fields, "seconds_by_flops", kMostFlops, work.points, problem);
  return work;
}

static Device readDevice(const json::Value &value, Problem &problem) {
  Fields fields(value, "device", problem);
  Device device;
  device.name = fields.getString("name");
  if (const json::Value *peaks = fields.get("peak_flops_per_second")) {
    std::string path = fields.getPath("peak_flops_per_second");
    const json::Object *types = peaks->getAsObject();
    if (!types || types->empty())
      problem.report(path, "must be an object of element types");
    else
      for (const auto &[type, peak] : *types)
        device.peakFlops[llvm::StringRef(type)] = Fields::readNumber(
            peak, path + "." + type.str(), kFlopsPerSecond, problem);
  }
  device.vectorFlops =
      fields.getNumber("vector_flops_per_second", kFlopsPerSecond);
  device.matmulEfficiency = fields.getNumber("matmul_efficiency", kPart);
  device.attentionEfficiency = fields.getNumber("attention_efficiency", kPart);
  if (fields.has("attention_backward_efficiency"))
    device.attentionBackwardEfficiency =
        fields.getNumber("attention_backward_efficiency", kPart);
  device.memoryBandwidth =
      fields.getNumber("memory_bandwidth_bytes_per_second", kBytesPerSecond);
  device.memoryEfficiency = fields.getNumber("memory_efficiency", kPart);
  device.memoryBytes = fields.getNumber("memory_bytes", kBytes);
  device.launchSeconds = fields.getNumber("launch_seconds", kSeconds);
  if (fields.has("host"))
    readHost(*fields.get("host"), device, problem);
  if (fields.has("measured"))
    fields.forEach(
        "measured", [&](const json::Value &element, const std::string &path) {
          MeasuredWork work = readWork(element, path, problem);
          if (llvm::any_of(device.measured, [&](const MeasuredWork &other) {
                return other.kind == work.kind && other.type == work.type;
              }))
            problem.report(path, "is the second table of the same work");
          device.measured.push_back(std::move(work));
        });
  return device;
}

static LinkClass readLink(const json::Value &value, const std::string &path,
                          Problem &problem) {
  Fields fields(value, path, problem);
  LinkClass link;
  link.name = fields.getString("name");
  if (fields.has("span_ranks"))
    link.spanRanks = fields.getInteger("span_ranks", kRankCount);
  fields.forEach(
      "protocols", [&](const json::Value &element, std::string elementPath) {
        Fields protocol(element, std::move(elementPath), problem);
        LinkProtocol read;
        read.name = protocol.getString("name");
        read.latencySeconds = protocol.getNumber("latency_seconds", kSeconds);
        read.hopSeconds = protocol.getNumber("hop_seconds", kSeconds);
        read.bandwidth =
            protocol.getNumber("bandwidth_bytes_per_second", kBytesPerSecond);
        link.protocols.push_back(std::move(read));
      });
  link.computeSlowdown =
      fields.getNumber("compute_slowdown", kSlowdown, /*standard=*/1);
  link.collectiveSlowdown =
      fields.getNumber("collective_slowdown", kSlowdown, /*standard=*/1);
  return link;
}

/// Spans have to grow by whole multiples, and protocols to be the same.
static void checkLinks(const std::vector<LinkClass> &links, Problem &problem) {
  for (size_t i = 1; i < links.size(); ++i) {
    const LinkClass &inner = links[i - 1], &outer = links[i];
    std::string path = llvm::formatv("links[{0}]", i);
    if (!inner.spanRanks)
      problem.report(llvm::formatv("links[{0}].span_ranks", i - 1).str(),
                     "is missing, and only the last class of links may "
                     "connect all ranks");
    else if (outer.spanRanks && (*outer.spanRanks <= *inner.spanRanks ||
                                 *outer.spanRanks % *inner.spanRanks))
      problem.report(path + ".span_ranks",
                     llvm::formatv("must be a multiple of the {0} ranks that "
                                   "\"{1}\" spans, got {2}",
                                   *inner.spanRanks, inner.name,
                                   *outer.spanRanks));
    auto getName = [](const LinkProtocol &protocol) -> llvm::StringRef {
      return protocol.name;
    };
    if (!llvm::equal(llvm::map_range(inner.protocols, getName),
                     llvm::map_range(outer.protocols, getName)))
      problem.report(path + ".protocols", "must have the names of those of \"" +
                                              inner.name +
                                              "\", in the same order");
    if (llvm::any_of(
            llvm::ArrayRef(links).take_front(i),
            [&](const LinkClass &other) { return other.name == outer.name; }))
      problem.report(path + ".name",
                     "\"" + outer.name + "\" is the name of two classes");
  }
}

static MeasuredTable readTable(const json::Value &value,
                               const std::string &path, const Cluster &cluster,
                               Problem &problem) {
  Fields fields(value, path, problem);
  MeasuredTable table;
  std::string link = fields.getString("link");
  if (std::optional<unsigned> number = cluster.findLink(link))
    table.link = *number;
  else
    problem.report(fields.getPath("link"),
                   "\"" + link + "\" is no class of links");
  std::string collective = fields.getString("collective");
  if (std::optional<CollectiveKind> kind = findCollectiveKind(collective))
    table.kind = *kind;
  else
    problem.report(fields.getPath("collective"),
                   "\"" + collective + "\" is no collective");
  table.ranks = fields.getInteger("ranks", {2, kRankCount.high});
  // A group inside of a node lies in it with all its ranks.
  table.ranksPerNode = table.link == 0
                           ? table.ranks
                           : fields.getInteger("ranks_per_node", kRankCount);
  readPoints(fields, "seconds_by_received_bytes", kBytes.high, table.points,
             problem);
  return table;
}

static Cluster readCluster(const json::Value &value, Problem &problem) {
  Fields fields(value, "", problem);
  Cluster cluster;
  cluster.name = fields.getString("name");
  if (const json::Value *device = fields.get("device"))
    cluster.device = readDevice(*device, problem);
  fields.forEach("links", [&](const json::Value &element, std::string path) {
    cluster.links.push_back(readLink(element, path, problem));
  });
  checkLinks(cluster.links, problem);
  fields.forEach(
      "algorithms", [&](const json::Value &element, const std::string &path) {
        auto text = element.getAsString().value_or("");
        for (CollectiveAlgorithm algorithm :
             {CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree,
              CollectiveAlgorithm::Hierarchical})
          if (text == getAlgorithmName(algorithm))
            return cluster.algorithms.push_back(algorithm);
        problem.report(path, "must be \"ring\", \"tree\" or \"hierarchical\"");
      });
  // Only all_reduce has trees.
  if (llvm::all_of(cluster.algorithms, [](CollectiveAlgorithm algorithm) {
        return algorithm == CollectiveAlgorithm::Tree;
      }))
    problem.report("algorithms", "must contain \"ring\" or \"hierarchical\"");
  if (fields.has("measured"))
    fields.forEach("measured", [&](const json::Value &element,
                                   const std::string &path) {
      cluster.measured.push_back(readTable(element, path, cluster, problem));
    });
  return cluster;
}

Result<Cluster> regather::parseCluster(llvm::StringRef text,
                                       llvm::StringRef file) {
  auto fail = [&](const llvm::Twine &why) {
    return makeFailure("cluster file '" + file + "': " + why);
  };
  llvm::Expected<json::Value> value = parseJson(text);
  if (!value)
    return fail(llvm::toString(value.takeError()));
  Problem problem;
  Cluster cluster = readCluster(*value, problem);
  if (problem.isReported())
    return fail(problem.getText());
  return cluster;
}
