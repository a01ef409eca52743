// SPDX-License-Identifier: Apache-2.0
// The RAS port of a program that uses the C interface.
#include "src/api/ras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <span>

#include "src/api/handle.h"
#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Not at the usual port, where the processes of other tests answer, too.
const bool kElsewhere = setenv("NCCL_RAS_ADDR", "127.0.0.1:0", 1) == 0;

/// Where the port of this process is; no address where there is none.
SocketAddress address() {
  const std::lock_guard lock(lifecycle_mutex);
  const auto server = ras_server();
  return server != nullptr ? server->address() : SocketAddress();
}

std::string status_at(const SocketAddress& address) {
  const Deadline deadline = Deadline::in_ms(20'000);
  const auto client = Socket::connect(address, deadline);
  if (!client.ok()) return client.status().message();
  constexpr std::string_view kQuestion = "STATUS\n";
  EXPECT_TRUE(client->send_all(std::as_bytes(std::span(kQuestion)), deadline).ok());
  std::string out;
  std::array<std::byte, 4096> bytes;
  while (wait_for(client->fd(), POLLIN, deadline)) {
    const auto got = client->try_recv(bytes);
    if (!got.ok()) return out;
    out.append(reinterpret_cast<const char*>(bytes.data()), *got);
  }
  return out;
}

TEST(Ras, AnswersWhileThereAreCommunicators) {
  ASSERT_TRUE(kElsewhere);
  SocketAddress open;
  std::barrier all(3);
  with_ranks(3, [&](ncclComm_t comm, int rank) {
    EXPECT_EQ(sum_over(comm, rank), 0 + 1 + 2);
    all.arrive_and_wait();
    if (rank == 0) {
      open = address();
      EXPECT_THAT(
          status_at(open),
          AllOf(HasSubstr("NCCL version 2.32.3+weir"),
                HasSubstr("    0         1         1         3         3         3   RUNNING      OK\n")));
    }
    all.arrive_and_wait();
  });
  EXPECT_THAT(status_at(open), HasSubstr("refused"));
  const Alone again;
  EXPECT_THAT(status_at(address()), HasSubstr("RUNNING      OK\n"));
}

TEST(Ras, AForkedChildHasAPortOfItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer lets a child that was forked by a process with threads make none";
#endif
  ASSERT_TRUE(kElsewhere);
  const Alone parent;
  const SocketAddress port = address();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const Alone own;
    const bool other = !(address() == port);
    const bool answers = status_at(address()).find("RUNNING") != std::string::npos;
    _exit(other && answers && !::testing::Test::HasFailure() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(status_at(port), HasSubstr("RUNNING      OK\n"));
}

}  // namespace
}  // namespace weir::api
