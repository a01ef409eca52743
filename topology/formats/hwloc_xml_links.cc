// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/hwloc_xml_build.h"
#include "topology/formats/hwloc_xml_kinds.h"
#include "topology/model/nvswitch.h"

namespace weir::topology::hwloc {
namespace {

using ObjectsByKey = std::unordered_map<std::string, const HwlocObject*>;

std::string key_of_gp(int64_t index) { return fmt::format("gp {}", index); }
std::string key_of_os(const std::string& type, int64_t index) { return fmt::format("{} {}", type, index); }

// The recursion is bounded by the reader's depth limit.
void collect(const HwlocObject& object, ObjectsByKey& found) {
  if (object.gp_index != 0) found.emplace(key_of_gp(object.gp_index), &object);
  if (object.os_index >= 0) found.emplace(key_of_os(object.type, object.os_index), &object);
  for (const HwlocObject& child : object.children) collect(child, found);
}

class GpuLinks {
 public:
  explicit GpuLinks(Build& build) : build_(build) { collect(build.document.machine, objects_); }

  Status add();

 private:
  Status find_matrix(const char* name, const HwlocDistances*& matrix) const;
  Status ends_of(const HwlocDistances& matrix, std::vector<Index>& ends);
  Status add_nvlinks(const HwlocDistances& matrix);
  Status add_xgmi(const HwlocDistances& matrix, const HwlocDistances* hops);

  Build& build_;
  ObjectsByKey objects_;
};

Status GpuLinks::find_matrix(const char* name, const HwlocDistances*& matrix) const {
  for (const HwlocDistances& one : build_.document.distances) {
    if (one.name != name) continue;
    if (matrix != nullptr) return build_.refuse(fmt::format("two matrices {}; expected one", name));
    matrix = &one;
  }
  if (matrix == nullptr || matrix->values.size() == matrix->objects.size() * matrix->objects.size())
    return {};
  return build_.refuse(fmt::format("the matrix {} of {} objects has {} values", name, matrix->objects.size(),
                                   matrix->values.size()));
}

/// The node for each object of a matrix; kNone: ignored.
Status GpuLinks::ends_of(const HwlocDistances& matrix, std::vector<Index>& ends) {
  for (const HwlocReference& reference : matrix.objects) {
    const std::string& type = matrix.type.empty() ? reference.type : matrix.type;
    const std::string key =
        matrix.by_os_index ? key_of_os(type, reference.index) : key_of_gp(reference.index);
    const auto object = objects_.find(key);
    Index& end = ends.emplace_back(kNone);
    if (object != objects_.end()) {
      const auto node = build_.nodes.find(object->second);
      if (node != build_.nodes.end()) {
        end = node->second;
      } else if (!is_device(*object->second)) {  // POWER: the processors at which NVLinks end
        const DevicePosition& place = build_.place_of(*object->second);
        if (place.numas.size() == 1) end = place.numas[0];
      }
    }
    if (end == kNone) {
      WEIR_TRY(build_.leave_out(fmt::format(
          "the matrix {} refers to {} {}, which is no GPU, NVSwitch or NUMA node of the graph; ignored",
          matrix.name, type, reference.index)));
    }
  }
  return {};
}

/// Number of links that make up a bandwidth (MB/s).
int link_count(uint64_t mb_per_s) {
  for (const uint64_t of_one : {25000, 20000}) {
    if (mb_per_s % of_one == 0 && mb_per_s / of_one <= 1000) return static_cast<int>(mb_per_s / of_one);
  }
  return 1;
}

constexpr double kMegabytesPerGigabyte = 1000;

Status GpuLinks::add_nvlinks(const HwlocDistances& matrix) {
  std::vector<Index> ends;
  WEIR_TRY(ends_of(matrix, ends));
  for (size_t i = 0; i < ends.size(); ++i) {
    for (size_t j = 0; j < ends.size(); ++j) {
      const uint64_t value = matrix.values[i * ends.size() + j];
      if (value == 0 || ends[i] == kNone || ends[j] == kNone || ends[i] == ends[j]) continue;
      const auto is_numa = [this](Index node) { return build_.graph[node].kind() == NodeKind::numa; };
      build_.graph.add(Link{.from = ends[i],
                            .to = ends[j],
                            .kind = is_numa(ends[i]) || is_numa(ends[j]) ? LinkKind::c2c : LinkKind::nvlink,
                            .count = link_count(value),
                            .gb_per_s = static_cast<double>(value) / kMegabytesPerGigabyte});
    }
  }
  return {};
}

Status GpuLinks::add_xgmi(const HwlocDistances& matrix, const HwlocDistances* hops) {
  std::vector<Index> ends;
  WEIR_TRY(ends_of(matrix, ends));
  const size_t size = ends.size();
  if (hops != nullptr && hops->objects != matrix.objects)
    return build_.refuse("XGMIHops and XGMIBandwidth refer to different objects; expected the same");
  constexpr uint64_t kInvented = 100000;
  bool invented = true;
  for (size_t i = 0; i < size * size; ++i) {
    const bool is_link = i / size != i % size && matrix.values[i] != 0;
    invented = invented && (!is_link || matrix.values[i] == kInvented);
  }
  for (size_t i = 0; i < size * size; ++i) {
    const Index from = ends[i / size];
    const Index to = ends[i % size];
    if (from == kNone || to == kNone || from == to || matrix.values[i] == 0) continue;
    if (hops != nullptr && hops->values[i] != 1) continue;
    const double gb_per_s = static_cast<double>(matrix.values[i]) / kMegabytesPerGigabyte;
    build_.graph.add(
        Link{.from = from, .to = to, .kind = LinkKind::xgmi, .gb_per_s = invented ? 0 : gb_per_s});
  }
  return {};
}

Status GpuLinks::add() {
  const HwlocDistances* nvlink = nullptr;
  const HwlocDistances* xgmi = nullptr;
  const HwlocDistances* hops = nullptr;
  WEIR_TRY(find_matrix("NVLinkBandwidth", nvlink));
  WEIR_TRY(find_matrix("XGMIBandwidth", xgmi));
  WEIR_TRY(find_matrix("XGMIHops", hops));
  if (nvlink != nullptr) WEIR_TRY(add_nvlinks(*nvlink));
  join_nvswitches(build_.graph);
  if (xgmi != nullptr) WEIR_TRY(add_xgmi(*xgmi, hops));
  return {};
}

}  // namespace

Status add_gpu_links(Build& build) { return GpuLinks(build).add(); }

}  // namespace weir::topology::hwloc
