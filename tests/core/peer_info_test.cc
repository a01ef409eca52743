// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/peer_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/core/planning/protocols.h"
#include "tests/core/on_hosts.h"

namespace weir::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PeerInfo peer_info(uint64_t machine, uint64_t cores, int quota, double alpha) {
  PeerInfo made;
  made.machine = machine;
  made.cores.bits[0] = cores;
  made.quota = quota;
  made.stated.inside = {alpha, alpha / 2, 1e-10};
  made.stated.between = {2e-5, 1e-5, 3e-10};
  return made;
}

TEST(PeerInfo, TellWhatRanksShare) {
  const std::vector<PeerInfo> peer_infos = {peer_info(7, 0b0011, 99, 1e-7), peer_info(8, 0b1111, 3, 2e-7),
                                            peer_info(7, 0b0110, 99, 1e-7)};
  const cost::Environment around = environment_of(peer_infos, on_hosts({70, 80, 70}));
  EXPECT_THAT(around.host_of, ElementsAre(0, 1, 0));
  EXPECT_THAT(around.machine_of, ElementsAre(0, 1, 0));
  EXPECT_THAT(around.cores, ElementsAre(3, 3)) << "two masks together; a quota";
  EXPECT_EQ(around.rates.inside.alpha, 2e-7) << "the slower";
  ASSERT_EQ(around.borders.size(), 1u);
  EXPECT_EQ(around.borders[0].beta, 0) << "as between hosts";
  const cost::Environment sorted = in_order(around, std::vector<Rank>{0, 2, 1});
  EXPECT_THAT(sorted.host_of, ElementsAre(0, 0, 1));
  EXPECT_THAT(sorted.machine_of, ElementsAre(0, 0, 1));
  EXPECT_THAT(sorted.borders[0].group_of, ElementsAre(0, 0, 1));
}

TEST(PeerInfo, HostsMayBePretended) {
  const std::vector<PeerInfo> peer_infos = {peer_info(7, 1, 99, 1e-7), peer_info(7, 2, 99, 1e-7)};
  const cost::Environment around = environment_of(peer_infos, on_hosts({70, 71}));
  EXPECT_THAT(around.host_of, ElementsAre(0, 1));
  EXPECT_THAT(around.machine_of, ElementsAre(0, 0));
  EXPECT_THAT(around.cores, ElementsAre(2));
}

TEST(PeerInfo, WhoSharesACoreWaitsForIt) {
  const std::vector<PeerInfo> peer_infos = {peer_info(7, 1, 99, 1e-7), peer_info(7, 1, 99, 1e-7)};
  EXPECT_GT(environment_of(peer_infos, on_hosts({70, 70})).rates.inside.alpha, 1e-6);
}

TEST(PeerInfo, Travels) {
  PeerInfo told = peer_info(7, 0b0011, 99, 1e-7);
  told.gpu = "0000:3b:00.0";
  told.shares_gpu = false;
  told.order = "any";
  told.knows = true;
  told.known.gamma = 3;
  told.maps_all = true;
  told.kernel_reads = false;
  told.settings.changed = {{"WEIR_SLOTS", "8"}};
  ByteWriter out;
  told.put(out);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  const PeerInfo got = PeerInfo::get(in);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(got.machine, 7u);
  EXPECT_EQ(got.cores.bits, told.cores.bits);
  EXPECT_EQ(got.quota, 99);
  EXPECT_EQ(got.gpu, told.gpu);
  EXPECT_FALSE(got.shares_gpu);
  EXPECT_EQ(got.order, "any");
  EXPECT_TRUE(got.knows);
  EXPECT_EQ(got.stated.inside, told.stated.inside);
  EXPECT_EQ(got.known.gamma, 3);
  EXPECT_TRUE(got.maps_all);
  EXPECT_FALSE(got.kernel_reads);
  EXPECT_EQ(got.settings.changed, told.settings.changed);
}

/// Ranks 1 and 3 are on one GPU, 0 on one with the same address on another machine, 2 on host memory.
TEST(PeerInfo, AGpuIsSharedOnlyIfAllOnItLetOthers) {
  std::vector<PeerInfo> peer_infos = {peer_info(7, 1, 9, 1e-7), peer_info(8, 1, 9, 1e-7),
                                      peer_info(8, 1, 9, 1e-7), peer_info(8, 1, 9, 1e-7)};
  for (const size_t rank : {0, 1, 3}) peer_infos[rank].gpu = "0000:3b:00.0";
  auto peers = on_hosts({70, 80, 80, 80});
  for (PeerAddress& peer : peers) peer.hostname = "alpha";
  EXPECT_TRUE(check_sharing(peer_infos, peers).ok());
  peer_infos[0].shares_gpu = peer_infos[2].shares_gpu = false;
  EXPECT_TRUE(check_sharing(peer_infos, peers).ok()) << "nobody else is on theirs";
  for (const size_t rank : {1, 3}) {
    peer_infos[rank].shares_gpu = false;
    const Status refused = check_sharing(peer_infos, peers);
    EXPECT_EQ(refused.code(), Code::invalid_usage);
    EXPECT_THAT(
        refused.message(),
        HasSubstr("Duplicate GPU detected : rank 1 and rank 3 both on GPU 0000:3b:00.0 of host alpha, "
                  "and NCCL_MULTI_RANK_GPU_ENABLE is 0 on rank " +
                  std::to_string(rank)));
    peer_infos[rank].shares_gpu = true;
  }
}

TEST(PeerInfo, AllRanksHaveOneOrderOfSums) {
  std::vector<PeerInfo> peer_infos(3);
  for (PeerInfo& peer_info : peer_infos) peer_info.order = "ranks";
  const auto peers = on_hosts({70, 70, 80});
  EXPECT_EQ(*common_order(peer_infos, peers), SumOrder::ranks);
  peer_infos[2].order = "any";
  const Status differs = common_order(peer_infos, peers).status();
  EXPECT_EQ(differs.code(), Code::invalid_usage);
  EXPECT_THAT(differs.message(), HasSubstr("the order of sums is ranks at rank 0 and any at rank 2"));
  peer_infos[1].order = "";
  const Status none = common_order(peer_infos, peers).status();
  EXPECT_EQ(none.code(), Code::invalid_argument);
  EXPECT_THAT(none.message(), HasSubstr("the order of sums of rank 1"));
}

TEST(SharedSettings, MayLeaveNoAlgorithmThatSumsInRankOrder) {
  const auto refused = [](std::string_view ours, std::string_view nccls) {
    SharedSettings shared_settings;
    shared_settings.algorithm = ours;
    shared_settings.nccl_algorithms = nccls;
    return shared_settings.check_rank_order().message();
  };
  for (const char* const ours : {"", "one_shot", "two_shot", "all_pairs", "chain", "pairwise", "unknown"})
    EXPECT_EQ(refused(ours, ""), "") << ours;
  EXPECT_THAT(refused("ring", ""), HasSubstr("WEIR_ALGO=ring allows no algorithm that sums all_reduce"));
  EXPECT_THAT(refused("pat", ""), HasSubstr("WEIR_ALGO=pat allows no algorithm that sums reduce_scatter"));
  EXPECT_EQ(refused("", "^ring,tree"), "");
  EXPECT_EQ(refused("", "chain"), "");
  EXPECT_EQ(refused("", "broadcast:ring"), "");
  EXPECT_THAT(refused("", "reduce:ring"),
              HasSubstr("NCCL_ALGO=reduce:ring allows no algorithm that sums reduce"));
}

TEST(SharedSettings, TravelAndOverride) {
  ByteWriter out;
  SharedSettings told;
  told.costs = "gamma 1e-9\n";
  told.nccl_algorithms = "^ring";
  told.nccl_protocols = "Simple;allgather:LL";
  told.graphs = "<graphs/>";
  told.fast_paths = false;
  told.put(out);
  const Bytes bytes = out.take();
  ByteReader in(bytes);
  const SharedSettings shared_settings = SharedSettings::get(in);
  EXPECT_EQ(shared_settings.nccl_protocols, told.nccl_protocols);
  EXPECT_EQ(shared_settings.graphs, "<graphs/>");
  EXPECT_FALSE(shared_settings.fast_paths);
  const cost::Rates rates = {{1, 2, 3}, {4, 5, 6}, 7};
  EXPECT_EQ(shared_settings.override(rates).gamma, 1e-9);
  EXPECT_EQ(shared_settings.override(rates).inside, rates.inside);
  EXPECT_FALSE(shared_settings.filter().allows("ring", Collective::all_reduce));
  EXPECT_TRUE(shared_settings.filter().allows("double_tree", Collective::all_reduce));
  SharedSettings one_shot;
  one_shot.algorithm = "one_shot";
  one_shot.nccl_algorithms = "ring";
  EXPECT_FALSE(one_shot.filter().allows("ring", Collective::all_reduce));
}

TEST(SharedSettings, LeaveOutWordsThatMeanNothing) {
  Options options;
  options.nccl_algorithms = "no such";
  options.nccl_protocols = "LL256";
  const SharedSettings shared_settings = SharedSettings::of(options);
  EXPECT_EQ(shared_settings.nccl_algorithms, "");
  EXPECT_EQ(shared_settings.nccl_protocols, "");
}

/// The collectives whose fast paths are left.
std::string exchanged(const SharedSettings& shared_settings) {
  std::string names;
  for (size_t kind = 0; kind < kCollectives; ++kind) {
    if (shared_settings.exchanged()[kind])
      names += (names.empty() ? "" : " ") + std::string(name(static_cast<Collective>(kind)));
  }
  return names;
}

TEST(SharedSettings, SayWhichFastPathsMayBeTaken) {
  const std::string all = exchanged({});
  EXPECT_EQ(all, "all_reduce all_gather reduce_scatter all_to_all");
  const auto with_protocols = [](std::string_view text) {
    SharedSettings shared_settings;
    shared_settings.nccl_protocols = text;
    return exchanged(shared_settings);
  };
  EXPECT_EQ(with_protocols("Simple"), "");
  EXPECT_EQ(with_protocols("^LL,LL128"), "");
  EXPECT_EQ(with_protocols("^LL"), all) << "LL128 is left";
  EXPECT_EQ(with_protocols("ll128"), all);
  EXPECT_EQ(with_protocols("simple;allreduce:LL,Simple"), "all_reduce");
  EXPECT_EQ(with_protocols("alltoall:^ll,ll128"), "all_reduce all_gather reduce_scatter");
  SharedSettings shared_settings;
  shared_settings.nccl_algorithms = "allreduce:ring";
  EXPECT_EQ(exchanged(shared_settings), "all_gather reduce_scatter all_to_all");
  shared_settings.nccl_algorithms = "^two_shot";
  EXPECT_EQ(exchanged(shared_settings), "all_gather reduce_scatter all_to_all") << "large sums would take it";
  shared_settings.algorithm = "one_shot";
  EXPECT_EQ(exchanged(shared_settings), "");
  SharedSettings off;
  off.fast_paths = false;
  EXPECT_EQ(exchanged(off), "");
}

TEST(Protocols, SpeakNccl) {
  const auto protocols = Protocols::parse("LL,LL128;broadcast:Simple");
  ASSERT_TRUE(protocols.ok());
  EXPECT_TRUE(protocols->fast[static_cast<size_t>(Collective::all_reduce)]);
  EXPECT_FALSE(protocols->simple[static_cast<size_t>(Collective::all_reduce)]);
  EXPECT_FALSE(protocols->fast[static_cast<size_t>(Collective::broadcast)]);
  EXPECT_TRUE(protocols->simple[static_cast<size_t>(Collective::broadcast)]);
  EXPECT_TRUE(Protocols::parse("")->simple.all());
  EXPECT_EQ(Protocols::parse("LL256").status().message(),
            "unknown protocol \"LL256\"; expected one of LL, LL128, Simple");
  EXPECT_THAT(Protocols::parse("LL;Simple").status().message(), HasSubstr("\"Simple\" names no collective"));
}

}  // namespace
}  // namespace weir::core
