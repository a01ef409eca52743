// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

std::string word_of(const SmiCell& cell) {
  switch (cell.path) {
    case SmiPath::self: return "X";
    case SmiPath::nvlink: return fmt::format("NV{}", cell.links);
    case SmiPath::pix: return "PIX";
    case SmiPath::pxb: return "PXB";
    case SmiPath::phb: return "PHB";
    case SmiPath::node: return "NODE";
    case SmiPath::sys: return "SYS";
    case SmiPath::unknown: break;
  }
  return "";
}

struct ColumnName {
  std::string_view name;
  std::string NvidiaSmiDevice::*column;
};

constexpr std::array<ColumnName, 3> kColumns = {{{"CPU Affinity", &NvidiaSmiDevice::cpu_affinity},
                                                 {"NUMA Affinity", &NvidiaSmiDevice::numa_affinity},
                                                 {"GPU NUMA ID", &NvidiaSmiDevice::gpu_numa}}};

}  // namespace

std::string write_nvidia_smi(const NvidiaSmi& matrix) {
  std::vector<ColumnName> columns;
  for (const ColumnName& column : kColumns) {
    const bool used = std::any_of(matrix.devices.begin(), matrix.devices.end(),
                                  [&](const auto& device) { return !(device.*column.column).empty(); });
    if (used) columns.push_back(column);
  }
  std::string text;
  for (const NvidiaSmiDevice& device : matrix.devices) text += fmt::format("\t{}", device.name);
  for (const ColumnName& column : columns) text += fmt::format("\t{}", column.name);
  text += "\n";
  for (size_t row = 0; row < matrix.devices.size(); ++row) {
    text += matrix.devices[row].name;
    for (size_t column = 0; column < matrix.cells.size(); ++column)
      text += fmt::format("\t{}", word_of(matrix.cells.at(row, column)));
    for (const ColumnName& column : columns) text += fmt::format("\t{}", matrix.devices[row].*column.column);
    text += "\n";
  }
  std::string legend;
  for (const NvidiaSmiDevice& device : matrix.devices) {
    if (!device.nic.empty()) legend += fmt::format("  {}: {}\n", device.name, device.nic);
  }
  return legend.empty() ? text : text + "\nNIC Legend:\n\n" + legend;
}

}  // namespace weir::topology
