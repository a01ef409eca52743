// SPDX-License-Identifier: Apache-2.0
/// Reports of the processes of a job as flight records of PyTorch (version 2.10 of their format): its
/// analyzer (torchfrtrace) finds in them which rank has missed a call, or has called something else.
///
/// Communicators become process groups. Calls that not all ranks of a communicator have recorded any more are
/// left out, so that nobody is accused of having missed them. Each direction between two ranks is a process
/// group of its own with its messages in order, as the analyzer can compare them only so. A rank's number in
/// the job is the one that it has in the largest communicator.
///
/// Pure.
/// Tests: tests/cli/flight_records_test.cc, tests/cli/flight_records_test.py
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "src/core/diagnosis/process_report.h"

namespace weir::cli {

struct FlightRecords {
  std::map<int, nlohmann::ordered_json> by_rank;  ///< of the ranks that have reported
  std::vector<std::string> left_out;              ///< sentences: what is not in them, and why
  bool complete = true;                           ///< false: some rank of the job has not reported
};

FlightRecords flight_records_of(const std::vector<core::ProcessReport>& reports);

}  // namespace weir::cli
