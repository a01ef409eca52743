// SPDX-License-Identifier: Apache-2.0
// The conformance suite over the RDMA devices of this machine, by verbs and by UCX: two "hosts" with two
// rails each, as rdma-vm makes them (rxe0 and rxe1 of rank 0, rxe2 and rxe3 of rank 1).

#include "tests/transports/conformance.h"

#include <gmock/gmock.h>

#include "src/net/listener/listener.h"
#include "transports/ucx/ucx.h"
#include "transports/verbs/verbs.h"

namespace weir::testing {
namespace {

Node verbs_node(Rank rank, const Options& asked, bool both_rails) {
  Node node;
  auto listener = Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  if (!listener.ok()) return node;
  node.listener = std::move(*listener);
  node.listener->admit(0, {});  // the job of test_identity()
  Options options = asked;
  options.ib_hca = rank == 0 ? "=rxe0" : "=rxe2";
  if (both_rails) options.ib_hca += rank == 0 ? ",rxe1" : ",rxe3";
  node.transport = make_verbs(test_identity(rank), node.listener.get(), drivers::load_verbs(), options);
  return node;
}

Setup setup(const std::string& name, PeerKind kind, bool both_rails, const Options& options) {
  return {name, kind, [=](Rank rank) { return verbs_node(rank, options, both_rails); }, true};
}

std::vector<Setup> verbs_setups() {
  Options split;
  split.ib_qps_per_connection = 2;
  split.ib_split_data = true;
  return with_faults({setup("processes", PeerKind::processes, false, {}),
                      setup("processes_2_rails", PeerKind::processes, true, {}),
                      setup("threads_2_rails_split", PeerKind::threads, true, split)});
}

/// Over the transport of UCX that is named.
Node ucx_node(const char* way, Rank rank) {
  setenv("UCX_TLS", way, 1);
  setenv("UCX_NET_DEVICES", rank == 0 ? "rxe0:1" : "rxe2:1", 1);
  Node node;
  node.transport = make_ucx(test_identity(rank));
  return node;
}

std::vector<Setup> ucx_setups() {
  const auto over = [](const char* way) { return [=](Rank rank) { return ucx_node(way, rank); }; };
  return {{"rc", PeerKind::processes, over("rc_verbs,ud_verbs:aux"), true},
          {"ud", PeerKind::processes, over("ud_verbs"), true}};
}

INSTANTIATE_TEST_SUITE_P(Verbs, Conformance, ::testing::ValuesIn(verbs_setups()), setup_name);
INSTANTIATE_TEST_SUITE_P(Ucx, Conformance, ::testing::ValuesIn(ucx_setups()), setup_name);

}  // namespace
}  // namespace weir::testing
