// build/bench/against_rccl FIGURES FOLDER...: our trees beside what RCCL plans, on one node of each machine
// of which FIGURES (rccl.csv) has a row and a folder has the XML. Both use RCCL's link figures
// (rccl_rates.h). Where the cut of the row is not the narrowest cut that we see, both do not mean the same
// links, and that is said. Ends with the number of machines on which we are worse; the exit code is 0 where
// that is none.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/planner/tree_planner.h"
#include "bench/planner/rccl_rates.h"
#include "topology/formats/any.h"

namespace weir::planner_bench {
namespace {

namespace fs = std::filesystem;
using algorithms::TreePlan;
using topology::NodeKind;

/// Busbw in GB/s.
struct Figures {
  std::string machine;
  std::optional<double> hand;
  std::optional<double> generic;
  std::optional<double> rings;
  std::optional<double> cut;
};

struct Ours {
  double all_gather = 0;
  double all_reduce = 0;
  double cut = 0;          ///< bound of the all-gather
  double gather_part = 0;  ///< of the bound
  double reduce_part = 0;
};

Result<std::string> text_of(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    return Status(Code::invalid_argument, fmt::format("{} cannot be read; expected a file", file.string()));
  }
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

Result<std::vector<Figures>> read_figures(const std::string& file) {
  const auto text = text_of(file);
  WEIR_TRY(text.status());
  std::vector<Figures> all;
  topology::Lines lines(*text);
  for (std::string_view line; lines.next(line);) {
    if (line.empty() || line.starts_with('#') || line.starts_with("machine,")) continue;
    std::vector<std::string_view> cells(1);
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find(',', begin), line.size());
      cells.back() = line.substr(begin, end - begin);
      begin = end + 1;
      if (begin <= line.size()) cells.emplace_back();
    }
    Figures row;
    row.machine = cells[0];
    std::optional<double>* const places[] = {&row.hand, &row.generic, &row.rings, &row.cut};
    bool right = cells.size() == 1 + std::size(places);
    for (size_t i = 0; right && i < std::size(places); ++i) {
      double value = 0;
      if (cells[i + 1] == "-") continue;
      right = topology::parse_number(cells[i + 1], value) && value >= 0;
      *places[i] = value;
    }
    if (!right) {
      return topology::refuse(
          {file, *text}, lines.number(),
          fmt::format("\"{}\"; expected machine,hand,generic,rings,cut in GB/s, or -", line));
    }
    all.push_back(std::move(row));
  }
  return all;
}

double gb_per_s(double time, double factor) { return algorithms::kCapacityUnit / time * factor; }

Result<Ours> plan(const fs::path& file) {
  const auto text = text_of(file);
  WEIR_TRY(text.status());
  topology::Notes notes;
  auto graph = topology::read_any({file.filename().string(), *text}, &notes);
  WEIR_TRY(graph.status());
  use_rccl_rates(*graph);
  const auto network = algorithms::network_of(*graph, graph->all(NodeKind::gpu));
  WEIR_TRY(network.status());
  const auto gather = algorithms::plan_trees(*network, Collective::all_gather);
  WEIR_TRY(gather.status());
  const auto reduce = algorithms::plan_trees(*network, Collective::all_reduce);
  WEIR_TRY(reduce.status());
  const double share = static_cast<double>(network->ranks() - 1) / network->ranks();
  return Ours{gb_per_s(gather->time.convert_to<double>(), share),
              gb_per_s(reduce->time.convert_to<double>(), 2 * share),
              gb_per_s(gather->bound.time.value(), share), gather->part_of_bound.convert_to<double>(),
              reduce->part_of_bound.convert_to<double>()};
}

std::string figure(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

/// What is left to say of a row.
std::string remark(const Figures& theirs, const Ours& ours, bool worse) {
  std::string text = worse ? "WORSE" : "";
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (theirs.cut && std::abs(*theirs.cut - ours.cut) > 0.06) {
    add(fmt::format("other links than theirs: cut {:.1f}, theirs {:.1f}", ours.cut, *theirs.cut));
  }
  const double part = std::min(ours.gather_part, ours.reduce_part);
  if (part < 1) add(fmt::format("{:.4f} of the bound with few trees", part));
  return text;
}

int compare(const std::string& figures_file, const std::vector<std::string>& folders) {
  const auto figures = read_figures(figures_file);
  if (!figures.ok()) {
    fmt::print(stderr, "against_rccl: {}\n", figures.status().message());
    return 2;
  }
  fmt::print("busbw in GB/s, all by RCCL's link figures; RCCL's are model values of its topology explorer\n");
  fmt::print("{:<28}{:>8}{:>8}{:>8}{:>8} |{:>8}{:>8}{:>8}\n", "machine", "hand", "generic", "rings", "cut",
             "AG", "AR", "AG/RCCL");
  size_t seen = 0;
  size_t worse = 0;
  size_t refused = 0;
  for (const Figures& theirs : *figures) {
    const auto at = std::find_if(folders.begin(), folders.end(), [&](const std::string& folder) {
      return fs::exists(fs::path(folder) / (theirs.machine + ".xml"));
    });
    if (at == folders.end()) continue;
    ++seen;
    const auto ours = plan(fs::path(*at) / (theirs.machine + ".xml"));
    if (!ours.ok()) {
      ++refused;
      fmt::print("{:<28}REFUSED: {}\n", theirs.machine, ours.status().message());
      continue;
    }
    const double best = std::max(theirs.hand.value_or(0), theirs.generic.value_or(0));
    const bool lost = std::min(ours->all_gather, ours->all_reduce) < best * (1 - 1e-9);
    worse += lost ? 1 : 0;
    const std::string times = best > 0 ? fmt::format("{:.2f}", ours->all_gather / best) : "-";
    fmt::print("{:<28}{:>8}{:>8}{:>8}{:>8} |{:>8.1f}{:>8.1f}{:>8}  {}\n", theirs.machine, figure(theirs.hand),
               figure(theirs.generic), figure(theirs.rings), figure(theirs.cut), ours->all_gather,
               ours->all_reduce, times, remark(theirs, *ours, lost));
  }
  fmt::print("{} of {} machines are here: worse on {}, refused {}\n", seen, figures->size(), worse, refused);
  return seen > 0 && worse + refused == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weir::planner_bench

int main(int count, char** words) {
  if (count < 3) {
    fmt::print(stderr, "usage: against_rccl FIGURES.csv FOLDER...\n");
    return 2;
  }
  return weir::planner_bench::compare(words[1], {words + 2, words + count});
}
