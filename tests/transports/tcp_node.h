// SPDX-License-Identifier: Apache-2.0
/// A rank with tcp over loopback, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "tests/transports/conformance.h"
#include "transports/credit_budget.h"
#include "transports/tcp/tcp.h"

namespace weir::testing {

/// `credit`: bytes of the budget of what comes to the rank; 0: no limit.
inline Node tcp_node(int family, uint32_t streams, Rank rank, uint64_t credit = 0) {
  Node node;
  auto listener = Listener::open(SocketAddress::loopback(family, 0), nullptr);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  if (!listener.ok()) return node;
  node.listener = std::move(*listener);
  node.listener->admit(0, {});  // the job of test_identity()
  if (credit > 0) node.budget = std::make_shared<CreditBudget>(credit);
  node.transport = make_tcp(test_identity(rank), node.listener.get(),
                            {.streams = streams,
                             .spreads = credit == 0 && streams != 2,
                             .budget = node.budget.get(),
                             .budget_for_local_host = true});
  return node;
}

}  // namespace weir::testing
