// SPDX-License-Identifier: Apache-2.0
/// The grammar of machines in a line, as tables: read_synthetic() takes words and limits from them, and
/// `weir help machine` and docs/machine.md are made of them.
/// Tests: tests/topology/synthetic_test.cc, tests/cli/help_page_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::topology {

enum class MachineWord : uint8_t {
  hosts,
  gpu,
  nvswitch,
  mesh,
  ring,
  cube,
  mi250,
  pcie,
  nic,
  numa,
  leaf,
  rail,
  by,
  ratio,
  spine,
};

/// A word of the grammar.
struct MachineTerm {
  MachineWord which;
  std::string_view word;  ///< as it stands in the line: "nvswitch"
  std::string_view form;  ///< with its number: "nvswitch GB/S"
  std::string_view meaning;
};

enum class MachineNumber : uint8_t { hosts, count, gb_per_s, ratio };

/// A kind of number of the grammar.
struct MachineLimits {
  MachineNumber which;
  std::string_view form;  ///< as rules and words name it: "GB/S"
  double least;
  double most;
  std::string_view meaning;
};

/// A rule of the grammar: `name := form`.
struct MachineRule {
  std::string_view name;
  std::string_view form;
};

/// All words, in the order of MachineWord.
std::span<const MachineTerm> machine_terms();
const MachineTerm& term_of(MachineWord word);
/// All kinds of numbers, in the order of MachineNumber.
std::span<const MachineLimits> machine_limits();
const MachineLimits& limits_of(MachineNumber number);
std::span<const MachineRule> machine_rules();
/// What holds where the word is left out; empty: nothing does.
std::string left_out(MachineWord word);
/// Examples, each with what it is.
std::span<const MachineRule> machine_examples();

}  // namespace weir::topology
