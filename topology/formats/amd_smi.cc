// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/amd_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "topology/formats/listing.h"
#include "topology/formats/smi_matrix.h"

namespace weir::topology {
namespace {

constexpr int64_t kMostMegabytes = 1'000'000'000;
constexpr std::string_view kTitleEnd = " TABLE:";

class AmdSmiReader {
 public:
  AmdSmiReader(const Source& source, Notes* notes) : source_(source), notes_(notes), lines_(source.text) {}

  Result<AmdSmiReport> read();

 private:
  enum class Table { none, weights, hops, links, bandwidths, skipped };

  Status read_line(std::string_view line);
  Status begin_table(std::string_view title);
  Status end_table();
  Status read_head(const std::vector<std::string_view>& parts);
  Status read_row(const std::vector<std::string_view>& parts);
  Status read_cell(size_t row, size_t column, std::string_view word);
  bool read_value(size_t row, size_t column, std::string_view word);
  bool read_link(size_t row, size_t column, std::string_view word);
  bool read_bandwidth(size_t row, size_t column, std::string_view word);
  Status refuse(const std::string& sentence) const {
    return topology::refuse(source_, lines_.number(), sentence);
  }
  SmiMatrix<int>& values() { return table_ == Table::weights ? report_.weights : report_.hops; }

  const Source& source_;
  Notes* notes_;
  Lines lines_;
  Table table_ = Table::none;
  std::string title_;
  bool has_head_ = false;
  std::vector<size_t> rows_;  ///< line of each row of the current table; 0: not read yet
  AmdSmiReport report_;
  std::unordered_map<std::string, size_t> gpus_;  ///< index; key: address
};

Status AmdSmiReader::begin_table(std::string_view title) {
  constexpr std::array<std::string_view, 8> kSkipped = {
      "ACCESS", "CACHE COHERANCY", "CACHE COHERENCY", "ATOMICS",
      "DMA",    "BI-DIRECTIONAL",  "COHERENCY",       "COHERANCY"};
  WEIR_TRY(end_table());
  title_ = title;
  has_head_ = false;
  rows_.clear();
  table_ = title == "WEIGHT"      ? Table::weights
           : title == "HOPS"      ? Table::hops
           : title == "LINK TYPE" ? Table::links
           : title == "NUMA BW"   ? Table::bandwidths
                                  : Table::skipped;
  if (table_ != Table::skipped || std::find(kSkipped.begin(), kSkipped.end(), title) != kSkipped.end())
    return {};
  return leave_out_line(source_, lines_.number(), notes_, fmt::format("unknown table {}", shown(title)));
}

Status AmdSmiReader::end_table() {
  if (table_ == Table::none || table_ == Table::skipped) return {};
  if (!has_head_) return refuse(fmt::format("the table {} ends before its head, the PCI addresses", title_));
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row] == 0)
      return refuse(fmt::format("the table {} ends without a row for {}", title_, report_.addresses[row]));
  }
  return {};
}

Status AmdSmiReader::read_head(const std::vector<std::string_view>& parts) {
  std::vector<std::string> addresses;
  for (const std::string_view part : parts) {
    if (!parse_pci_address(part, addresses.emplace_back()))
      return refuse(fmt::format("{} is no PCI address; expected one like 0000:0c:00.0", shown(part)));
  }
  if (report_.addresses.empty()) {
    if (addresses.size() > kMostSmiDevices)
      return refuse(
          fmt::format("the head has {} GPUs; expected at most {}", addresses.size(), kMostSmiDevices));
    for (size_t i = 0; i < addresses.size(); ++i) {
      if (!gpus_.emplace(addresses[i], i).second)
        return refuse(fmt::format("{} occurs twice in the head", addresses[i]));
    }
    report_.addresses = addresses;
  }
  if (addresses != report_.addresses)
    return refuse("the head differs from that of the first table; expected the same GPUs");
  has_head_ = true;
  rows_.assign(addresses.size(), 0);
  if (table_ == Table::links) {
    report_.links = SmiMatrix<RocmLink>(addresses.size());
  } else if (table_ == Table::bandwidths) {
    report_.bandwidths = SmiMatrix<AmdSmiBandwidth>(addresses.size());
  } else {
    values() = SmiMatrix<int>(addresses.size());
  }
  return {};
}

bool AmdSmiReader::read_value(size_t row, size_t column, std::string_view word) {
  int64_t value = -1;
  if (word != "N/A" && (!parse_int(word, value) || value < 0 || value > kMostSmiValue)) return false;
  values().at(row, column) = row == column ? 0 : static_cast<int>(value);
  return true;
}

bool AmdSmiReader::read_link(size_t row, size_t column, std::string_view word) {
  if ((word == "SELF") != (row == column)) return false;
  RocmLink& link = report_.links.at(row, column);
  if (word == "SELF") link = RocmLink::self;
  if (word == "XGMI") link = RocmLink::xgmi;
  if (word == "PCIE") link = RocmLink::pcie;
  return link != RocmLink::unknown || word == "N/A" || word == "UNKNOWN";
}

bool AmdSmiReader::read_bandwidth(size_t row, size_t column, std::string_view word) {
  if (word == "N/A") return true;
  AmdSmiBandwidth& cell = report_.bandwidths.at(row, column);
  const size_t dash = word.find('-');
  return dash != std::string_view::npos && parse_int(word.substr(0, dash), cell.least) &&
         parse_int(word.substr(dash + 1), cell.most) && cell.least >= 0 && cell.most >= cell.least &&
         cell.most <= kMostMegabytes;
}

Status AmdSmiReader::read_cell(size_t row, size_t column, std::string_view word) {
  const bool links = table_ == Table::links;
  const bool bandwidths = table_ == Table::bandwidths;
  const bool fits = links        ? read_link(row, column, word)
                    : bandwidths ? read_bandwidth(row, column, word)
                                 : read_value(row, column, word);
  if (fits) return {};
  const char* const expected = links        ? "SELF for the GPU itself, and XGMI, PCIE or N/A for others"
                               : bandwidths ? "MB/s like 50000-200000, or N/A"
                                            : "a whole number, or N/A";
  return refuse(fmt::format("the table {} has {} in row {} for {}; expected {}", title_, shown(word),
                            report_.addresses[row], report_.addresses[column], expected));
}

Status AmdSmiReader::read_row(const std::vector<std::string_view>& parts) {
  std::string address;
  if (!parse_pci_address(parts[0], address)) {
    return leave_out_line(source_, lines_.number(), notes_,
                          fmt::format("{} begins no row; expected a PCI address", shown(parts[0])));
  }
  const auto gpu = gpus_.find(address);
  if (gpu == gpus_.end()) return refuse(fmt::format("row {} belongs to no GPU of the head", address));
  const size_t row = gpu->second;
  if (rows_[row] != 0)
    return refuse(fmt::format("row {} occurs twice; the first is in line {}", address, rows_[row]));
  rows_[row] = lines_.number();
  if (parts.size() != rows_.size() + 1)
    return refuse(fmt::format("row {} has {} cells; expected {}", address, parts.size() - 1, rows_.size()));
  for (size_t column = 0; column < rows_.size(); ++column)
    WEIR_TRY(read_cell(row, column, parts[column + 1]));
  return {};
}

Status AmdSmiReader::read_line(std::string_view line) {
  const std::string_view text = trim(line);
  if (text.empty() || text.starts_with('#')) return {};
  if (text.ends_with(kTitleEnd)) return begin_table(text.substr(0, text.size() - kTitleEnd.size()));
  if (text == "Legend:") {
    WEIR_TRY(end_table());
    table_ = Table::skipped;
    return {};
  }
  if (table_ == Table::skipped) return {};
  if (table_ == Table::none)
    return leave_out_line(source_, lines_.number(), notes_, fmt::format("unknown line {}", shown(text)));
  return has_head_ ? read_row(words(line)) : read_head(words(line));
}

Result<AmdSmiReport> AmdSmiReader::read() {
  WEIR_TRY(check_text(source_));
  for (std::string_view line; lines_.next(line);) WEIR_TRY(read_line(line));
  WEIR_TRY(end_table());
  if (report_.links.size() == 0)
    return refuse("the table LINK TYPE is missing; expected the output of amd-smi topology without options");
  return std::move(report_);
}

}  // namespace

Result<AmdSmiReport> read_amd_smi(const Source& source, Notes* notes) {
  return AmdSmiReader(source, notes).read();
}

Result<Graph> graph_of(const AmdSmiReport& report, Notes* notes, const SmiOptions& options) {
  RocmSmiReport same;
  for (size_t gpu = 0; gpu < report.addresses.size(); ++gpu)
    same.gpus.push_back({.number = static_cast<int>(gpu)});
  same.weights = report.weights;
  same.hops = report.hops;
  same.links = report.links;
  auto graph = graph_of(same, notes, options);
  WEIR_TRY(graph.status());
  constexpr uint32_t kAmd = 0x1002;
  for (const Index node : graph->all(NodeKind::gpu)) {
    GpuFacts& gpu = *graph->get<GpuFacts>(node);
    gpu.pci.address = report.addresses[static_cast<size_t>(gpu.device)];
    gpu.pci.vendor = kAmd;
  }
  if (report.bandwidths.size() != report.addresses.size()) return graph;
  for (Link& link : graph->links()) {
    if (link.kind != LinkKind::xgmi) continue;
    const auto from = static_cast<size_t>(graph->get<GpuFacts>(link.from)->device);
    const auto to = static_cast<size_t>(graph->get<GpuFacts>(link.to)->device);
    const AmdSmiBandwidth& bandwidth = report.bandwidths.at(std::min(from, to), std::max(from, to));
    constexpr double kMegabytesPerGigabyte = 1000;
    link.gb_per_s = static_cast<double>(bandwidth.most) / kMegabytesPerGigabyte;
    if (bandwidth.least > 0 && bandwidth.most % bandwidth.least == 0)
      link.count = static_cast<int>(bandwidth.most / bandwidth.least);
  }
  return graph;
}

}  // namespace weir::topology
