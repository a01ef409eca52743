// SPDX-License-Identifier: Apache-2.0
/// Ranks that use the functions of src/mpi/abi.h, for the tests beside this file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "src/mpi/abi.h"
#include "tests/library/processes.h"

namespace weir::testing {

/// The value of WEIR_MPI_JOB for a rank.
inline std::string job_of(const Rank& rank) {
  std::string text = std::to_string(rank.rank()) + " " + std::to_string(rank.ranks()) + " ";
  const ncclUniqueId id = rank.id();
  for (const char byte : id.internal) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto number = static_cast<unsigned char>(byte);
    text += {kDigits[number / 16], kDigits[number % 16]};
  }
  return text;
}

inline std::string error_string(int code) {
  char text[1024];
  int length = 0;
  MPIABI_Error_string(code, text, &length);
  EXPECT_EQ(std::string(text).size(), static_cast<size_t>(length));
  return text;
}

/// A failed expectation with the sentence if the call has failed.
inline void expect_done(int code, const char* what) {
  EXPECT_EQ(code, MPIABI_SUCCESS) << what << ": " << error_string(code);
}

/// Runs the body in a process per rank, which has joined the others.
inline std::vector<Ending> run_job(int ranks, const std::function<void(const Rank&)>& body) {
  return run_ranks(ranks, [&](const Rank& rank) {
    setenv("WEIR_MPI_JOB", job_of(rank).c_str(), 1);
    int level = -1;
    expect_done(MPIABI_Init_thread(nullptr, nullptr, 0, &level), "MPI_Init_thread");
    EXPECT_EQ(level, MPIABI_THREAD_MULTIPLE);
    body(rank);
  });
}

}  // namespace weir::testing
