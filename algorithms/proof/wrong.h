// SPDX-License-Identifier: Apache-2.0
/// The error results of proofs.
/// Tests: tests/algorithms/cluster_proof_test.cc
#pragma once

#include <fmt/format.h>

#include <utility>

#include "src/base/status.h"

namespace weir::algorithms {

/// The first problem found.
template <typename... Words>
Status wrong(fmt::format_string<Words...> format, Words&&... words) {
  return {Code::invalid_argument, fmt::format(format, std::forward<Words>(words)...)};
}

}  // namespace weir::algorithms
