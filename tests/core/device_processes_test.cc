// SPDX-License-Identifier: Apache-2.0
// Communicators whose collectives go by kernels, ranks in several processes. Each case forks before it uses a
// GPU itself.
#include <gmock/gmock.h>
#include <signal.h>

#include "tests/core/device_processes.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Processes;
using testing::RootProcess;

TEST(DeviceProcesses, ShareMemoryByIpc) {
  EXPECT_THAT(run_in_processes({2, 2, {}, {0, 1}}, device_options()), HasSubstr("as kernels on"));
}

/// As launchers and container runtimes start them. CUDA shares memory of GPUs that a process does not see.
/// All have the number 0; were they taken for one, they would go by streams (as below).
TEST(DeviceProcesses, ThatSeeNoGpuButTheirOwnShareMemory) {
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_QUEUES", "1", 1), 0);
  EXPECT_THAT(run_in_processes({2, 1, {}, {0, 0}, {"0", "1"}}, device_options()), HasSubstr("as kernels on"));
  EXPECT_THAT(run_in_processes({2, 1, {}, {0, 0}, {"GPU-02", "GPU-01"}}, device_options()),
              HasSubstr("as kernels on"))
      << "as Kubernetes and Slurm name them";
  unsetenv("WEIR_FAKE_GPU_QUEUES");
}

/// Instances of MIG have neither peer access nor IPC between each other, be they of one GPU or of two.
TEST(DeviceProcesses, InstancesOfMigAreStaged) {
  if (device::kIsHip) GTEST_SKIP() << "AMD's GPUs have none";
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_MIG", "2", 1), 0);
  const auto said = [](const std::vector<std::string>& visible) {
    return run_in_processes({2, 2, {}, {0, 0}, visible}, device_options());
  };
  for (const char* const other : {"MIG-02", "MIG-03"})
    EXPECT_THAT(
        said({"MIG-01", other}),
        AllOf(HasSubstr("through pinned memory: rank"), HasSubstr("cannot attach memory of another process"),
              HasSubstr("Stand-in MIG"), HasSubstr("sharing by files failed, too: rank")));
  EXPECT_THAT(said({"MIG-02", "MIG-02"}), HasSubstr("as stream operations on"))
      << "processes share an instance";
  unsetenv("WEIR_FAKE_GPU_MIG");
}

TEST(DeviceProcesses, OfOneGpuGoByStreamsUnlessTold) {
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_QUEUES", "1", 1), 0);
  EXPECT_THAT(run_in_processes({2, 1, {}, {0, 0}}, device_options()), HasSubstr("as stream operations on"));
  unsetenv("WEIR_FAKE_GPU_QUEUES");
  Options options = device_options();
  options.gpu_path = "kernel";
  EXPECT_THAT(run_in_processes({2, 1, {}, {0, 0}}, options), HasSubstr("as kernels on"));
}

/// As between containers.
TEST(DeviceProcesses, ShareMemoryByFilesWhereIpcIsRefused) {
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_FAULTS", "ipc", 1), 0);
  const std::string said = run_in_processes({2, 2, {}, {0, 1}}, device_options());
  unsetenv("WEIR_FAKE_GPU_FAULTS");
  EXPECT_THAT(said, AllOf(HasSubstr("as kernels on"), Not(HasSubstr("pinned memory"))));
}

TEST(DeviceProcesses, AreStagedWhereFilesAreRefusedToo) {
  ASSERT_EQ(setenv("WEIR_FAKE_GPU_FAULTS", "ipc,vmm", 1), 0);
  const std::string said = run_in_processes({2, 1, {}, {0, 1}}, device_options());
  unsetenv("WEIR_FAKE_GPU_FAULTS");
  EXPECT_THAT(said, AllOf(HasSubstr("through pinned memory: rank"), HasSubstr("another process"),
                          HasSubstr("sharing by files failed, too: rank"), HasSubstr("MemCreate failed")));
}

TEST(DeviceProcesses, AKilledPeerIsNamed) { kill_a_peer({}); }
TEST(DeviceProcesses, AKilledSenderIsNamed) { kill_a_peer({.sends = true}); }
TEST(DeviceProcesses, AKilledPeerIsNamedByStreams) { kill_a_peer({.path = "stream"}); }

}  // namespace
}  // namespace weir::core
