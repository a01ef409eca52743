// SPDX-License-Identifier: Apache-2.0
/// Common parts of the outputs of `nvidia-smi topo -m` and `rocm-smi --showtopo`: a cell for each pair of
/// devices of one host, and no PCI addresses.
/// Tests: tests/topology/nvidia_smi_test.cc
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// Maximum number of devices of a host; the texts are quadratic in it.
inline constexpr size_t kMostSmiDevices = 1024;

/// Maximum weight of a link, number of hops, and number of a NUMA node.
inline constexpr int kMostSmiValue = 1'000'000;

/// One cell for each pair of devices, row by row. Size 0: the text has no such matrix.
template <typename Cell>
class SmiMatrix {
 public:
  SmiMatrix() = default;
  explicit SmiMatrix(size_t size) : size_(size), cells_(size * size) {}

  size_t size() const { return size_; }
  Cell& at(size_t row, size_t column) { return cells_[row * size_ + column]; }
  const Cell& at(size_t row, size_t column) const { return cells_[row * size_ + column]; }

  bool operator==(const SmiMatrix&) const = default;

 private:
  size_t size_ = 0;
  std::vector<Cell> cells_;
};

/// Facts that the texts do not contain.
struct SmiOptions {
  std::string host = "host";
  int most_nvlinks = 18;  ///< NVLinks per GPU: 4 (P100), 6 (V100), 12 (A100), 18 (H100, B200)
};

namespace smi {

/// A name like "GPU3" or "GPU[3]".
inline bool parse_gpu(std::string_view word, int& number) {
  if (!word.starts_with("GPU")) return false;
  word.remove_prefix(3);
  if (word.starts_with('[') && word.ends_with(']')) word = word.substr(1, word.size() - 2);
  int64_t read = 0;
  const bool padded = word.size() > 1 && word.starts_with('0');
  if (padded || !parse_int(word, read) || read < 0 || read > 999999 || word.starts_with('-')) return false;
  number = static_cast<int>(read);
  return true;
}

/// Reports an omission from the graph: a note if the caller takes notes, else an error.
inline Status leave_out(Notes* notes, const std::string& sentence) {
  if (notes == nullptr) return {Code::invalid_argument, sentence};
  notes->push_back(sentence);
  return {};
}

/// Groups of devices, formed by joining pairs.
class Groups {
 public:
  explicit Groups(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }

  /// The first device of the group.
  size_t of(size_t device) const {
    while (parent_[device] != device) device = parent_[device];
    return device;
  }
  bool joined(size_t a, size_t b) const { return of(a) == of(b); }
  void join(size_t a, size_t b) {
    a = of(a);
    b = of(b);
    for (size_t device = 0; device < parent_.size() && a != b; ++device) {
      if (parent_[device] == std::max(a, b)) parent_[device] = std::min(a, b);
    }
  }

 private:
  std::vector<size_t> parent_;
};

/// NUMA nodes connected pairwise, without speeds.
inline void connect_numas(Graph& graph) {
  const std::vector<Index> numas = graph.all(NodeKind::numa);
  for (size_t i = 0; i < numas.size(); ++i) {
    for (size_t j = i + 1; j < numas.size(); ++j)
      graph.connect({.from = numas[i], .to = numas[j], .kind = LinkKind::cpu});
  }
}

}  // namespace smi
}  // namespace weir::topology
