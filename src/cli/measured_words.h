// SPDX-License-Identifier: Apache-2.0
/// Formats measurements as text. Pure.
/// Tests: tests/topology/measure_test.py, tests/cli/measure_test.cc
#pragma once

#include <string>

#include "topology/model/measured.h"

namespace weir::cli {

/// One line: the number of leaves, the evidence, and the confidence.
std::string verdict_words(const topology::MeasuredLeaves& found);
/// That line, followed by the leaves with their hosts and speeds, slow hosts, and hosts whose leaf is
/// unknown.
std::string measured_words(const topology::Measured& measured, const topology::MeasuredLeaves& found);

}  // namespace weir::cli
