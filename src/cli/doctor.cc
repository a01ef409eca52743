// SPDX-License-Identifier: Apache-2.0

#include "src/cli/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "src/net/interfaces.h"
#include "topology/detect/doctor.h"

namespace weir::cli {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Prints the interface that the bootstrap uses, and why.
void print_interface() {
  InterfaceSelection selection;
  selection.names = environment("NCCL_SOCKET_IFNAME");
  selection.family = environment("NCCL_SOCKET_FAMILY");
  const Result<InterfaceChoice> choice = choose_interface(selection);
  if (choice.ok()) {
    fmt::print("bootstrap: interface {}: {}\n", choice->interface.name, choice->why);
  } else {
    fmt::print("bootstrap: {}\n", choice.status().message());
  }
}

}  // namespace

int print_diagnoses(const topology::Graph& graph, drivers::Machine* machine, bool is_here) {
  using topology::Diagnosis;
  std::vector<Diagnosis> all = topology::diagnose(graph);
  if (machine != nullptr) {
    for (Diagnosis& diagnosis : topology::diagnose_host(*machine, graph)) all.push_back(std::move(diagnosis));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Diagnosis& a, const Diagnosis& b) { return a.weight < b.weight; });
  if (is_here) print_interface();
  bool wrong = false;
  for (const Diagnosis& diagnosis : all) {
    wrong |= diagnosis.weight == Diagnosis::Weight::wrong;
    fmt::print("{}: {}\n", diagnosis.weight == Diagnosis::Weight::wrong ? "WRONG" : "note",
               diagnosis.finding);
    if (!diagnosis.remedy.empty()) fmt::print("       {}\n", diagnosis.remedy);
  }
  if (all.empty()) fmt::print("nothing is wrong or slow as far as weir can detect\n");
  return wrong ? 1 : 0;
}

}  // namespace weir::cli
