// SPDX-License-Identifier: Apache-2.0

#include "transports/matched/net_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <map>

#include "src/base/host.h"
#include "tests/transports/conformance.h"
#include "tests/transports/link.h"
#include "transports/address.h"

namespace weir::testing {
namespace {

using drivers::NetPlugin;
using drivers::NetPluginSpec;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string plugin_file(int version) {
  return fmt::format("{}/libnccl-net-fake{}.so", WEIR_FAKE_NET_PLUGINS, version);
}

/// A counter of the fake plugin of that version, in this process.
int counter(int version, const char* name) {
  void* const library = dlopen(plugin_file(version).c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  if (library == nullptr) return -1;
  const auto* const found = static_cast<const std::atomic<int>*>(dlsym(library, name));
  const int value = found != nullptr ? found->load() : -1;
  dlclose(library);
  return value;
}

/// A setting of the fake plugins, until the end of the scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

Node net_node(int version, Rank rank) {
  Node node;
  auto listener = Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  if (!listener.ok()) return node;
  node.listener = std::move(*listener);
  node.listener->admit(0, {});  // the job of test_identity()
  node.transport = make_net_plugin(test_identity(rank), node.listener.get(),
                                   NetPlugin::load({.plugins = plugin_file(version), .network = {}}));
  return node;
}

/// Ranks as processes have their own environment.
Setup processes(const std::string& name, int version, const std::map<std::string, std::string>& values) {
  return {name, PeerKind::processes,
          [=](Rank rank) {
            for (const auto& [variable, value] : values) setenv(variable.c_str(), value.c_str(), 1);
            return net_node(version, rank);
          },
          true};
}

std::vector<Setup> net_plugin_setups() {
  const auto node = [](int version) { return [=](Rank rank) { return net_node(version, rank); }; };
  std::vector<Setup> setups =
      with_faults({{"v11_threads", PeerKind::threads, node(11), true},
                   processes("v9_late_without_sizes", 9,
                             {{"FAKE_NET_LATE", "50"}, {"FAKE_NET_REFUSE", "2"}, {"FAKE_NET_SIZES", "0"}})});
  setups.push_back(processes("v11_three_devices", 11, {{"FAKE_NET_DEVICES", "3"}}));
  setups.push_back(processes("v6_one_device", 6, {{"FAKE_NET_DEVICES", "1"}}));
  return setups;
}

INSTANTIATE_TEST_SUITE_P(NetPlugin, Conformance, ::testing::ValuesIn(net_plugin_setups()), setup_name);

class NetPluginVersions : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, NetPluginVersions, ::testing::Range(5, 13));

TEST_P(NetPluginVersions, CarryMessagesAndLeaveNothing) {
  const int version = GetParam();
  const int open_before = counter(version, "fakeNetOpen");
  const int busy_before = counter(version, "fakeNetBusyCloses");
  run_pair(PeerKind::threads, [&](Peer& peer) {
    const ::weir::testing::Setup setup{"", PeerKind::threads,
                                       [=](Rank rank) { return net_node(version, rank); }, true};
    Link link(setup, peer);
    const auto sender = link.sender(spec_for(peer, 1, 40));
    const auto receiver = link.receiver(spec_for(peer, 1, 40));
    await_ready(*sender, *receiver);
    for (uint32_t i = 0; i < 200; ++i) {
      send(*sender, peer.rank(), i, i * 20);
      receive(*receiver, peer.other(), i, i * 20);
    }
    flush(*sender);
    peer.meet();
  });
  EXPECT_EQ(counter(version, "fakeNetOpen"), open_before);
  EXPECT_EQ(counter(version, "fakeNetBusyCloses"), busy_before);
}

// One after the other, and one while another is there; the fake plugin refuses as aws-ofi-nccl does.
TEST_P(NetPluginVersions, ServeOneCommunicatorAfterTheOther) {
  const NetPluginSpec spec{.plugins = plugin_file(GetParam()), .network = {}};
  for (int life = 0; life < 3; ++life) {
    const auto first = NetPlugin::load(spec);
    ASSERT_TRUE(first.ok()) << first.status().message();
    const auto second = NetPlugin::load(spec);
    ASSERT_TRUE(second.ok()) << second.status().message();
    EXPECT_EQ((*second)->rails(), 2u);
    EXPECT_EQ(counter(GetParam(), "fakeNetContexts"), GetParam() >= 11 ? 2 : 0);
  }
  EXPECT_EQ(counter(GetParam(), "fakeNetContexts"), GetParam() >= 11 ? 1 : 0);
}

std::string refusal(const NetPluginSpec& spec) {
  const auto plugin = NetPlugin::load(spec);
  EXPECT_FALSE(plugin.ok());
  return plugin.status().message();
}

TEST(NetPluginLoad, TakesTheFirstOfTheListThatWorks) {
  const std::string list = "absent,libm.so.6," + plugin_file(9) + "," + plugin_file(11);
  const auto plugin = NetPlugin::load({.plugins = list, .network = "fAKE"});
  ASSERT_TRUE(plugin.ok()) << plugin.status().message();
  EXPECT_EQ((*plugin)->version(), 9);
  EXPECT_EQ((*plugin)->network(), "Fake");
  ASSERT_EQ((*plugin)->rails(), 2u);
  EXPECT_EQ((*plugin)->rail(1).name, "fake1");
  EXPECT_EQ((*plugin)->rail(1).guid, 101u);
  EXPECT_EQ((*plugin)->rail(1).gigabits_per_s, 10);  // unknown
}

TEST(NetPluginLoad, SaysWhyThereIsNone) {
  EXPECT_THAT(refusal({.plugins = "absent", .network = {}}),
              HasSubstr("could not find absent, libnccl-net-absent.so, librccl-net-absent.so"));
  EXPECT_THAT(refusal({.plugins = "/tmp/absent.so", .network = {}}),
              HasSubstr("could not find /tmp/absent.so"));
  EXPECT_THAT(refusal({.plugins = "libm.so.6", .network = {}}),
              HasSubstr("net plugin libm.so.6 exports none of ncclNetPlugin_v5 to _v12"));
  EXPECT_THAT(refusal({.plugins = "NONE", .network = {}}), HasSubstr("NCCL_NET_PLUGIN=none"));
  EXPECT_THAT(refusal({.plugins = plugin_file(10), .network = "Socket"}),
              AllOf(HasSubstr("\"Fake\""), HasSubstr("\"Socket\""), HasSubstr("NCCL_NET")));
  // The test program exports no table.
  EXPECT_THAT(refusal({.plugins = "static_plugin", .network = {}}), HasSubstr("static_plugin exports none"));
}

TEST(NetPluginLoad, SaysWhatAPluginRefused) {
  {
    const Environment environment("FAKE_NET_INIT", "2");
    EXPECT_THAT(refusal({.plugins = plugin_file(11), .network = {}}),
                AllOf(HasSubstr("net plugin Fake ("), HasSubstr("version 11"),
                      HasSubstr("init failed with result 2 (system or network error)")));
  }
  const Environment environment("FAKE_NET_DEVICES", "0");
  EXPECT_THAT(refusal({.plugins = plugin_file(11), .network = {}}), HasSubstr("reports no devices"));
}

TEST(NetPluginLoad, TellsTheTrafficClass) {
  const auto plugin =
      NetPlugin::load({.plugins = plugin_file(12), .network = {}, .communicator = 1, .traffic_class = 7});
  ASSERT_TRUE(plugin.ok()) << plugin.status().message();
  EXPECT_EQ(counter(12, "fakeNetTrafficClass"), 7);
}

TEST(NetPluginLoad, KnowsTheSpeedOfItsDevices) {
  const Environment environment("FAKE_NET_SPEED", "200000");
  const Node node = net_node(12, 0);
  const Reach reach = node.transport->reach(node.transport->address());
  ASSERT_TRUE(reach.ok) << reach.why_not;
  EXPECT_DOUBLE_EQ(reach.cost.gigabytes_per_s, 2 * 25);
}

TEST(NetPluginTest, WithoutAPluginReachesNobodyAndSaysWhy) {
  const auto transport =
      make_net_plugin(test_identity(0), nullptr, NetPlugin::load({.plugins = "absent", .network = {}}));
  EXPECT_TRUE(transport->address().empty());
  EXPECT_THAT(transport->reach({}).why_not, HasSubstr("could not find absent"));
}

TEST(NetPluginTest, RefusesAPeerWithoutOneOrWithAnother) {
  const Node node = net_node(11, 0);
  EXPECT_THAT(node.transport->reach({}).why_not, HasSubstr("peer has no usable net plugin"));
  const auto address = [&](const char* network, int32_t version) {
    return begin_address("net_plugin", 2, {1, host_identity("")})
        .put(node.listener->address())
        .put_string(network)
        .put(version)
        .put(1.0)
        .put(uint32_t{1})
        .put(100.0)
        .take();
  };
  EXPECT_THAT(node.transport->reach(address("Other", 11)).why_not,
              AllOf(HasSubstr("rank 1"), HasSubstr("\"Other\""), HasSubstr("\"Fake\"")));
  EXPECT_THAT(
      node.transport->reach(address("Fake", 9)).why_not,
      AllOf(HasSubstr("rank 1 has version 9 of the net plugin for \"Fake\", this rank has version 11"),
            HasSubstr("NCCL_NET_PLUGIN")));
  EXPECT_TRUE(node.transport->reach(address("Fake", 11)).ok);
}

TEST(NetPluginTest, RefusesWhatIsTooLongForADevice) {
  const Node node = net_node(8, 0);  // at most 1 GiB per request
  const auto sender =
      node.transport->open_sender(node.transport->address(), {.self = 0, .peer = 0, .slot_bytes = 1u << 30});
  EXPECT_EQ(sender.status().code(), Code::invalid_argument);
  EXPECT_THAT(sender.status().message(), AllOf(HasSubstr("fake0"), HasSubstr("1073741856 bytes")));
}

TEST(NetPluginTest, AFailedCallNamesPluginDeviceCallAndPeer) {
  run_pair(PeerKind::processes, [&](Peer& peer) {
    if (peer.rank() == 0) setenv("FAKE_NET_FAIL_AFTER", "20", 1);
    const ::weir::testing::Setup setup{"", PeerKind::processes, [](Rank rank) { return net_node(11, rank); },
                                       true};
    Link link(setup, peer);
    if (peer.rank() == 0) {
      const auto sender = link.sender(spec_for(peer, 3));
      await_ready(*sender);
      Status trouble;
      for (int turn = 0; turn < 100000 && trouble.ok(); ++turn) {
        if (sender->acquire() != nullptr) sender->publish(0, 100);
        trouble = sender->progress();
      }
      EXPECT_EQ(trouble.code(), Code::remote_error);
      EXPECT_THAT(trouble.message(),
                  AllOf(StartsWith("channel 3 from rank 0 to rank 1, peer rank 1 (address "),
                        HasSubstr("net plugin Fake ("), HasSubstr("device "),
                        HasSubstr("isend failed with result 2 (system or network error)")));
      peer.meet();
    } else {
      const auto receiver = link.receiver(spec_for(peer, 3));
      await_ready(*receiver);
      const Message* message = nullptr;
      for (uint64_t got = 0; got < 10; ++got) {
        eventually("a message", [&] { return serve(*receiver) && (message = receiver->peek()) != nullptr; });
        receiver->release();
      }
      peer.meet();
    }
  });
}

}  // namespace
}  // namespace weir::testing
