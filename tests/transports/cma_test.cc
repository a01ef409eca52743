// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/cma.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/transports/conformance.h"
#include "transports/memory/remote_memory.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

Node cma_node(Rank rank) {
  Node node;
  node.transport = make_cma(test_identity(rank));
  return node;
}

std::vector<Setup> cma_setups() {
  // A sandbox may forbid process_vm_readv altogether; then there is nothing to conform to.
  const auto probe = make_cma(test_identity(0));
  if (!probe->reach(probe->address()).ok) return {};
  return with_faults(
      {{"processes", PeerKind::processes, cma_node, true}, {"threads", PeerKind::threads, cma_node}});
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);
INSTANTIATE_TEST_SUITE_P(Cma, Conformance, ::testing::ValuesIn(cma_setups()), setup_name);

TEST(Cma, RefusesAnotherHost) {
  Identity elsewhere = test_identity(1);
  elsewhere.host += 1;
  EXPECT_THAT(make_cma(test_identity(0))->reach(make_cma(elsewhere)->address()).why_not,
              HasSubstr("another host"));
}

TEST(Cma, RefusesAProcessThatHasEnded) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Bytes address = make_cma(test_identity(1))->address();
    _exit(write(ends[1], address.data(), address.size()) > 0 ? 0 : 1);
  }
  Bytes address(4096);
  address.resize(static_cast<size_t>(read(ends[0], address.data(), address.size())));
  close(ends[0]);
  close(ends[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_THAT(make_cma(test_identity(0))->reach(address).why_not, HasSubstr("the process does not exist"));
}

TEST(Cma, RefusesABoardThatHasGone) {
  const Bytes address = make_cma(test_identity(1))->address();
  EXPECT_THAT(make_cma(test_identity(0))->reach(address).why_not, HasSubstr("it was unmapped"));
}

TEST(Cma, SaysWhyTheKernelForbidsIt) {
  if (geteuid() != 0) return;  // only root can make a process that it may not read
  run_pair(PeerKind::processes, [](Peer& peer) {
    if (peer.rank() == 1) {
      // Another user, without capabilities.
      if (setgid(65534) != 0 || setuid(65534) != 0) throw CannotGoOn("setuid failed");
    }
    const auto transport = make_cma(test_identity(peer.rank()));
    const Bytes address = peer.swap(transport->address());
    if (peer.rank() == 1) {
      const Reach reach = transport->reach(address);
      EXPECT_FALSE(reach.ok);
      EXPECT_THAT(reach.why_not, HasSubstr("runs as user 0, but this process runs as user 65534"));
    }
    peer.meet();
  });
}

}  // namespace
}  // namespace weir::testing
