// SPDX-License-Identifier: Apache-2.0
/// The rank of this process and the number of processes, from the launcher's environment variables: `weir
/// run` and torchrun, OpenMPI, MPICH and its derivatives, and srun.
///
/// Header-only. Pure; all functions are thread-safe.
/// Tests: tests/bench/placement_test.cc
#pragma once

#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// Returns the value of an environment variable, or null: getenv, or a table in tests.
using Lookup = std::function<const char*(const char*)>;

struct Launched {
  int rank = 0;
  int size = 1;
  std::optional<int> local_rank;
  std::optional<int> local_size;
  std::string wrong;  ///< what is wrong with the launcher's numbers; empty: they are valid
};

/// Parses a whole decimal number; nullopt for any other text.
inline std::optional<int> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view all = text;
  int value = 0;
  const auto [stop, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || stop != all.data() + all.size()) return std::nullopt;
  return value;
}

/// The values of the launcher that started this process; nullopt if there is none.
inline std::optional<Launched> find_launched(const Lookup& lookup) {
  struct Launcher {
    const char* rank;
    const char* size;
    const char* local_rank;
    const char* local_size;
  };
  // The innermost launcher comes first: `srun weir run ...` sets the variables of both.
  constexpr Launcher kLaunchers[] = {
      {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
  };
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> rank = number_in(lookup(launcher.rank)), size = number_in(lookup(launcher.size));
    if (!rank || !size) continue;
    Launched found{*rank, *size, number_in(lookup(launcher.local_rank)),
                   number_in(lookup(launcher.local_size)), ""};
    if (*rank < 0 || *rank >= *size)
      found.wrong = std::string(launcher.rank) + " is " + std::to_string(*rank) + "; expected 0 to " +
                    std::to_string(*size - 1) + ", because " + launcher.size + " is " + std::to_string(*size);
    return found;
  }
  return std::nullopt;
}

}  // namespace weir
