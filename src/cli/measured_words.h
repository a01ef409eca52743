// SPDX-License-Identifier: Apache-2.0
/// What was measured, for people. Pure.
#pragma once

#include <string>

#include "topology/model/measured.h"

namespace weir::cli {

/// In one line: how many leaves, from what, how sure.
std::string verdict_words(const topology::MeasuredLeaves& found);
/// That, then leaves with hosts and speeds, and hosts that are slow or of unknown place.
std::string measured_words(const topology::Measured& measured, const topology::MeasuredLeaves& found);

}  // namespace weir::cli
