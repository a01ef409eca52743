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
  std::string wrong;  ///< what is wrong with the launchers' numbers; empty: they are valid
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

/// The variables of one launcher.
struct LauncherVariables {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

/// Of `weir run` and torchrun, OpenMPI, MPICH and its derivatives, and Slurm. The innermost one comes first:
/// where launchers start launchers (`srun torchrun ...`), a process has the variables of both.
inline constexpr LauncherVariables kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
};

/// Whether the launcher with the first variables may have been started by that with the others, so that it is
/// right that they differ.
inline bool is_nested(const Lookup& lookup, const LauncherVariables& inner, const LauncherVariables& outer) {
  // torchrun may number hosts in another order. mpirun starts its daemons on Slurm's hosts with srun.
  if (inner.rank == kLaunchers[0].rank && lookup("TORCHELASTIC_RUN_ID") != nullptr) return true;
  if (inner.rank != kLaunchers[0].rank && outer.rank == kLaunchers[3].rank) return true;
  const int share = number_in(lookup(inner.local_size)).value_or(0);
  const int rank = number_in(lookup(inner.rank)).value_or(0),
            size = number_in(lookup(inner.size)).value_or(0);
  return share > 0 && size % share == 0 && size / share == number_in(lookup(outer.size)) &&
         rank / share == number_in(lookup(outer.rank));
}

/// The sentence about other launchers whose variables contradict those of `chosen`; empty: there are none.
inline std::string contradiction(const Lookup& lookup, const LauncherVariables& chosen) {
  const auto words = [&](const LauncherVariables& launcher) {
    return std::string(launcher.rank) + "=" + lookup(launcher.rank) + ", " + launcher.size + "=" +
           lookup(launcher.size);
  };
  std::string others;
  for (const LauncherVariables& other : kLaunchers) {
    const std::optional<int> rank = number_in(lookup(other.rank)), size = number_in(lookup(other.size));
    if (!rank || !size) continue;
    const bool same = rank == number_in(lookup(chosen.rank)) && size == number_in(lookup(chosen.size));
    if (!same && !is_nested(lookup, chosen, other)) others += "; " + words(other);
  }
  if (others.empty()) return "";
  return "the launchers' variables contradict each other: " + words(chosen) + others +
         "; expected those of one launcher: unset the ones that an earlier launcher or a script has left";
}

/// The values of the launcher that started this process; nullopt if there is none.
inline std::optional<Launched> find_launched(const Lookup& lookup) {
  for (const LauncherVariables& launcher : kLaunchers) {
    const std::optional<int> rank = number_in(lookup(launcher.rank)), size = number_in(lookup(launcher.size));
    if (!rank || !size) continue;
    Launched found{*rank, *size, number_in(lookup(launcher.local_rank)),
                   number_in(lookup(launcher.local_size)), contradiction(lookup, launcher)};
    if (*rank < 0 || *rank >= *size)
      found.wrong = std::string(launcher.rank) + " is " + std::to_string(*rank) + "; expected 0 to " +
                    std::to_string(*size - 1) + ", because " + launcher.size + " is " + std::to_string(*size);
    return found;
  }
  return std::nullopt;
}

}  // namespace weir
