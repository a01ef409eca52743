// SPDX-License-Identifier: Apache-2.0
// Threads of one process as ranks: each sends its values once around a ring, one step at a time, without
// blocking. The step runs on a host stream while the thread computes.
//
//   ring [RANKS]
#include <nccl.h>
#include <weir/stream.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// Throws with the sentence that the library has for the error, an ncclResult_t.
void check(int result) {
  if (result != ncclSuccess)
    throw std::runtime_error(std::string(ncclGetErrorString(static_cast<ncclResult_t>(result))) + ": " +
                             ncclGetLastError(nullptr));
}

/// The sum of the numbers of all ranks, as one rank sees it pass by.
long sum_of_ring(ncclComm_t comm) {
  int rank = 0, ranks = 0;
  check(ncclCommUserRank(comm, &rank));
  check(ncclCommCount(comm, &ranks));
  weirStream_t stream = nullptr;
  check(weirStreamCreate(&stream));

  std::vector<long> passing(1000, rank + 1), arriving(passing.size());
  long sum = 0;
  for (int step = 0; step < ranks; ++step) {
    check(ncclGroupStart());  // a send and its receive must not wait for each other
    check(ncclSend(passing.data(), passing.size(), ncclInt64, (rank + 1) % ranks, comm,
                   reinterpret_cast<cudaStream_t>(stream)));
    check(ncclRecv(arriving.data(), arriving.size(), ncclInt64, (rank + ranks - 1) % ranks, comm,
                   reinterpret_cast<cudaStream_t>(stream)));
    check(ncclGroupEnd());
    sum += std::accumulate(passing.begin(), passing.end(), 0L);  // while the step is under way
    check(weirStreamSynchronize(stream));
    passing.swap(arriving);
  }
  check(weirStreamDestroy(stream));
  return sum / static_cast<long>(passing.size());
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 3;
  if (ranks < 1) {
    std::fprintf(stderr, "ring: the number of ranks is \"%s\"; expected at least 1\n", argv[1]);
    return 2;
  }
  std::vector<ncclComm_t> comms(static_cast<size_t>(ranks));
  std::vector<long> sums(comms.size());
  std::vector<std::string> errors(comms.size());
  try {
    check(ncclCommInitAll(comms.data(), ranks, nullptr));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ring: %s\n", error.what());
    return 1;
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < comms.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        sums[i] = sum_of_ring(comms[i]);
      } catch (const std::exception& error) {
        errors[i] = error.what();
        ncclCommAbort(comms[i]);  // so that the others do not wait for this rank
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  bool right = true;
  for (size_t i = 0; i < comms.size(); ++i) {
    if (errors[i].empty()) {
      ncclCommDestroy(comms[i]);
      right &= sums[i] == static_cast<long>(ranks) * (ranks + 1) / 2;
    } else {
      std::fprintf(stderr, "ring: rank %zu: %s\n", i, errors[i].c_str());
      right = false;
    }
  }
  std::printf("%d ranks, each has seen the sum %ld: %s\n", ranks, sums[0], right ? "right" : "WRONG");
  return right ? 0 : 1;
}
