// SPDX-License-Identifier: Apache-2.0
/// The RAS port's report of a job, in the formats of NCCL 2.28: sections of text, or JSON.
///
/// Words and columns are NCCL's (docs/observability.md names the sources), so that tools that parse them keep
/// working. Information that NCCL does not have is added in separate sections, and under separate keys: which
/// ranks wait for which, why a rank has failed, which ranks are joining.
/// Tests: tests/survey/ras_report_test.cc
#pragma once

#include <string>

#include "src/survey/job.h"

namespace weir::survey {

/// The versions in a report.
struct RasVersions {
  std::string nccl = "2.28.9";
  int cuda_runtime = 0;  ///< version as from cudaRuntimeGetVersion; 0: no CUDA runtime
  int cuda_driver = 0;
};

/// The report. `verbose`: lists every rank and process that differs from most others, however many there are.
std::string ras_text(const Job& job, const RasVersions& versions, bool verbose);
std::string ras_json(const Job& job, const RasVersions& versions);
/// What is not as it should be, one line for each check, as the lines of NCCL's diagnostics begin.
std::string ras_checks(const Job& job);

/// "OK", "MISMATCH", "INCOMPLETE,ERROR".
std::string error_words(const JobCommunicator& communicator);
/// "GPU 3 managed by process 4711 on node 10.0.0.1".
std::string place_words(const Job& job, const JobRank& rank);
/// "Process 4711 on node 10.0.0.1 managing GPUs 0,1".
std::string process_words(const JobProcess& process);

/// Local time, as "2026-11-25 14:03:59".
std::string timestamp();

}  // namespace weir::survey
