// SPDX-License-Identifier: Apache-2.0
/// Rates of collectives on well-known machines, as others have published them, and how they are printed.
/// Tests: tests/cli/compare_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "src/base/types.h"

namespace weir::cli {

/// What a figure is.
enum class RateKind : uint8_t {
  bound,     ///< of a planner: what no plan can exceed in its model of the machine, and what its trees reach
  measured,  ///< on the machine, by its users
  expected,  ///< by the maintainers of a library, for a machine that is set up well
  none       ///< publications compare libraries there, but no figure in GB/s was found
};
const char* name(RateKind kind);

struct PublishedRate {
  const char* machine;
  const char* line;  ///< topology/formats/synthetic.h
  Collective collective;
  double gb_per_s;  ///< 0: none
  bool bus;         ///< busbw, else algbw
  RateKind kind;
  const char* source;  ///< publication, year, and what else is known of the figure
};

std::span<const PublishedRate> published_rates();

/// A published figure and ours, in the same measure, in GB/s.
struct RateRow {
  PublishedRate figure;
  double bound = 0;
  double predicted = 0;
  bool simulated = false;
};

/// An array with an object for each row.
std::string rates_json(std::span<const RateRow> rows);
/// The parts of a table: a row can be printed as soon as its machine is planned.
std::string rates_title();
/// REQUIRES: a figure of published_rates(), for the number of its source.
std::string rates_line(const RateRow& row);
/// What stands below the rows: the description of each machine, and the sources by their numbers.
std::string rates_notes();

}  // namespace weir::cli
