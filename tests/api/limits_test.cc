// SPDX-License-Identifier: Apache-2.0
// Processes whose limits of threads, descriptors or address space are reached: each call gives an error that
// blames this process, and the process goes on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>

#include "src/api/abi.h"
#include "tests/base/limited_child.h"
#include "weir/stream.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string said(int result) { return fmt::format("{}: {}", result, ncclGetLastError(nullptr)); }

/// What becomes of a communicator of one rank if `limit` is set between the making of its id and its own.
std::string with_limit(void (*limit)()) {
  return in_child([limit]() -> std::string {
    ncclUniqueId id;
    if (ncclGetUniqueId(&id) != ncclSuccess) return said(-1);
    limit();
    ncclComm_t comm = nullptr;
    return said(ncclCommInitRank(&comm, 1, id, 0));
  });
}

TEST(Limits, WithoutThreadsNoRootIsMade) {
  const std::string words = in_child([] {
    allow_no_threads();
    ncclUniqueId id;
    return said(ncclGetUniqueId(&id));
  });
  EXPECT_THAT(words, AllOf(StartsWith("2: "), HasSubstr("this process cannot start its thread \"weir root\""),
                           HasSubstr("ulimit -u")));
}

TEST(Limits, WithoutThreadsNoCommunicatorIsMade) {
  EXPECT_THAT(with_limit(allow_no_threads),
              AllOf(StartsWith("2: "), HasSubstr("this process cannot start its thread \"weir ")));
}

TEST(Limits, WithoutThreadsAGroupIsMadeByNobody) {
  const std::string words = in_child([]() -> std::string {
    ncclUniqueId id;
    if (ncclGetUniqueId(&id) != ncclSuccess) return said(-1);
    ncclComm_t alone = nullptr;
    if (ncclCommInitRank(&alone, 1, id, 0) != ncclSuccess)
      return said(-2);  // starts the threads of the process
    if (ncclGetUniqueId(&id) != ncclSuccess) return said(-3);
    allow_no_threads();
    ncclComm_t comms[2] = {};
    ncclGroupStart();
    for (int rank = 0; rank < 2; ++rank) ncclCommInitRank(&comms[rank], 2, id, rank);
    const std::string ended = said(ncclGroupEnd());
    for (ncclComm_t comm : comms) ncclCommAbort(comm);
    return ended;
  });
  EXPECT_THAT(words,
              AllOf(StartsWith("2: "), HasSubstr("this process cannot start its thread \"weir group\"")));
}

TEST(Limits, WithoutThreadsAStreamIsRefused) {
  const std::string words = in_child([] {
    allow_no_threads();
    weirStream_t stream = nullptr;
    return said(weirStreamCreate(&stream));
  });
  EXPECT_THAT(words, AllOf(StartsWith("2: "), HasSubstr("ulimit -u")));
}

TEST(Limits, WithoutDescriptorsThisProcessIsBlamed) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer opens pipes to look at the types of objects";
#endif
  EXPECT_THAT(with_limit(allow_no_descriptors),
              AllOf(StartsWith("2: "), HasSubstr("this process has no file descriptors left"),
                    HasSubstr("ulimit -n")));
}

/// What a communicator says if the kernel refuses the system call.
template <unsigned kCall>
std::string without() {
  return with_limit([] {
    if (!refuse_call(kCall)) _exit(4);
  });
}

TEST(Limits, ARefusedSystemCallIsNamed) {
  if (in_child([] { return std::string(refuse_call(SYS_kcmp) ? "" : "none"); }) == "none")
    GTEST_SKIP() << "this kernel has no filters of system calls";
  const auto refused = [](const char* call) {
    return AllOf(StartsWith("2: "), HasSubstr("this process cannot wait for connections to "),
                 HasSubstr(std::string("(") + call + "): Operation not permitted"));
  };
  EXPECT_THAT(without<SYS_epoll_create1>(), refused("epoll_create1"));
  EXPECT_THAT(without<SYS_eventfd2>(), refused("eventfd"));
}

TEST(Limits, WithoutTheSharedMemoryThatItAsksForARankSaysWhy) {
  const std::string words = in_child([] {
    setenv("WEIR_TRANSPORTS", "shm", 1);
    ncclUniqueId id;
    if (ncclGetUniqueId(&id) != ncclSuccess) return said(-1);
    const rlimit little{4096, 4096};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    ncclComm_t comm = nullptr;
    return said(ncclCommInitRank(&comm, 1, id, 0));
  });
  EXPECT_THAT(words,
              AllOf(StartsWith("2: "), HasSubstr("rank 0 has no segment in shared memory: shared memory of "),
                    HasSubstr("exceeds the file size limit of 4096 bytes")));
}

TEST(Limits, WithLittleAddressSpaceNothingEndsTheProcess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer needs the address space";
#endif
  for (const uint64_t megabytes : {0, 1, 4, 16, 40, 64, 100, 200, 400, 1600}) {
    const std::string words = in_child([megabytes]() -> std::string {
      ncclUniqueId id;
      if (ncclGetUniqueId(&id) != ncclSuccess) return said(-1);
      allow_memory(megabytes << 20);
      ncclComm_t comm = nullptr;
      return said(ncclCommInitRank(&comm, 1, id, 0));
    });
    const bool works = megabytes >= 400;  // more room never fails where less works
    if (works || !words.starts_with("0: ")) {
      EXPECT_THAT(words, StartsWith(works ? "0: " : "2: ")) << megabytes << " MiB";
    }
  }
}

}  // namespace
}  // namespace weir::testing
