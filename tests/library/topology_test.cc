// SPDX-License-Identifier: Apache-2.0
// What a communicator knows of the machines its ranks are on, as its log and the files that it reads and
// writes show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/library/processes.h"
#include "weir/places.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A host with two GPUs, each with a NIC on its PCIe switch.
constexpr const char* kHost = R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:10:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:12:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" latency="0" guid="0x1" maxconn="1024" gdr="1"/>
        </nic>
      </pci>
    </pci>
    <pci busid="0000:20:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:21:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1"/>
      </pci>
      <pci busid="0000:22:00.0" class="0x020700" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_1" dev="1" speed="400000" port="1" latency="0" guid="0x2" maxconn="1024" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

constexpr const char* kFabric = R"(weir fabric 1
spine spine1
leaf leaf[0-1]
host node[0-1],elsewhere
cable leaf[0-1] to spine1 400G
attach node[0-1],elsewhere nic mlx5_[0-1] to leaf[0-1] 400G rail 0-1
)";

/// Files and settings of ranks; a folder of its own that goes away.
class Topology : public ::testing::Test {
 protected:
  Topology() {
    char name[] = "/tmp/weir_topology_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Topology() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string log_of(int rank) const { return read("log" + std::to_string(rank)); }

  /// Each rank logs into a file of its own.
  void log(const Rank& rank) const {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT,GRAPH", 1);
    setenv("NCCL_DEBUG_FILE", path("log" + std::to_string(rank.rank())).c_str(), 1);
  }
  /// As if ranks 0 and 1 were on node0, 2 and 3 on node1 ...
  static void simulate_nodes(const Rank& rank) {
    setenv("NCCL_HOSTID", ("node" + std::to_string(rank.rank() / 2)).c_str(), 1);
  }
  static void meet(const Rank& rank) {
    ncclComm_t comm = rank.connect();
    float in = 1;
    float out = 0;
    expect_success(ncclAllReduce(&in, &out, 1, ncclFloat, ncclSum, comm, nullptr), "ncclAllReduce");
    EXPECT_EQ(out, static_cast<float>(rank.ranks()));
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  }
  /// Initialization that must fail on all ranks, with these words.
  static void fail_to_meet(const Rank& rank, ncclResult_t code, const std::string& words) {
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRank(&comm, rank.ranks(), rank.id(), rank.rank()), code);
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr(words));
  }

 private:
  std::string folder_;
};

TEST_F(Topology, OneRankPerHostLooksAndOneLineSaysWhatWasFound) {
  EXPECT_TRUE(all_well(run_ranks(3, [&](const Rank& rank) {
    log(rank);
    meet(rank);
  })));
  EXPECT_THAT(log_of(0), AllOf(HasSubstr("Topology: cpu: "), HasSubstr("Topology: 1 node with ")));
  for (const int rank : {1, 2}) EXPECT_THAT(log_of(rank), Not(HasSubstr("Topology")));
}

TEST_F(Topology, SimulatedNodesReadTheirFilesAndTheFabric) {
  const std::string host = write("host.xml", kHost);
  const std::string fabric = write("fabric", kFabric);
  EXPECT_TRUE(all_well(run_ranks(4, [&](const Rank& rank) {
    log(rank);
    simulate_nodes(rank);
    setenv("NCCL_TOPO_FILE", host.c_str(), 1);
    setenv("WEIR_FABRIC_FILE", fabric.c_str(), 1);
    meet(rank);
  })));
  EXPECT_THAT(log_of(0),
              HasSubstr("Topology: 2 nodes each with 1 NUMA node, 2 GPUs (sm_90), 2 NICs (400 Gb/s); 2 "
                        "leaves, 1 spine, 2:1 oversubscribed"));
  EXPECT_THAT(log_of(2), HasSubstr("read the host from " + host));
  EXPECT_THAT(log_of(3), Not(HasSubstr("Topology")));
}

/// Ranks 0 and 1 on node0, 2 and 3 on node1 and so on; node0 and node1 share a leaf.
TEST_F(Topology, PlacesAreHostsAndLeaves) {
  const std::string fabric = write("fabric",
                                   "weir fabric 1\nleaf leaf[0-1]\nhost node[0-2]\n"
                                   "attach node[0-1] to leaf0 25G\nattach node2 to leaf1 25G\n");
  EXPECT_TRUE(all_well(run_ranks(6, [&](const Rank& rank) {
    simulate_nodes(rank);
    setenv("WEIR_FABRIC_FILE", fabric.c_str(), 1);
    ncclComm_t comm = rank.connect();
    weirPlace_t places[6];
    ASSERT_EQ(weirCommPlaces(comm, places), ncclSuccess) << ncclGetLastError(comm);
    for (int other = 0; other < 6; ++other) {
      EXPECT_EQ(places[other].host, other / 2) << other;
      EXPECT_EQ(places[other].leaf, other / 4) << other;
    }
    EXPECT_EQ(weirCommPlaces(comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(weirCommPlaces(nullptr, places), ncclInvalidArgument);
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

/// Plans then take ranks in another order than their numbers; blocks must still be those of the numbers.
TEST_F(Topology, RanksThatAlternateBetweenHostsGetTheirOwn) {
  EXPECT_TRUE(all_well(run_ranks(5, [](const Rank& rank) {
    setenv("NCCL_HOSTID", ("node" + std::to_string(rank.rank() % 2)).c_str(), 1);
    ncclComm_t comm = rank.connect();
    const auto ranks = static_cast<size_t>(rank.ranks());
    for (const size_t count : {size_t{3}, size_t{100'000}}) {
      std::vector<float> own(count, static_cast<float>(rank.rank())), all(count * ranks), sum(count);
      expect_success(ncclAllGather(own.data(), all.data(), count, ncclFloat, comm, nullptr), "ncclAllGather");
      for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<float>(i / count)) << i;
      expect_success(ncclReduceScatter(all.data(), sum.data(), count, ncclFloat, ncclSum, comm, nullptr),
                     "ncclReduceScatter");
      for (const float value : sum) ASSERT_EQ(value, static_cast<float>(rank.rank() * rank.ranks()));
      expect_success(ncclBroadcast(own.data(), sum.data(), count, ncclFloat, 3, comm, nullptr),
                     "ncclBroadcast");
      for (const float value : sum) ASSERT_EQ(value, 3);
      for (size_t i = 0; i < count; ++i) own[i] = static_cast<float>(i % 7) + static_cast<float>(rank.rank());
      expect_success(ncclAllReduce(own.data(), sum.data(), count, ncclFloat, ncclSum, comm, nullptr),
                     "ncclAllReduce");
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(sum[i], static_cast<float>(5 * (i % 7) + 10)) << i;
    }
    expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
  })));
}

TEST_F(Topology, TheDumpOfOneRankIsReadByTheNext) {
  const std::string host = write("host.xml", kHost);
  const std::string dump = path("dump.xml");
  for (const std::string& from : {host, dump}) {
    EXPECT_TRUE(all_well(run_ranks(2, [&](const Rank& rank) {
      setenv("NCCL_TOPO_FILE", from.c_str(), 1);
      setenv("NCCL_TOPO_DUMP_FILE", (from == host ? dump : path("again.xml")).c_str(), 1);
      setenv("NCCL_TOPO_DUMP_FILE_RANK", "1", 1);
      meet(rank);
    })));
  }
  EXPECT_THAT(read("dump.xml"), AllOf(HasSubstr("<system version=\"1\""), HasSubstr("busid=\"0000:21:00.0\""),
                                      HasSubstr("name=\"mlx5_1\"")));
  EXPECT_EQ(read("again.xml"), read("dump.xml"));
}

TEST_F(Topology, AFileThatIsNotThereIsWarnedOf) {
  EXPECT_TRUE(all_well(run_ranks(2, [&](const Rank& rank) {
    log(rank);
    setenv("NCCL_TOPO_FILE", path("nowhere.xml").c_str(), 1);
    meet(rank);
  })));
  EXPECT_THAT(log_of(0),
              AllOf(HasSubstr("there is no file " + path("nowhere.xml")), HasSubstr("Topology: cpu: ")));
}

TEST_F(Topology, AWrongFileIsToldToAllRanks) {
  const std::string wrong = write("wrong.xml", "<system version=\"1\">\n<cpu numaid=\"x\"/>\n</system>\n");
  EXPECT_TRUE(all_well(run_ranks(4, [&](const Rank& rank) {
    simulate_nodes(rank);
    if (rank.rank() >= 2) setenv("NCCL_TOPO_FILE", wrong.c_str(), 1);
    fail_to_meet(rank, ncclInvalidArgument, wrong + ":2: ");
    EXPECT_THAT(ncclGetLastError(nullptr), HasSubstr("rank 2 (pid "));
  })));
}

TEST_F(Topology, AFileOfSeveralHostsIsRefused) {
  const std::string several = write("several", "2 x (2 gpu, 1 nic 50)");
  EXPECT_TRUE(all_well(run_ranks(2, [&](const Rank& rank) {
    setenv("NCCL_TOPO_FILE", several.c_str(), 1);
    fail_to_meet(rank, ncclInvalidUsage,
                 "describes 2 hosts; expected only the host on which the process runs");
  })));
}

TEST_F(Topology, AFabricFileThatContradictsTheHostsIsRefused) {
  const std::string host = write("host.xml", kHost);
  const std::string fabric = write("fabric",
                                   "weir fabric 1\nleaf leaf0\nhost node[0-1]\n"
                                   "attach node[0-1] nic mlx5_0 to leaf0 100G\n");
  EXPECT_TRUE(all_well(run_ranks(4, [&](const Rank& rank) {
    simulate_nodes(rank);
    setenv("NCCL_TOPO_FILE", host.c_str(), 1);
    setenv("WEIR_FABRIC_FILE", fabric.c_str(), 1);
    fail_to_meet(rank, ncclInvalidArgument, "contradict");
  })));
}

}  // namespace
}  // namespace weir::testing
