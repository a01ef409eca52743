// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/nvidia_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "topology/formats/cpu_set.h"
#include "topology/formats/nvidia_smi_words.h"

namespace weir::topology {
namespace {

using smi::parse_cell;

std::string text_of(const SmiCell& cell) {
  constexpr std::array<const char*, 8> kWords = {"", "X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
  if (cell.path == SmiPath::nvlink) return fmt::format("NV{}", cell.links);
  return kWords[static_cast<size_t>(cell.path)];
}

/// A name that cannot be mistaken for a cell, a column or a line of the legend.
bool is_device_name(std::string_view word) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  constexpr std::array<std::string_view, 5> kTaken = {"CPU", "NUMA", "GPU", "ID", "Affinity"};
  SmiCell cell;
  return !word.empty() && word.find_first_not_of(kLetters) == std::string_view::npos &&
         !parse_cell(word, cell) && std::find(kTaken.begin(), kTaken.end(), word) == kTaken.end();
}

/// Two GPUs, where a row has one and cells.
bool is_head(std::string_view line) {
  const auto parts = smi::head_words(line);
  int number = 0;
  return parts.size() > 1 && smi::parse_gpu(parts[0].text, number) && smi::parse_gpu(parts[1].text, number);
}

using Column = std::string NvidiaSmiDevice::*;

struct ColumnName {
  std::string_view name;
  Column column;
};

constexpr std::array<ColumnName, 3> kColumns = {{{"CPU Affinity", &NvidiaSmiDevice::cpu_affinity},
                                                 {"NUMA Affinity", &NvidiaSmiDevice::numa_affinity},
                                                 {"GPU NUMA ID", &NvidiaSmiDevice::gpu_numa}}};

class NvidiaSmiReader {
 public:
  NvidiaSmiReader(const Source& source, Notes* notes) : source_(source), notes_(notes), lines_(source.text) {}

  Result<NvidiaSmi> read();

 private:
  enum class Part { before, matrix, legend, nic_legend };

  Status read_line(std::string_view line);
  Status read_head(std::string_view line);
  Status read_columns(const std::vector<smi::PlacedWord>& parts, size_t first);
  Status read_row(size_t row, std::string_view line);
  Status read_cell(size_t row, size_t column, std::string_view word);
  Status read_behind(size_t row, std::vector<std::string_view> behind);
  Status read_nic(std::string_view line);
  Status check();
  Status check_row(size_t row);
  Status refuse(const std::string& sentence) const {
    return topology::refuse(source_, lines_.number(), sentence);
  }
  Status leave_out(size_t line, const std::string& sentence) const {
    return smi::leave_out(notes_, topology::refuse(source_, line, sentence).message());
  }
  bool is_gpu(size_t device) const {
    int number = 0;
    return smi::parse_gpu(matrix_.devices[device].name, number);
  }

  const Source& source_;
  Notes* notes_;
  Lines lines_;
  Part part_ = Part::before;
  NvidiaSmi matrix_;
  std::vector<Column> columns_;
  std::vector<smi::PlacedWord> head_;                ///< the columns of the devices, without their names
  std::unordered_map<std::string, size_t> devices_;  ///< index; key: name
  std::vector<size_t> rows_;                         ///< line of each row; 0: not read yet
  std::set<int64_t> lengths_;                        ///< of the ranges of CPUs in rows that are complete
};

Status NvidiaSmiReader::read_columns(const std::vector<smi::PlacedWord>& parts, size_t first) {
  std::string behind;
  for (size_t i = first; i < parts.size(); ++i)
    behind += fmt::format("{}{}", behind.empty() ? "" : " ", parts[i].text);
  for (std::string_view rest = behind; !rest.empty(); rest = trim(rest)) {
    const auto found = std::find_if(kColumns.begin(), kColumns.end(), [rest](const ColumnName& column) {
      return rest.starts_with(column.name);
    });
    if (found == kColumns.end() ||
        std::find(columns_.begin(), columns_.end(), found->column) != columns_.end()) {
      return refuse(
          fmt::format("the head ends with \"{}\"; expected CPU Affinity, NUMA Affinity, GPU NUMA ID",
                      rest.substr(0, 100)));
    }
    columns_.push_back(found->column);
    rest.remove_prefix(found->name.size());
  }
  return {};
}

Status NvidiaSmiReader::read_head(std::string_view line) {
  const auto parts = smi::head_words(line);
  size_t i = 0;
  for (; i < parts.size() && is_device_name(parts[i].text); ++i) {
    const std::string name(parts[i].text);
    if (!devices_.emplace(name, i).second) return refuse(fmt::format("{} occurs twice in the head", name));
    matrix_.devices.emplace_back().name = name;
    head_.push_back({{}, parts[i].column});
  }
  WEIR_TRY(read_columns(parts, i));
  if (matrix_.devices.size() > kMostSmiDevices) {
    return refuse(
        fmt::format("the head has {} devices; expected at most {}", matrix_.devices.size(), kMostSmiDevices));
  }
  matrix_.cells = SmiMatrix<SmiCell>(matrix_.devices.size());
  rows_.assign(matrix_.devices.size(), 0);
  part_ = Part::matrix;
  return {};
}

Status NvidiaSmiReader::read_behind(size_t row, std::vector<std::string_view> behind) {
  // The tool aligns with an additional tab, mostly before the last column; other empty fields are values.
  for (size_t i = behind.size(); i-- > 0 && behind.size() > columns_.size();) {
    if (behind[i].empty()) behind.erase(behind.begin() + static_cast<ptrdiff_t>(i));
  }
  smi::divide_not_given(behind);
  if (behind.size() < columns_.size() && !behind.empty()) {
    if (const auto parts = smi::divide_list(behind[0], lengths_)) {
      WEIR_TRY(leave_out(lines_.number(),
                         fmt::format("\"{}\" in row {} is treated as two columns that touch, {} and {}",
                                     behind[0], matrix_.devices[row].name, parts->first, parts->second)));
      behind[0] = parts->second;
      behind.insert(behind.begin(), parts->first);
    }
  }
  NvidiaSmiDevice& device = matrix_.devices[row];
  if (behind.size() > columns_.size()) {
    return refuse(fmt::format("{} words follow the cells of row {}; the head has {} such columns",
                              behind.size(), device.name, columns_.size()));
  }
  for (size_t i = 0; i < behind.size(); ++i) {
    CpuSet set;
    if (!behind[i].empty() && behind[i] != "N/A" && !CpuSet::parse_list(behind[i], set)) {
      return refuse(fmt::format("\"{}\" after the cells of row {} is not a list of numbers like 0-31,64-95",
                                behind[i].substr(0, 100), device.name));
    }
    device.*columns_[i] = behind[i];
  }
  if (behind.size() == columns_.size()) lengths_.merge(smi::range_lengths(behind[0]));
  return {};
}

Status NvidiaSmiReader::read_cell(size_t row, size_t column, std::string_view word) {
  const std::string& name = matrix_.devices[row].name;
  const std::string& other = matrix_.devices[column].name;
  SmiCell& cell = matrix_.cells.at(row, column);
  if (!parse_cell(word, cell)) {
    return refuse(fmt::format(
        "\"{}\" in row {} for {} is not a valid cell; expected X, NV#, PIX, PXB, PHB, NODE or SYS",
        word.substr(0, 100), name, other));
  }
  if ((cell.path == SmiPath::self) != (row == column))
    return refuse(
        fmt::format("row {} has {} for {}; expected X exactly for the device itself", name, word, other));
  if (cell.path == SmiPath::nvlink && (!is_gpu(row) || !is_gpu(column)))
    return refuse(fmt::format("row {} has {} for {}; expected NVLinks between GPUs only", name, word, other));
  return {};
}

Status NvidiaSmiReader::read_row(size_t row, std::string_view line) {
  const std::string& name = matrix_.devices[row].name;
  if (rows_[row] != 0)
    return refuse(fmt::format("row {} occurs twice; the first is in line {}", name, rows_[row]));
  rows_[row] = lines_.number();
  const size_t size = matrix_.devices.size();
  smi::RowWords parts = smi::row_words(line, name, row, head_);
  for (size_t column = 0; column < parts.cells.size(); ++column) {
    if (!parts.cells[column].empty()) WEIR_TRY(read_cell(row, column, parts.cells[column]));
  }
  size_t known = 0;
  for (size_t column = 0; column < size; ++column)
    known += matrix_.cells.at(row, column).path != SmiPath::unknown ? 1 : 0;
  if (known < size) {
    WEIR_TRY(leave_out(lines_.number(),
                       fmt::format("row {} has {} cells; expected {}; the others are treated as unknown",
                                   name, known, size)));
  }
  return parts.behind.empty() ? Status() : read_behind(row, std::move(parts.behind));
}

Status NvidiaSmiReader::read_nic(std::string_view line) {
  const auto parts = words(line);
  if (parts.size() != 2 || !parts[0].ends_with(':') || !is_device_name(parts[1])) {
    return leave_out(lines_.number(),
                     fmt::format("\"{}\" is not a line of the NIC legend; expected a line like NIC0: mlx5_0",
                                 line.substr(0, 100)));
  }
  const auto device = devices_.find(std::string(parts[0].substr(0, parts[0].size() - 1)));
  if (device == devices_.end() || is_gpu(device->second))
    return refuse(fmt::format("the NIC legend contains {}, which is not a NIC of the head", parts[0]));
  std::string& nic = matrix_.devices[device->second].nic;
  if (!nic.empty()) return refuse(fmt::format("the NIC legend contains {} twice", parts[0]));
  nic = parts[1];
  return {};
}

Status NvidiaSmiReader::read_line(std::string_view line) {
  const auto parts = words(line);
  if (parts.empty() || parts[0].starts_with('#')) return {};
  int number = 0;
  if (part_ != Part::before && is_head(line))
    return refuse("a second matrix of nvidia-smi topo -m begins; expected that of one host");
  if (part_ == Part::before && smi::parse_gpu(smi::head_words(line)[0].text, number)) return read_head(line);
  if (part_ == Part::matrix) {
    const auto device = devices_.find(std::string(smi::row_name(line, matrix_.devices)));
    if (device != devices_.end()) return read_row(device->second, line);
  }
  if (part_ != Part::before && parts[0] == "Legend:" && parts.size() == 1) {
    part_ = Part::legend;
    return {};
  }
  if (part_ != Part::before && parts.size() == 2 && parts[0] == "NIC" && parts[1] == "Legend:") {
    part_ = Part::nic_legend;
    return {};
  }
  if (part_ == Part::nic_legend) return read_nic(line);
  if (part_ == Part::legend && parts.size() > 1 && parts[1] == "=") return {};
  return leave_out(lines_.number(), fmt::format("unknown line \"{}\"", trim(line).substr(0, 100)));
}

/// One note per row, to avoid a quadratic number of notes.
Status NvidiaSmiReader::check_row(size_t row) {
  size_t different = 0;
  std::string first;
  for (size_t column = 0; column < row; ++column) {
    const SmiCell& lower = matrix_.cells.at(row, column);
    const SmiCell& upper = matrix_.cells.at(column, row);
    if (lower == upper || lower.path == SmiPath::unknown || upper.path == SmiPath::unknown) continue;
    if (different++ > 0) continue;
    const std::string& name = matrix_.devices[column].name;
    first = fmt::format("row {} has {} for {}, but row {} has {} for the same pair",
                        matrix_.devices[row].name, text_of(lower), name, name, text_of(upper));
  }
  if (different == 0) return {};
  if (different > 1) first += fmt::format(" (and {} more such pairs)", different - 1);
  return leave_out(rows_[row], first);
}

Status NvidiaSmiReader::check() {
  if (part_ == Part::before)
    return refuse("no matrix found; expected a line with the names of the devices, GPU0 first");
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row] == 0)
      return refuse(
          fmt::format("row {} is missing, although the head has that device", matrix_.devices[row].name));
  }
  for (size_t row = 0; row < rows_.size(); ++row) WEIR_TRY(check_row(row));
  std::unordered_map<std::string, size_t> called;
  for (size_t i = 0; i < matrix_.devices.size(); ++i) {
    const NvidiaSmiDevice& device = matrix_.devices[i];
    const auto [other, is_new] = called.emplace(device.nic.empty() ? device.name : device.nic, i);
    if (!is_new) {
      return refuse(fmt::format("{} and {} have the same name {}", matrix_.devices[other->second].name,
                                device.name, other->first));
    }
  }
  return {};
}

Result<NvidiaSmi> NvidiaSmiReader::read() {
  if (source_.text.size() > kMostBytes) {
    return topology::refuse(
        source_, 1,
        fmt::format("the text has {} bytes; expected at most {}", source_.text.size(), kMostBytes));
  }
  for (std::string_view line; lines_.next(line);) WEIR_TRY(read_line(line));
  WEIR_TRY(check());
  return std::move(matrix_);
}

}  // namespace

Result<NvidiaSmi> read_nvidia_smi(const Source& source, Notes* notes) {
  return NvidiaSmiReader(source, notes).read();
}

}  // namespace weir::topology
