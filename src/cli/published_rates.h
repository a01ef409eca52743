// SPDX-License-Identifier: Apache-2.0
/// Rates of collectives on well-known machines, as others have published them.
/// Tests: tests/cli/compare_test.cc
#pragma once

#include <cstdint>
#include <span>

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

}  // namespace weir::cli
