// SPDX-License-Identifier: Apache-2.0
/// What the RAS port tells of a job, in the forms of NCCL 2.28: sections of text for people, or JSON.
///
/// The words and the columns are NCCL's (docs/observability.md says where they come from), so that tools
/// which read them go on. What NCCL does not say is added in sections, and under keys, of its own: who waits
/// for whom, why a rank has failed, who looks for the others of a communicator.
#pragma once

#include <string>

#include "src/survey/job.h"

namespace weir::survey {

/// What the reports say of the library.
struct RasVersions {
  std::string nccl = "2.28.9";
  int cuda_runtime = 0;  ///< as cudaRuntimeGetVersion has it; 0: there is none
  int cuda_driver = 0;
};

/// `verbose`: lists every rank and process that differs from most others, not just few of them.
std::string ras_text(const Job& job, const RasVersions& versions, bool verbose);
std::string ras_json(const Job& job, const RasVersions& versions);

/// "OK", "MISMATCH", "INCOMPLETE,ERROR".
std::string error_words(const JobCommunicator& communicator);
/// "GPU 3 managed by process 4711 on node 10.0.0.1".
std::string place_words(const Job& job, const JobRank& rank);
/// "Process 4711 on node 10.0.0.1 managing GPUs 0,1".
std::string process_words(const JobProcess& process);

/// Of the local clock: "2026-11-25 14:03:59".
std::string timestamp();

}  // namespace weir::survey
