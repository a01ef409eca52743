// SPDX-License-Identifier: Apache-2.0
/// Ranks over RDMA devices of a FakeFabric.
#pragma once

#include <gtest/gtest.h>

#include "src/base/options.h"
#include "tests/transports/conformance.h"
#include "tests/transports/fake_verbs.h"
#include "transports/verbs/verbs.h"

namespace weir::testing {

/// Rank 0 has fake0 and fake1, rank 1 fake2 and fake3.
inline Node verbs_node(FakeFabric& fabric, Rank rank, Options options) {
  Node node;
  auto listener = Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  if (!listener.ok()) return node;
  node.listener = std::move(*listener);
  node.listener->admit(0, {});  // the job of test_identity()
  options.ib_hca = rank == 0 ? "fake0,fake1" : "fake2,fake3";
  node.transport = make_verbs(test_identity(rank), node.listener.get(), fabric.verbs(), options);
  return node;
}

inline Options queue_pairs_per_rail(int64_t count, bool split) {
  Options options;
  options.ib_qps_per_connection = count;
  options.ib_split_data = split;
  return options;
}

}  // namespace weir::testing
