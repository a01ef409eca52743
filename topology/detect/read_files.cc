// SPDX-License-Identifier: Apache-2.0

#include "topology/detect/read_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "src/drivers/files.h"
#include "topology/formats/any.h"
#include "topology/model/check.h"
#include "topology/model/merge.h"

namespace weir::topology {
namespace {

/// Returns the text of a file, or the argument itself if it is a one-line machine description.
Result<std::string> text_of(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    if (file.find('(') != std::string::npos) return file;
    return Status(
        Code::invalid_argument,
        fmt::format(
            "there is no file {}; expected a topology file, or a one-line machine description such as "
            "\"(8 gpu nvswitch 450, 8 nic 50)\"",
            file));
  }
  return drivers::read_whole(file, kMostBytes);
}

Result<Graph> graph_of_file(const std::string& file, Notes* notes) {
  const Result<std::string> text = text_of(file);
  if (!text.ok()) return text.status();
  const bool is_line = text.value() == file;
  return read_any({is_line ? "the line" : file, text.value()}, notes);
}

}  // namespace

Result<Graph> read_files(std::span<const std::string> files, Notes* notes) {
  std::vector<Graph> graphs;
  for (const std::string& file : files) {
    Result<Graph> graph = graph_of_file(file, notes);
    if (!graph.ok()) return graph.status();
    graphs.push_back(std::move(*graph));
  }
  // A single graph was checked by its reader; for 100,000 GPUs a check takes seconds.
  if (graphs.size() == 1) return std::move(graphs[0]);
  Result<Graph> merged = merge(graphs);
  if (!merged.ok()) return merged.status();
  WEIR_TRY(check(*merged));
  return merged;
}

}  // namespace weir::topology
