// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/rocm_smi.h"

namespace weir::topology {
namespace {

constexpr int kOneLink = 15;      ///< weight of one xGMI link
constexpr int kOneProcessor = 2;  ///< PCIe hops within one NUMA node

class RocmSmiGraphBuilder {
 public:
  RocmSmiGraphBuilder(const RocmSmiReport& matrix, Notes* notes, const SmiOptions& options)
      : matrix_(matrix), notes_(notes), options_(options), size_(matrix.gpus.size()), numas_(size_) {}

  Result<Graph> run();

 private:
  int numa(size_t gpu) const {
    const RocmSmiReportGpu& facts = matrix_.gpus[gpu];
    return facts.numa_node >= 0 ? facts.numa_node : facts.numa_affinity;
  }
  /// -1: not given.
  int value(const SmiMatrix<int>& values, size_t a, size_t b) const {
    return values.size() == 0 ? -1 : values.at(std::min(a, b), std::max(a, b));
  }
  RocmLink link(size_t a, size_t b) const { return matrix_.links.at(std::min(a, b), std::max(a, b)); }
  bool near(size_t a, size_t b) const;
  Status join();
  Status check_hops();
  void add_gpus();
  void add_links();
  Status leave_out(const std::string& sentence) const {
    return smi::leave_out(notes_, "rocm-smi: " + sentence);
  }

  const RocmSmiReport& matrix_;
  Notes* notes_;
  const SmiOptions& options_;
  size_t size_;
  smi::Groups numas_;
  Graph graph_;
  std::vector<Index> nodes_;
};

/// Whether two GPUs, at least one on an unknown NUMA node, may share a node as far as is known.
bool RocmSmiGraphBuilder::near(size_t a, size_t b) const {
  if (link(a, b) == RocmLink::pcie) {
    const int hops = value(matrix_.hops, a, b);
    return hops >= 0 && hops <= kOneProcessor;
  }
  return numa(a) < 0 && numa(b) < 0;
}

Status RocmSmiGraphBuilder::join() {
  size_t without = 0;
  for (size_t a = 0; a < size_; ++a) {
    if (numa(a) < 0) ++without;
    for (size_t b = 0; b < a; ++b) {
      const bool both = numa(a) >= 0 && numa(b) >= 0;
      if (both && numa(a) == numa(b)) numas_.join(a, b);
    }
  }
  if (without == 0) return {};
  for (size_t a = 0; a < size_; ++a) {
    if (numa(a) >= 0) continue;
    for (size_t b = 0; b < size_; ++b) {
      // Two NUMA nodes with different numbers stay separate.
      const int first = numa(numas_.of(a));
      const int second = numa(numas_.of(b));
      if (a != b && near(a, b) && (first < 0 || second < 0 || first == second)) numas_.join(a, b);
    }
  }
  return leave_out(fmt::format(
      "no NUMA node is given for {} of {} GPUs; they are placed by PCIE hops, or together if there are none",
      without, size_));
}

Status RocmSmiGraphBuilder::check_hops() {
  for (size_t a = 0; a < size_; ++a) {
    for (size_t b = a + 1; b < size_; ++b) {
      const int hops = value(matrix_.hops, a, b);
      if (link(a, b) != RocmLink::pcie || hops < 0 || (hops <= kOneProcessor) == numas_.joined(a, b))
        continue;
      return leave_out(fmt::format(
          "GPU{} and GPU{} are {} PCIE hops apart (2: within one NUMA node), but their NUMA numbers give {} "
          "NUMA node(s); the NUMA numbers are used",
          matrix_.gpus[a].number, matrix_.gpus[b].number, hops, numas_.joined(a, b) ? "one" : "two"));
    }
  }
  return {};
}

void RocmSmiGraphBuilder::add_gpus() {
  std::vector<Index> numa_nodes(size_, kNone);
  nodes_.assign(size_, kNone);
  for (size_t gpu = 0; gpu < size_; ++gpu) {
    Index& node = numa_nodes[numas_.of(gpu)];
    if (node == kNone) {
      NumaFacts facts;
      for (size_t other = gpu; other < size_ && facts.number < 0; ++other) {
        if (numas_.joined(gpu, other)) facts.number = numa(other);
      }
      const std::string name = facts.number >= 0 ? fmt::to_string(facts.number)
                                                 : fmt::format("of GPU{}", matrix_.gpus[gpu].number);
      node = graph_.add(name, 0, std::move(facts));
    }
    GpuFacts facts;
    facts.device = matrix_.gpus[gpu].number;
    nodes_[gpu] = graph_.add(fmt::format("GPU{}", facts.device), node, std::move(facts));
    graph_.connect({.from = nodes_[gpu], .to = node, .kind = LinkKind::pci});
  }
}

void RocmSmiGraphBuilder::add_links() {
  for (size_t a = 0; a < size_; ++a) {
    for (size_t b = a + 1; b < size_; ++b) {
      if (link(a, b) != RocmLink::xgmi || value(matrix_.hops, a, b) > 1) continue;
      if (value(matrix_.weights, a, b) > kOneLink) continue;
      graph_.connect({.from = nodes_[a], .to = nodes_[b], .kind = LinkKind::xgmi});
    }
  }
}

Result<Graph> RocmSmiGraphBuilder::run() {
  const auto fits = [this](size_t size) { return size == size_ || size == 0; };
  if (size_ > kMostSmiDevices || matrix_.links.size() != size_ || !fits(matrix_.weights.size()) ||
      !fits(matrix_.hops.size())) {
    return Status(Code::invalid_argument,
                  fmt::format("rocm-smi: {} GPUs and matrices of other sizes; expected the same, at most {}",
                              size_, kMostSmiDevices));
  }
  WEIR_TRY(join());
  WEIR_TRY(check_hops());
  graph_.add(options_.host, kNone, HostFacts{});
  add_gpus();
  smi::connect_numas(graph_);
  add_links();
  return std::move(graph_);
}

}  // namespace

Result<Graph> graph_of(const RocmSmiReport& matrix, Notes* notes, const SmiOptions& options) {
  return RocmSmiGraphBuilder(matrix, notes, options).run();
}

}  // namespace weir::topology
