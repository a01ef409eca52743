// SPDX-License-Identifier: Apache-2.0
// build/bench/against_rccl FIGURES FOLDER...: compares our plans with RCCL's plans, on one and two nodes of
// each machine that has a row in FIGURES (rccl.csv) and an XML file in a folder. Both use RCCL's link rates
// (rccl_rates.h). If the cut of the row differs from the narrowest cut that the planner finds, the two use
// different links; the output notes that. Prints the number of machines on which our plans are worse; exit
// code 0 if there are none.
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

#include "algorithms/cluster/hosts.h"
#include "algorithms/planner/planner.h"
#include "bench/planner/rccl_rates.h"
#include "bench/planner/two_machines.h"
#include "topology/formats/any.h"

namespace weir::planner_bench {
namespace {

namespace fs = std::filesystem;
using topology::NodeKind;

/// Busbw in GB/s.
struct Figures {
  std::string machine;
  std::optional<double> hand;
  std::optional<double> generic;
  std::optional<double> rings;
  std::optional<double> cut;
  std::optional<double> hand_of_two;
  std::optional<double> generic_of_two;
};

struct Ours {
  double all_gather = 0;
  double all_reduce = 0;
  double cut = 0;          ///< bound of the all-gather over all links, as RCCL's explorer counts them
  double gather_part = 0;  ///< fraction of the all-gather's bound that the plan reaches
  double reduce_part = 0;
  std::string limit;  ///< text: the links that bound the all-gather
};

/// A row of the figures, and the machine's file.
struct Machine {
  Figures theirs;
  Result<topology::Graph> graph;
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
    std::optional<double>* const places[] = {&row.hand, &row.generic,     &row.rings,
                                             &row.cut,  &row.hand_of_two, &row.generic_of_two};
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
          fmt::format(
              "invalid line \"{}\"; expected machine,hand,generic,rings,cut,hand2,generic2 in GB/s, or -",
              line));
    }
    all.push_back(std::move(row));
  }
  return all;
}

double gb_per_s(double time, double factor) { return algorithms::kCapacityUnit / time * factor; }

Result<topology::Graph> machine_in(const fs::path& file) {
  const auto text = text_of(file);
  WEIR_TRY(text.status());
  topology::Notes notes;
  auto graph = topology::read_any({file.filename().string(), *text}, &notes);
  WEIR_TRY(graph.status());
  use_rccl_rates(*graph);
  return graph;
}

Result<Ours> plan(const topology::Graph& graph) {
  const auto network = algorithms::network_of(graph, graph.all(NodeKind::gpu));
  WEIR_TRY(network.status());
  const std::vector<char> between = algorithms::switches_between_hosts(*network, graph);
  const auto gather = algorithms::plan_collective(*network, between, Collective::all_gather);
  WEIR_TRY(gather.status());
  const auto reduce = algorithms::plan_collective(*network, between, Collective::all_reduce);
  WEIR_TRY(reduce.status());
  const auto all_links = algorithms::network_of(graph, graph.all(NodeKind::gpu), algorithms::Ways::all);
  WEIR_TRY(all_links.status());
  const auto cut = algorithms::lower_bound(*all_links, Collective::all_gather);
  WEIR_TRY(cut.status());
  const double share = static_cast<double>(network->ranks() - 1) / network->ranks();
  return Ours{gb_per_s(gather->time.convert_to<double>(), share),
              gb_per_s(reduce->time.convert_to<double>(), 2 * share),
              gb_per_s(cut->time.value(), share),
              gather->part_of_bound.convert_to<double>(),
              reduce->part_of_bound.convert_to<double>(),
              algorithms::explain(gather->bound, *network, graph)};
}

std::string figure(const std::optional<double>& value) { return value ? fmt::format("{:.1f}", *value) : "-"; }

/// RCCL's better plan; 0 if neither is known.
double best_of(const std::optional<double>& hand, const std::optional<double>& generic) {
  return std::max(hand.value_or(0), generic.value_or(0));
}

/// Remarks on a row.
std::string remark(const std::optional<double>& cut, const Ours& ours) {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (cut && std::abs(*cut - ours.cut) > 0.06)
    add(fmt::format("links differ from RCCL's: cut {:.1f}, RCCL's {:.1f}", ours.cut, *cut));
  const double part = std::min(ours.gather_part, ours.reduce_part);
  if (part < 1) add(fmt::format("{:.4f} of the bound", part));
  return text;
}

/// Totals of one table.
struct Count {
  int seen = 0;
  int worse = 0;
  int refused = 0;
};

void report(const std::string& name, const std::string& theirs, double best, const std::optional<double>& cut,
            const Result<Ours>& ours, Count& count) {
  ++count.seen;
  if (!ours.ok()) {
    ++count.refused;
    fmt::print("{:<28}REFUSED: {}\n", name, ours.status().message());
    return;
  }
  const bool lost = std::min(ours->all_gather, ours->all_reduce) < best * (1 - 1e-9);
  count.worse += lost ? 1 : 0;
  const std::string times = best > 0 ? fmt::format("{:.2f}", ours->all_gather / best) : "-";
  fmt::print("{:<28}{} |{:>8.1f}{:>8.1f}{:>8}  {}\n", name, theirs, ours->all_gather, ours->all_reduce, times,
             remark(cut, *ours));
  if (lost) fmt::print("{:<28}WORSE; {}\n", "", ours->limit);
}

Count compare_one(const std::vector<Machine>& machines) {
  fmt::print(
      "One node: busbw in GB/s, all with RCCL's link rates; RCCL's are model values of its topology "
      "explorer\n");
  fmt::print("{:<28}{:>8}{:>8}{:>8}{:>8} |{:>8}{:>8}{:>8}\n", "machine", "hand", "generic", "rings", "cut",
             "AG", "AR", "AG/RCCL");
  Count count;
  for (const auto& [theirs, graph] : machines) {
    report(theirs.machine,
           fmt::format("{:>8}{:>8}{:>8}{:>8}", figure(theirs.hand), figure(theirs.generic),
                       figure(theirs.rings), figure(theirs.cut)),
           best_of(theirs.hand, theirs.generic), theirs.cut, graph.ok() ? plan(*graph) : graph.status(),
           count);
  }
  return count;
}

double nic_sum(const topology::Graph& graph) {
  double sum = 0;
  for (const topology::Index port : graph.all(NodeKind::port))
    sum += graph.get<topology::PortFacts>(port)->mbit_per_s / 8000;
  return sum;
}

Count compare_two(const std::vector<Machine>& machines) {
  fmt::print(
      "\nTwo nodes, NICs of equal number at one switch; NICs: sum of a node's NICs according to its file\n");
  fmt::print("{:<28}{:>10}{:>8}{:>8} |{:>8}{:>8}{:>8}\n", "machine", "NICs", "hand", "generic", "AG", "AR",
             "AG/RCCL");
  Count count;
  for (const auto& [theirs, graph] : machines) {
    if (!graph.ok() || graph->all(NodeKind::port).empty()) continue;
    report(theirs.machine,
           fmt::format("{:>10.1f}{:>8}{:>8}", nic_sum(*graph), figure(theirs.hand_of_two),
                       figure(theirs.generic_of_two)),
           best_of(theirs.hand_of_two, theirs.generic_of_two), std::nullopt, plan(two_machines(*graph)),
           count);
  }
  return count;
}

int compare(const std::string& figures_file, const std::vector<std::string>& folders) {
  const auto figures = read_figures(figures_file);
  if (!figures.ok()) {
    fmt::print(stderr, "against_rccl: {}\n", figures.status().message());
    return 2;
  }
  std::vector<Machine> machines;
  for (const Figures& theirs : *figures) {
    const auto at = std::find_if(folders.begin(), folders.end(), [&](const std::string& folder) {
      return fs::exists(fs::path(folder) / (theirs.machine + ".xml"));
    });
    if (at != folders.end())
      machines.push_back({theirs, machine_in(fs::path(*at) / (theirs.machine + ".xml"))});
  }
  const Count one = compare_one(machines);
  const Count two = compare_two(machines);
  fmt::print(
      "one node: {} of {} machines found, worse on {}, refused {}; two nodes: {} machines, worse on {}, "
      "refused {}\n",
      one.seen, figures->size(), one.worse, one.refused, two.seen, two.worse, two.refused);
  return one.seen > 0 && one.worse + one.refused + two.worse + two.refused == 0 ? 0 : 1;
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
