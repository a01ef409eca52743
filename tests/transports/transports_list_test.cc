// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transports/transports.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Result<std::vector<std::string>> names(const std::string& wanted) {
  Options options;
  options.transports = wanted;
  const auto made = make_transports({}, options);
  WEIR_TRY(made.status());
  std::vector<std::string> names;
  for (const auto& transport : made.value()) names.emplace_back(transport->name());
  return names;
}

TEST(TransportsTest, DefaultIsAllOfThem) {
  EXPECT_THAT(names(Options().transports).value(),
              ElementsAre("loop", "shm", "cma", "net_plugin", "verbs", "tcp"));
}

TEST(TransportsTest, OrderIsOursWhateverTheUserWrites) {
  EXPECT_THAT(names(" tcp , loop").value(), ElementsAre("loop", "tcp"));
  EXPECT_THAT(names("shm,,shm").value(), ElementsAre("shm"));
}

TEST(TransportsTest, SaysWhichNamesItKnows) {
  for (const char* wanted : {"shm,carrier-pigeon", "", " ,"}) {
    const auto refused = names(wanted);
    EXPECT_EQ(refused.status().code(), Code::invalid_argument);
    EXPECT_THAT(refused.status().message(), HasSubstr("loop, shm, cma, net_plugin, verbs, ucx, tcp"));
  }
  EXPECT_THAT(names("shm,carrier-pigeon").status().message(), HasSubstr("\"carrier-pigeon\""));
}

TEST(TransportsTest, NothingStandsInForANetworkThatIsAskedFor) {
  Options options;
  options.transports = "net_plugin,verbs,ucx,tcp";
  options.network = "AWS Libfabric";
  const auto made = make_transports({}, options);
  ASSERT_TRUE(made.ok());
  for (const auto& transport : *made) EXPECT_THAT(transport->address(), IsEmpty()) << transport->name();
  EXPECT_EQ((*made)[3]->reach({}).why_not,
            "network \"AWS Libfabric\" is selected (NCCL_NET, or netName of the configuration); expected "
            "\"Socket\" for "
            "transport tcp");
  options.network = "socket";
  const auto sockets = make_transports({}, options);
  EXPECT_THAT((*sockets)[3]->reach({}).why_not, Not(HasSubstr("is selected")));
}

TEST(TransportsTest, WithoutPartsTheyReachNobodyAndSayWhy) {
  const auto made = make_transports({}, {});
  ASSERT_TRUE(made.ok());
  for (const auto& transport : made.value()) {
    const Reach reach = transport->reach(transport->address());
    EXPECT_TRUE(reach.ok || !reach.why_not.empty()) << transport->name();
  }
}

}  // namespace
}  // namespace weir
