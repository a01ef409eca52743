// SPDX-License-Identifier: Apache-2.0
// Communicators whose collectives go by kernels on several hosts: of this machine, with names of their own.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/core/device_processes.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DeviceHosts : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(setenv("WEIR_FAKE_GPUS", "4", 1), 0); }
  void TearDown() override { unsetenv("WEIR_FAKE_GPUS"); }
};

TEST_F(DeviceHosts, GoByKernelsAndProxies) {
  EXPECT_THAT(run_in_processes({2, 1, {0, 1}, {0, 1}}, device_options()),
              AllOf(HasSubstr("as kernels on"), HasSubstr("with proxies to 1 rank of other hosts")));
}

TEST_F(DeviceHosts, OfSeveralRanksEach) {
  EXPECT_THAT(run_in_processes({2, 2, {0, 1}, {0, 1}}, device_options()),
              HasSubstr("with proxies to 2 ranks"));
  EXPECT_THAT(run_in_processes({4, 1, {0, 0, 1, 1}, {0, 1, 2, 3}}, device_options()),
              HasSubstr("with proxies to 2 ranks"));
}

/// Not as many on each, and not one after the other.
TEST_F(DeviceHosts, OfDifferentSizes) {
  EXPECT_THAT(run_in_processes({4, 1, {0, 1, 0, 0}, {0, 1, 2, 3}}, device_options()),
              HasSubstr("with proxies to 1 rank"));
}

/// Three hosts, one rank each, with messages of one grain.
TEST_F(DeviceHosts, WithLittleMemory) {
  Options options = device_options();
  options.gpu_segment_bytes = 1;
  EXPECT_THAT(run_in_processes({3, 1, {0, 1, 2}, {0, 1, 2}}, options), HasSubstr("with proxies to 2 ranks"));
}

TEST_F(DeviceHosts, WhoseProcessesShareAGpuAreStaged) {
  EXPECT_THAT(run_in_processes({4, 1, {0, 0, 1, 1}, {0, 0, 1, 1}}, device_options()),
              AllOf(HasSubstr("through pinned memory: stream operations"), Not(HasSubstr("proxies"))));
}

TEST_F(DeviceHosts, AKilledPeerIsNamed) { kill_a_peer({.hosts = true}); }
TEST_F(DeviceHosts, AKilledSenderIsNamed) { kill_a_peer({.sends = true, .hosts = true}); }

/// Proxies carry what kernels say of their messages, so calls that do not match are told as on one host.
TEST_F(DeviceHosts, DifferentCallsAreNamed) {
  const RootProcess root;
  const UniqueId id = root.id();
  Processes all(2, [&](int rank, const Processes::Voice& voice) {
    GpuSite site(options_of(rank, device_options()));
    with_own_device_ranks(
        site, id, 2, {rank}, {rank}, [&](Communicator& communicator, int, GpuRank& gpu_rank) {
          Elements data(gpu_rank, 200);
          const Collective kind = rank == 0 ? Collective::all_reduce : Collective::all_gather;
          const Operation one = operation(kind, data.data(), data.data(), 100);
          (void)communicator.run({&one, 1}, gpu_rank.place());
          gpu_rank.wait();
          while (communicator.state().ok()) std::this_thread::yield();
          voice.say(communicator.state().message());
        });
  });
  for (const int rank : {0, 1})
    EXPECT_THAT(all.line(rank),
                AllOf(HasSubstr("ncclAllReduce(count 100"), HasSubstr("ncclAllGather(count 100")));
}

/// What a kernel waits for is on another host, and never comes.
TEST_F(DeviceHosts, AbortsEndWhatWaits) {
  const RootProcess root;
  const UniqueId id = root.id();
  Processes all(2, [&](int rank, const Processes::Voice& voice) {
    GpuSite site(options_of(rank, device_options()));
    with_own_device_ranks(
        site, id, 2, {rank}, {rank}, [&](Communicator& communicator, int, GpuRank& gpu_rank) {
          Elements data(gpu_rank, 100);
          const Operation one = operation(Collective::all_reduce, data.data(), data.data(), 100);
          if (rank == 0) {
            EXPECT_TRUE(communicator.run({&one, 1}, gpu_rank.place()).ok());
          }
          communicator.abort();
          gpu_rank.wait();
          voice.say("ended");
        });
  });
  for (const int rank : {0, 1}) {
    EXPECT_EQ(all.line(rank), "ended");
    EXPECT_TRUE(all.ended_well(rank));
  }
}

}  // namespace
}  // namespace weir::core
