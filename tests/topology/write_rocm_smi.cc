// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <vector>

#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

std::string banner(std::string_view title) { return fmt::format("{:=^90}\n", fmt::format(" {} ", title)); }

std::string text_of(int value) { return value < 0 ? "N/A" : fmt::to_string(value); }

std::string text_of(RocmLink link) {
  switch (link) {
    case RocmLink::self: return "0";
    case RocmLink::xgmi: return "XGMI";
    case RocmLink::pcie: return "PCIE";
    case RocmLink::unknown: break;
  }
  return "N/A";
}

template <typename Cell>
std::string section(std::string_view title, const std::vector<RocmSmiReportGpu>& gpus,
                    const SmiMatrix<Cell>& matrix) {
  if (matrix.size() == 0) return "";
  std::string text = banner(title) + fmt::format("{:7}", "");
  for (const RocmSmiReportGpu& gpu : gpus) text += fmt::format("{:13}", fmt::format("GPU{}", gpu.number));
  for (size_t row = 0; row < matrix.size(); ++row) {
    text += fmt::format("\n{:7}", fmt::format("GPU{}", gpus[row].number));
    if (!text.ends_with(' ')) text += ' ';
    for (size_t column = 0; column < matrix.size(); ++column)
      text += fmt::format("{:12} ", text_of(matrix.at(row, column)));
  }
  return text + "\n\n";
}

}  // namespace

std::string write_rocm_smi(const RocmSmiReport& matrix) {
  std::string text = banner("ROCm System Management Interface");
  text += section("Weight between two GPUs", matrix.gpus, matrix.weights);
  text += section("Hops between two GPUs", matrix.gpus, matrix.hops);
  text += section("Link Type between two GPUs", matrix.gpus, matrix.links);
  std::string numas;
  for (const RocmSmiReportGpu& gpu : matrix.gpus) {
    const auto add = [&](const char* what, int value) {
      if (value >= 0) numas += fmt::format("GPU[{}]\t\t: (Topology) Numa {}: {}\n", gpu.number, what, value);
    };
    add("Node", gpu.numa_node);
    add("Affinity", gpu.numa_affinity);
  }
  if (!numas.empty()) text += banner("Numa Nodes") + numas;
  return text + banner("End of ROCm SMI Log");
}

}  // namespace weir::topology
