// SPDX-License-Identifier: Apache-2.0
/// A rank with tcp over loopback, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "tests/transports/conformance.h"
#include "transports/credit_budget.h"
#include "transports/tcp/tcp.h"

namespace weir::testing {

/// Credentials of the test's job, whose connections are encrypted; a plain job where OpenSSL is missing.
inline Credentials encrypted_job() {
  TlsSettings settings;
  settings.mode = TlsSettings::Mode::psk;
  const Secret secret = Secret::from_text("of the test");
  const auto made = Credentials::make(secret, settings);
  return made.ok() ? *made : Credentials(secret);
}

/// `credit`: bytes of the budget of what comes to the rank; 0: no limit.
inline Node tcp_node(int family, uint32_t streams, Rank rank, uint64_t credit = 0,
                     const Credentials& credentials = {}) {
  Node node;
  auto listener = Listener::open(SocketAddress::loopback(family, 0), nullptr);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  if (!listener.ok()) return node;
  node.listener = std::move(*listener);
  node.listener->admit(0, credentials);  // the job of test_identity()
  Identity self = test_identity(rank);
  self.credentials = credentials;
  if (credit > 0) node.budget = std::make_shared<CreditBudget>(credit);
  node.transport = make_tcp(self, node.listener.get(),
                            {.streams = streams,
                             .spreads = credit == 0 && streams != 2,
                             .budget = node.budget.get(),
                             .budget_for_local_host = true});
  return node;
}

}  // namespace weir::testing
