// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/rocm_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace weir::topology {
namespace {

constexpr std::string_view kWeights = "Weight between two GPUs";
constexpr std::string_view kHops = "Hops between two GPUs";
constexpr std::string_view kLinks = "Link Type between two GPUs";
constexpr std::string_view kNumas = "Numa Nodes";

class RocmSmiReader {
 public:
  RocmSmiReader(const Source& source, Notes* notes) : source_(source), notes_(notes), lines_(source.text) {}

  Result<RocmSmiReport> read();

 private:
  enum class Part { none, weights, hops, links, numas, skipped };

  Status read_line(std::string_view line);
  Status read_banner(std::string_view title);
  Status read_head(const std::vector<std::string_view>& parts);
  Status read_row(const std::vector<std::string_view>& parts);
  Status read_cell(size_t row, size_t column, std::string_view word);
  Status read_numa(std::string_view line);
  Status end_part();
  template <typename Cell>
  Status check_pairs(const SmiMatrix<Cell>& matrix);
  Status refuse(const std::string& sentence) const {
    return topology::refuse(source_, lines_.number(), sentence);
  }
  Status leave_out(size_t line, const std::string& sentence) const {
    return smi::leave_out(notes_, topology::refuse(source_, line, sentence).message());
  }
  SmiMatrix<int>& values() { return part_ == Part::weights ? matrix_.weights : matrix_.hops; }

  const Source& source_;
  Notes* notes_;
  Lines lines_;
  Part part_ = Part::none;
  std::string title_;
  bool has_head_ = false;     ///< whether the head of the current matrix was read
  std::vector<size_t> rows_;  ///< line of each row of the current matrix; 0: not read yet
  std::vector<std::string> titles_;
  RocmSmiReport matrix_;
  std::unordered_map<int, size_t> gpus_;  ///< index; key: number
};

Status RocmSmiReader::end_part() {
  if (part_ != Part::weights && part_ != Part::hops && part_ != Part::links) return {};
  if (!has_head_) return refuse(fmt::format("the section {} ends before its head, GPU0 GPU1 ...", title_));
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (rows_[row] == 0) {
      return refuse(
          fmt::format("the section {} ends without a row for GPU{}", title_, matrix_.gpus[row].number));
    }
  }
  if (part_ == Part::links) return check_pairs(matrix_.links);
  return check_pairs(values());
}

template <typename Cell>
Status RocmSmiReader::check_pairs(const SmiMatrix<Cell>& matrix) {
  for (size_t row = 0; row < matrix.size(); ++row) {
    for (size_t column = 0; column < row; ++column) {
      if (matrix.at(row, column) == matrix.at(column, row)) continue;
      WEIR_TRY(leave_out(rows_[row],
                         fmt::format("{}: the cells of GPU{} and GPU{} differ; the upper row's cell is used",
                                     title_, matrix_.gpus[row].number, matrix_.gpus[column].number)));
      break;  // one note per row, to avoid a quadratic number of notes
    }
  }
  return {};
}

Status RocmSmiReader::read_banner(std::string_view title) {
  WEIR_TRY(end_part());
  part_ = Part::none;
  if (title.empty() || title == "ROCm System Management Interface" || title == "End of ROCm SMI Log")
    return {};
  if (std::find(titles_.begin(), titles_.end(), title) != titles_.end())
    return refuse(
        fmt::format("the section {} occurs twice; expected the output for one host", title.substr(0, 100)));
  title_ = title;
  has_head_ = false;
  if (title == kWeights) part_ = Part::weights;
  if (title == kHops) part_ = Part::hops;
  if (title == kLinks) part_ = Part::links;
  if (title == kNumas) part_ = Part::numas;
  if (part_ != Part::none) {
    titles_.push_back(title_);
    return {};
  }
  part_ = Part::skipped;
  return leave_out(lines_.number(), fmt::format("unknown section \"{}\"", title.substr(0, 100)));
}

Status RocmSmiReader::read_head(const std::vector<std::string_view>& parts) {
  std::vector<int> numbers;
  for (const std::string_view part : parts) {
    if (!smi::parse_gpu(part, numbers.emplace_back()))
      return refuse(
          fmt::format("\"{}\" is not a GPU; expected a name like GPU0 or GPU[0]", part.substr(0, 100)));
  }
  if (matrix_.gpus.empty()) {
    if (numbers.size() > kMostSmiDevices) {
      return refuse(
          fmt::format("the head has {} GPUs; expected at most {}", numbers.size(), kMostSmiDevices));
    }
    for (const int number : numbers) {
      if (!gpus_.emplace(number, matrix_.gpus.size()).second)
        return refuse(fmt::format("GPU{} occurs twice in the head", number));
      matrix_.gpus.push_back({.number = number});
    }
  }
  const bool same = std::equal(numbers.begin(), numbers.end(), matrix_.gpus.begin(), matrix_.gpus.end(),
                               [](int number, const RocmSmiReportGpu& gpu) { return number == gpu.number; });
  if (!same) return refuse("the head differs from that of the first matrix; expected the same GPUs");
  has_head_ = true;
  rows_.assign(numbers.size(), 0);
  if (part_ == Part::links) {
    matrix_.links = SmiMatrix<RocmLink>(numbers.size());
  } else {
    values() = SmiMatrix<int>(numbers.size());
  }
  return {};
}

Status RocmSmiReader::read_cell(size_t row, size_t column, std::string_view word) {
  const auto wrong = [&](std::string_view expected) {
    return refuse(fmt::format("{} has \"{}\" in row GPU{} for GPU{}; expected {}", title_,
                              word.substr(0, 100), matrix_.gpus[row].number, matrix_.gpus[column].number,
                              expected));
  };
  const bool unknown = word == "N/A";
  if (row == column && word != "0" && !unknown) return wrong("0 for a GPU and itself");
  if (part_ == Part::links) {
    RocmLink& link = matrix_.links.at(row, column);
    if (row == column) link = RocmLink::self;
    if (row == column || unknown) return {};
    if (word != "XGMI" && word != "PCIE") return wrong("XGMI, PCIE or N/A");
    link = word == "XGMI" ? RocmLink::xgmi : RocmLink::pcie;
    return {};
  }
  int64_t value = -1;
  if (row == column) value = 0;
  if (row != column && !unknown && (!parse_int(word, value) || value < 0 || value > kMostSmiValue))
    return wrong(fmt::format("a whole number from 0 to {}, or N/A", kMostSmiValue));
  values().at(row, column) = static_cast<int>(value);
  return {};
}

Status RocmSmiReader::read_row(const std::vector<std::string_view>& parts) {
  int number = 0;
  if (!smi::parse_gpu(parts[0], number)) {
    return leave_out(lines_.number(),
                     fmt::format("\"{}\" is not a row of a matrix; expected a line that begins with GPU0",
                                 parts[0].substr(0, 100)));
  }
  const auto gpu = gpus_.find(number);
  if (gpu == gpus_.end()) return refuse(fmt::format("row GPU{} belongs to no GPU of the head", number));
  const size_t row = gpu->second;
  if (rows_[row] != 0)
    return refuse(fmt::format("row GPU{} occurs twice; the first is in line {}", number, rows_[row]));
  rows_[row] = lines_.number();
  if (parts.size() != rows_.size() + 1) {
    return refuse(fmt::format("row GPU{} has {} cells; expected {}", number, parts.size() - 1, rows_.size()));
  }
  for (size_t column = 0; column < rows_.size(); ++column)
    WEIR_TRY(read_cell(row, column, parts[column + 1]));
  return {};
}

/// Reads "GPU[0] : (Topology) Numa Node: 1".
Status RocmSmiReader::read_numa(std::string_view line) {
  const size_t colon = std::min(line.find(':'), line.size());
  const auto parts = words(line.substr(std::min(colon + 1, line.size())));
  int number = 0;
  constexpr size_t kWords = 4;
  const bool fits = parts.size() == kWords && smi::parse_gpu(trim(line.substr(0, colon)), number) &&
                    parts[1] == "Numa" && (parts[2] == "Node:" || parts[2] == "Affinity:");
  if (!fits) {
    return leave_out(lines_.number(),
                     fmt::format("unknown line \"{}\"; expected one like GPU[0] : (Topology) Numa Node: 1",
                                 trim(line).substr(0, 100)));
  }
  const auto gpu = gpus_.find(number);
  if (gpu == gpus_.end()) return refuse(fmt::format("GPU{} is in no matrix before this line", number));
  int& field =
      parts[2] == "Node:" ? matrix_.gpus[gpu->second].numa_node : matrix_.gpus[gpu->second].numa_affinity;
  int64_t value = -1;
  if (parts[3] != "N/A" && (!parse_int(parts[3], value) || value < -1 || value > kMostSmiValue)) {
    return refuse(fmt::format("\"{}\" is not a NUMA node number; expected one from -1 to {}",
                              parts[3].substr(0, 100), kMostSmiValue));
  }
  if (field != -1 && field != value)
    return refuse(fmt::format("GPU{} has two values for {} {}", number, parts[1], parts[2]));
  field = static_cast<int>(value);
  return {};
}

Status RocmSmiReader::read_line(std::string_view line) {
  const std::string_view text = trim(line);
  if (text.empty() || text.starts_with('#')) return {};
  if (text.starts_with("==") && text.ends_with("==")) {
    const size_t begin = std::min(text.find_first_not_of('='), text.size());
    const size_t end = std::max(text.find_last_not_of('=') + 1, begin);
    return read_banner(trim(text.substr(begin, end - begin)));
  }
  switch (part_) {
    case Part::weights:
    case Part::hops:
    case Part::links: return has_head_ ? read_row(words(line)) : read_head(words(line));
    case Part::numas: return read_numa(line);
    case Part::skipped: return {};
    case Part::none: break;
  }
  return leave_out(lines_.number(), fmt::format("unknown line \"{}\"", text.substr(0, 100)));
}

Result<RocmSmiReport> RocmSmiReader::read() {
  if (source_.text.size() > kMostBytes) {
    return topology::refuse(
        source_, 1,
        fmt::format("the text has {} bytes; expected at most {}", source_.text.size(), kMostBytes));
  }
  for (std::string_view line; lines_.next(line);) WEIR_TRY(read_line(line));
  WEIR_TRY(end_part());
  if (matrix_.links.size() == 0)
    return refuse(
        fmt::format("the section {} is missing; expected the output of rocm-smi --showtopo", kLinks));
  return std::move(matrix_);
}

}  // namespace

Result<RocmSmiReport> read_rocm_smi(const Source& source, Notes* notes) {
  return RocmSmiReader(source, notes).read();
}

}  // namespace weir::topology
