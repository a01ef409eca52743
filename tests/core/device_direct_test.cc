// SPDX-License-Identifier: Apache-2.0
// Communicators whose adapters come to memory of GPUs by themselves (GPUDirect RDMA): two hosts in this
// process, with a port of one fabric each.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/core/device_collectives.h"
#include "tests/transports/fake_verbs.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using testing::FakeFabric;
using ::testing::HasSubstr;
using ::testing::Not;

/// What a host is made of: its GPU is the stand-in's of the same number, its adapter is behind the same
/// switch.
class Machine {
 public:
  explicit Machine(int number)
      : file_(fmt::format("{}weir_direct_{}_{}.xml", ::testing::TempDir(), getpid(), number)) {
    std::ofstream(file_) << fmt::format(
        R"(<system version="1"><cpu numaid="0" affinity="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
  <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
    <pci busid="0000:{:02x}:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="90" rank="0" gdr="1"/></pci>
    <pci busid="0000:02:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
      <nic><net name="fake{}" dev="0" speed="100000" port="1" guid="0x{}" maxconn="1024" gdr="1"/></nic>
    </pci>
  </pci>
</cpu></system>)",
        0x1b + 0x10 * number, number, number + 1);
  }
  ~Machine() { std::filesystem::remove(file_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  std::string file() const { return file_.string(); }

 private:
  const std::filesystem::path file_;
};

class DeviceDirect : public ::testing::Test {
 protected:
  Options options_of(int number) const {
    Options options = given_;
    options.transports = "loop,shm,verbs";
    options.host_id = fmt::format("direct {}", number);
    options.ib_hca = fmt::format("fake{}", number);
    options.topology_file = machines_[number].file();
    return options;
  }

  /// Sums, large and small. What the log says.
  std::string run() {
    FakeFabric fabric(2);
    const Logged logged("INIT,NET");
    {
      GpuSite first(options_of(0)), second(options_of(1));
      GpuSite* const sites[] = {&first, &second};
      for (GpuSite* const site : sites) {
        site->runtime.set_verbs(
            [&fabric] { return Result<std::unique_ptr<drivers::Verbs>>(fabric.verbs()); });
        // Before there are threads: the thread sanitizer does not know the lock under which libraries are
        // opened and closed.
        EXPECT_TRUE(site->runtime.local_host().host().ok());
      }
      const auto id = first.runtime.make_unique_id();
      EXPECT_TRUE(id.ok());
      std::vector<std::thread> hosts;
      for (const int rank : {0, 1})
        hosts.emplace_back([&, rank] {
          with_own_device_ranks(
              *sites[rank], *id, 2, {rank}, {0, 1}, [](Communicator& communicator, int, GpuRank& gpu_rank) {
                Elements in(gpu_rank, 40'000), out(gpu_rank, in.size());
                for (const size_t count : {100, 20'000})
                  run_and_check(communicator, gpu_rank, Collective::all_reduce, count, 0, in, out);
              });
        });
      for (std::thread& host : hosts) host.join();
    }
    return logged.text();
  }

  Options given_ = device_options();
  Machine machines_[2]{Machine(0), Machine(1)};
};

#ifdef WEIR_TEST_HIP
constexpr const char* kYes = ": adapters only read: ";
#else
constexpr const char* kYes = "): yes";
#endif

TEST_F(DeviceDirect, AdaptersComeToMemoryOfGpus) {
  const std::string said = run();
  EXPECT_THAT(said, HasSubstr("GPUDirect RDMA: rank 0, verbs to "));
  EXPECT_THAT(said, HasSubstr(kYes));
  EXPECT_THAT(said, Not(HasSubstr(": no: ")));
}

TEST_F(DeviceDirect, OrStayAwayWhereTheUserSaysSo) {
  given_.gdr_level = "LOC";
  EXPECT_THAT(run(),
              AllOf(HasSubstr("GPUDirect RDMA: rank 1, verbs to "),
                    HasSubstr("fake1 is at distance PIX from GPU"), HasSubstr("NCCL_NET_GDR_LEVEL is LOC")));
}

TEST_F(DeviceDirect, WhatIsNoLevelIsWarnedOf) {
  given_.gdr_level = "NEAR";
  EXPECT_THAT(run(),
              HasSubstr("WARN NCCL_NET_GDR_LEVEL=NEAR: expected LOC, PIX, PXB, PHB or SYS, or 0 to 4"));
}

/// Under a pace the transport is a decorated one.
TEST_F(DeviceDirect, KeepingAPace) {
  given_.pace_share = 90;
  given_.gdr_read = false;
  EXPECT_THAT(run(), AllOf(HasSubstr("GPUDirect RDMA: rank 0, verbs to "), Not(HasSubstr(": no: "))));
}

}  // namespace
}  // namespace weir::core
