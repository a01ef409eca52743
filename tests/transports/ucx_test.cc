// SPDX-License-Identifier: Apache-2.0

#include "transports/ucx/ucx.h"

#include <gmock/gmock.h>

#include "tests/transports/conformance.h"
#include "transports/address.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

Node ucx_node(const char* ways, Rank rank) {
  setenv("UCX_TLS", ways, 1);
  setenv("UCX_MEM_EVENTS", "n", 1);  // its hooks into memory functions do not get on with sanitizers
  Node node;
  node.transport = make_ucx(test_identity(rank));
  return node;
}

std::vector<Setup> ucx_setups() {
  const auto over = [](const char* ways) { return [=](Rank rank) { return ucx_node(ways, rank); }; };
  std::vector<Setup> all = with_faults({{"tcp", PeerKind::processes, over("tcp,self"), true}});
  all.push_back({"shared_memory", PeerKind::processes, over("sm,self"), false});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ucx, Conformance, ::testing::ValuesIn(ucx_setups()), setup_name);

TEST(Ucx, RefusesAddressesThatAreNone) {
  const Node node = ucx_node("tcp,self", 0);
  EXPECT_THAT(node.transport->reach({}).why_not, HasSubstr("no usable UCX"));
  const Bytes shortened = begin_address("ucx", 1, {1, 1}).take();
  EXPECT_THAT(node.transport->reach(shortened).why_not, HasSubstr("rank 1"));
  const Bytes other = begin_address("tcp", 1, {1, 1}).take();
  EXPECT_FALSE(node.transport->reach(other).ok);
}

}  // namespace
}  // namespace weir::testing
