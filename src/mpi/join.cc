// SPDX-License-Identifier: Apache-2.0

#include "src/mpi/join.h"

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

#include "weir/launched.h"

namespace weir::mpi {
namespace {

constexpr const char* kJob = "WEIR_MPI_JOB";

struct Job {
  int rank = 0;
  int size = 1;
  std::optional<ncclUniqueId> id;
};

std::optional<ncclUniqueId> id_of(const std::string& digits) {
  ncclUniqueId id;
  if (digits.size() != 2 * sizeof(id.internal) ||
      digits.find_first_not_of("0123456789abcdef") != std::string::npos)
    return std::nullopt;
  for (std::size_t i = 0; i < sizeof(id.internal); ++i)
    id.internal[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return id;
}

/// Empty: the text is valid.
std::string read_job(const char* text, Job* job) {
  std::istringstream words(text);
  std::string digits, rest;
  const bool is_whole = (words >> job->rank >> job->size >> digits) && !(words >> rest);
  if (is_whole) job->id = id_of(digits);
  if (job->id && job->rank >= 0 && job->rank < job->size) return "";
  // The text is not shown, as an id holds the secret of the job.
  return std::string(kJob) +
         " is not as weir_jax sets it; expected \"RANK SIZE ID\", with 256 hexadecimal digits as ID";
}

std::string find_job(Job* job) {
  if (const char* text = std::getenv(kJob)) return read_job(text, job);
  const auto launched = find_launched([](const char* name) { return std::getenv(name); });
  if (!launched) return "";
  job->rank = launched->rank;
  job->size = launched->size;
  if (!launched->wrong.empty()) return launched->wrong;
  if (job->size == 1 || std::getenv("NCCL_COMM_ID") != nullptr) return "";
  return "rank " + std::to_string(job->rank) + " of " + std::to_string(job->size) +
         " does not know where the ranks meet; import weir_jax before jax and call weir_jax.initialize(), or "
         "set NCCL_COMM_ID to \"host:port\" of the first rank (weir run does)";
}

WorldResult failed(const Job& job, int code) {
  const std::string sentence = sentence_of(code);
  return {fail_aloud(code, sentence), std::make_shared<MpiCommunicator>(code, sentence, job.rank, job.size),
          job.id.has_value()};
}

}  // namespace

WorldResult join() {
  Job job;
  const std::string wrong = find_job(&job);
  if (!wrong.empty()) return failed(Job(), fail(MPIABI_ERR_OTHER, wrong));
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  int code = MPIABI_SUCCESS;
  if (job.id) {
    id = *job.id;
  } else {
    code = checked(ncclGetUniqueId(&id));
  }
  if (code == MPIABI_SUCCESS) code = checked(ncclCommInitRank(&comm, job.size, id, job.rank));
  if (code == MPIABI_SUCCESS)
    return {code, std::make_shared<MpiCommunicator>(comm, job.rank, job.size), job.id.has_value()};
  return failed(job, code);
}

}  // namespace weir::mpi
