// SPDX-License-Identifier: Apache-2.0
/// What every transport must do, written once (conformance.cc) and instantiated per transport and kind of
/// peers:
///
///     INSTANTIATE_TEST_SUITE_P(Shm, Conformance, ::testing::ValuesIn(with_faults({...})), setup_name);
///
/// Each test runs two ranks, 0 and 1, that make a Node each, swap transport addresses and talk over channels.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/transports/peers.h"
#include "transports/memory/segment.h"
#include "transports/memory/transport.h"
#include "transports/transport.h"

namespace weir {
class CreditBudget;
class Listener;
}  // namespace weir

namespace weir::testing {

/// What one rank owns, destroyed from the bottom up.
struct Node {
  std::unique_ptr<Segment> segment;
  std::shared_ptr<CreditBudget> budget;
  std::shared_ptr<Listener> listener;
  std::unique_ptr<Transport> transport;
};

struct Setup {
  std::string name;  ///< letters, digits and _
  PeerKind kind = PeerKind::processes;
  std::function<Node(Rank)> make;
  bool notices_kill = false;  ///< a killed peer becomes an error of progress()
};

/// Every setup, and every setup under the faulty decorator; with a sanitizer every other one under it
/// instead.
std::vector<Setup> with_faults(std::vector<Setup> setups);

inline std::string setup_name(const ::testing::TestParamInfo<Setup>& info) { return info.param.name; }
inline void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

/// A rank that reaches others through shared memory.
Node shm_node(Rank rank);
/// A segment for a test; small, so that sanitizers can afford it.
std::unique_ptr<Segment> test_segment(Rank rank);
/// All test nodes belong to this communicator and host.
Identity test_identity(Rank rank);

class Conformance : public ::testing::TestWithParam<Setup> {};

}  // namespace weir::testing
