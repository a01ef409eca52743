// SPDX-License-Identifier: Apache-2.0
// Kernels run planned trees where these are predicted to be faster on the links between the GPUs.
#include <gmock/gmock.h>

#include "tests/core/device_collectives.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The stand-in's GPUs, at their PCI addresses, with so many links between pairs of them.
struct LinksBetween {
  int a, b, links;
};
std::string host_of_gpus(int gpus, const std::vector<LinksBetween>& links) {
#ifdef WEIR_TEST_HIP
  constexpr std::string_view kLink = "xgmi", kGpu = "sm=\"110\" gcn=\"gfx90a\" arch=\"38911\"";
#else
  constexpr std::string_view kLink = "nvlink", kGpu = "sm=\"70\"";
#endif
  const auto address = [](int gpu) { return fmt::format("0000:{:02x}:00.0", 0x1b + 0x10 * gpu); };
  std::string text =
      "<system version=\"2\"><cpu numaid=\"0\" affinity=\"00000003\" arch=\"x86_64\" "
      "vendor=\"AuthenticAMD\" familyid=\"175\" modelid=\"48\">";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    text += fmt::format(
        "<pci busid=\"{}\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">"
        "<gpu dev=\"{}\" {} rank=\"{}\" gdr=\"1\">",
        address(gpu), gpu, kGpu, gpu);
    for (const auto& [a, b, count] : links) {
      if (a != gpu && b != gpu) continue;
      text += fmt::format("<{} target=\"{}\" count=\"{}\" tclass=\"0x030200\"/>", kLink,
                          address(a == gpu ? b : a), count);
    }
    text += "</gpu></pci>";
  }
  return text + "</cpu></system>";
}

class DeviceTrees : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("WEIR_FAKE_GPUS", "8", 1), 0);
    ASSERT_EQ(setenv("WEIR_FAKE_GPU_MULTIPROCESSORS", "32", 1), 0);  // trees need a block per lane
  }
  void TearDown() override {
    unsetenv("WEIR_FAKE_GPU_MULTIPROCESSORS");
    unsetenv("WEIR_FAKE_GPUS");
  }

  /// What the log says of collectives that were run and checked.
  static std::string log_of(const std::vector<LinksBetween>& links, std::string order = "run", int gpus = 4) {
    std::string file = ::testing::TempDir() + "weir_device_trees_XXXXXX";
    close(mkstemp(file.data()));
    std::ofstream(file) << host_of_gpus(gpus, links);
    const Logged logged("TUNING");
    {
      Options options = device_options();
      options.topology_file = file;
      options.order = std::move(order);
      GpuSite site(options);
      std::vector<int> all(static_cast<size_t>(gpus));
      std::iota(all.begin(), all.end(), 0);
      with_device_ranks(site, gpus, all, [&](Communicator& communicator, int, GpuRank& gpu_rank) {
        constexpr size_t kCount = 200'001;
        Elements in(gpu_rank, all.size() * kCount), out(gpu_rank, all.size() * kCount);
        for (const size_t count : {size_t{100}, kCount}) {
          for (const Collective kind :
               {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
            run_and_check(communicator, gpu_rank, kind, count, 0, in, out);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      });
    }
    unlink(file.c_str());
    return logged.text();
  }
};

/// Two pairs of dies with four links inside a pair, and one link from each die to another pair: what enters
/// the neighbour by its own link can go on inside the pair.
const std::vector<LinksBetween> kPairs = {{0, 1, 4}, {2, 3, 4}, {0, 2, 1}, {1, 3, 1}, {0, 3, 1}};

TEST_F(DeviceTrees, RunOnUnlikeLinks) {
  EXPECT_THAT(log_of(kPairs), AllOf(HasSubstr("all_reduce on GPUs: planned in slots"),
                                    HasSubstr("all_gather on GPUs: planned in slots"),
                                    HasSubstr("reduce_scatter on GPUs: planned in slots"),
                                    HasSubstr("all_reduce on GPUs: one_shot in packets")));
}

/// The dies of an MI250X host, as in tests/topology/machines/mi250x_8.xml.
TEST_F(DeviceTrees, RunOnTheDiesOfAHost) {
  const std::vector<LinksBetween> dies = {{0, 1, 4}, {0, 2, 1}, {0, 6, 2}, {1, 3, 1}, {1, 5, 1}, {2, 3, 4},
                                          {2, 4, 2}, {3, 7, 1}, {4, 5, 4}, {4, 6, 1}, {5, 7, 1}, {6, 7, 4}};
  EXPECT_THAT(log_of(dies, "run", 8), AllOf(HasSubstr("all_reduce on GPUs: planned in slots"),
                                            HasSubstr("all_gather on GPUs: planned in slots")));
}

TEST_F(DeviceTrees, LeaveEqualLinksOfPcieAndTheOrderOfRanksAlone) {
  EXPECT_THAT(log_of({}),
              AllOf(HasSubstr("all_reduce on GPUs: "), Not(HasSubstr("all_reduce on GPUs: planned"))));
  EXPECT_THAT(log_of(kPairs, "ranks"),
              AllOf(HasSubstr("all_gather on GPUs: planned"), Not(HasSubstr("all_reduce on GPUs: planned"))));
}

}  // namespace
}  // namespace weir::core
