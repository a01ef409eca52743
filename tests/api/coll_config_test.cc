// SPDX-License-Identifier: Apache-2.0
// Collectives with options of their own: all eight, what the options do, and what is refused.
#include "src/api/coll_config.h"

#include <cstring>
#include <numeric>

#include "tests/api/ranks.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using Floats = std::vector<float>;
using Ints = std::vector<int>;

ncclCollConfig_t plain_call() {
  ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
  return config;
}

ncclCollConfig_t selecting(const char* algorithms, int force = 1) {
  ncclCollConfig_t config = plain_call();
  config.algSelection = algorithms;
  config.forceAlgSelection = force;
  return config;
}

/// An all-reduce of 3 ranks whose result shows the order of the sums: 1 if rank 0's and rank 1's values come
/// first, otherwise 0.
Floats reduced(ncclComm_t comm, int rank, const ncclCollConfig_t* config) {
  const float kValues[kRanks] = {1e8F, -1e8F, 1};
  Floats data(96, kValues[rank]);
  EXPECT_EQ(
      ncclAllReduceConfig(data.data(), data.data(), data.size(), ncclFloat, ncclSum, comm, nullptr, config),
      ncclSuccess)
      << last_sentence();
  return data;
}

TEST(CollConfig, TheAlgorithmIsTheOneThatTheCallSelects) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    for (int round = 0; round < 2; ++round) {  // the second time with the plan that is known
      for (const char* const words : {"chain", "CHAIN_SIMPLE", "nvls,chain"}) {
        const ncclCollConfig_t config = selecting(words);
        EXPECT_THAT(reduced(comm, rank, &config), Each(1)) << words;
      }
      // A ring begins each of its blocks at another rank.
      const ncclCollConfig_t ring = selecting("RING");
      const Floats sums = reduced(comm, rank, &ring);
      EXPECT_NE(std::count(sums.begin(), sums.end(), 1.0F), 0);
      EXPECT_NE(std::count(sums.begin(), sums.end(), 0.0F), 0);
    }
  });
}

TEST(CollConfig, AllEightCollectives) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    const ncclCollConfig_t ring = selecting("^tree"), plain = plain_call();
    for (const ncclCollConfig_t* const config :
         {&ring, &plain, static_cast<const ncclCollConfig_t*>(nullptr)}) {
      const auto ok = [](ncclResult_t result) { EXPECT_EQ(result, ncclSuccess) << last_sentence(); };
      const Ints own(kRanks, rank + 1), all = {1, 1, 1, 2, 2, 2, 3, 3, 3};
      Ints out(kRanks, 0), blocks(all.size(), 0);
      ok(ncclAllReduceConfig(own.data(), out.data(), kRanks, ncclInt, ncclSum, comm, nullptr, config));
      EXPECT_THAT(out, Each(6));
      ok(ncclReduceConfig(own.data(), out.data(), kRanks, ncclInt, ncclMax, 1, comm, nullptr, config));
      if (rank == 1) {
        EXPECT_THAT(out, Each(3));
      }
      ok(ncclBroadcastConfig(own.data(), out.data(), kRanks, ncclInt, 2, comm, nullptr, config));
      EXPECT_THAT(out, Each(3));
      ok(ncclAllGatherConfig(own.data(), blocks.data(), kRanks, ncclInt, comm, nullptr, config));
      EXPECT_EQ(blocks, all);
      int sum = 0;
      ok(ncclReduceScatterConfig(own.data(), &sum, 1, ncclInt, ncclSum, comm, nullptr, config));
      EXPECT_EQ(sum, 6);
      ok(ncclAlltoAllConfig(own.data(), out.data(), 1, ncclInt, comm, nullptr, config));
      EXPECT_EQ(out, (Ints{1, 2, 3}));
      blocks.assign(blocks.size(), 0);
      ok(ncclGatherConfig(own.data(), blocks.data(), kRanks, ncclInt, 0, comm, nullptr, config));
      if (rank == 0) {
        EXPECT_EQ(blocks, all);
      }
      ok(ncclScatterConfig(all.data(), out.data(), kRanks, ncclInt, 1, comm, nullptr, config));
      EXPECT_THAT(out, Each(rank + 1));
    }
  });
}

TEST(CollConfig, AGroupMixesCallsWithAndWithoutOptions) {
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    ncclCollConfig_t config = selecting("tree");
    int first = rank, second = 10 * rank;
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclAllReduceConfig(&first, &first, 1, ncclInt, ncclSum, comm, nullptr, &config), ncclSuccess);
    config = selecting("no such thing");  // the first call does not look at it any more
    EXPECT_EQ(ncclAllReduce(&second, &second, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    EXPECT_EQ(first, 3);
    EXPECT_EQ(second, 30);
  });
}

TEST(CollConfig, AWrongConfigDoesNotMakeItsGroupFail) {
  with_ranks(2, [](ncclComm_t comm, int) {
    ncclCollConfig_t wrong = plain_call();
    wrong.magic = 7;
    int value = 1;
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclAllReduceConfig(&value, &value, 1, ncclInt, ncclSum, comm, nullptr, &wrong),
              ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclInt, ncclSum, comm, nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << last_sentence();
    EXPECT_EQ(value, 2);
  });
}

TEST(CollConfig, ASelectionThatCannotBeUsed) {
  Together together(kRanks);
  with_ranks(kRanks, [&](ncclComm_t comm, int rank) {
    int value = 1;
    const auto result = [&](const ncclCollConfig_t& config) {
      return ncclAllReduceConfig(&value, &value, 1, ncclInt, ncclSum, comm, nullptr, &config);
    };
    EXPECT_EQ(result(selecting("nvls_simple,SYMK_LD")), ncclInvalidArgument);
    EXPECT_THAT(together.sentence(), AllOf(HasSubstr("ncclAllReduceConfig"), HasSubstr("nvls_simple,SYMK_LD"),
                                           HasSubstr("all_reduce over 3 ranks")));
    EXPECT_EQ(result(selecting("rng")), ncclInvalidArgument);
    EXPECT_THAT(together.sentence(), AllOf(HasSubstr("no algorithm 'rng'"), HasSubstr("ring")));
    EXPECT_EQ(sum_over(comm, rank), 3) << "nothing is left of them";
    for (const char* const words : {"nvls", "rng", ""}) {
      value = 1;
      EXPECT_EQ(result(selecting(words, 0)), ncclSuccess) << last_sentence();
      EXPECT_EQ(value, kRanks) << words;
    }
  });
}

TEST(CollConfig, WrongArgumentsAreNamedAsWithoutOptions) {
  const Alone comm;
  const ncclCollConfig_t ring = selecting("ring");
  int value = 1;
  EXPECT_EQ(ncclBroadcastConfig(&value, &value, 1, ncclInt, 5, comm, nullptr, &ring), ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), AllOf(HasSubstr("ncclBroadcast"), HasSubstr("invalid root 5")));
  EXPECT_EQ(ncclAllReduceConfig(nullptr, &value, 1, ncclInt, ncclSum, comm, nullptr, &ring),
            ncclInvalidArgument);
  EXPECT_THAT(last_sentence(), HasSubstr("sendbuff is NULL"));
  EXPECT_EQ(ncclAllReduceConfig(&value, &value, 1, ncclInt, ncclSum, nullptr, nullptr, &ring),
            ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduceConfig(&value, &value, 1, ncclInt, ncclSum, comm, nullptr, &ring), ncclSuccess);
  EXPECT_EQ(value, 1);
}

std::string refused_call(const ncclCollConfig_t& config, Code code = Code::invalid_argument) {
  const auto read = read_coll_config("ncclAllReduceConfig", &config);
  EXPECT_EQ(read.status().code(), code);
  return read.status().message();
}

TEST(CollConfig, EveryFieldIsHeldToItsRange) {
  const struct {
    const char* name;
    int ncclCollConfig_t::*member;
    int bad;
    int good;
  } kCases[] = {
      {"minCTAs", &ncclCollConfig_t::minCTAs, 0, 1},
      {"maxCTAs", &ncclCollConfig_t::maxCTAs, -4, 64},
      {"nvlsCTAs", &ncclCollConfig_t::nvlsCTAs, 0, 1},
      {"cgaClusterSize", &ncclCollConfig_t::cgaClusterSize, -1, 0},
      {"forceAlgSelection", &ncclCollConfig_t::forceAlgSelection, 2, 0},
      {"CTAPolicy", &ncclCollConfig_t::CTAPolicy, 4, 3},
  };
  for (const auto& one : kCases) {
    ncclCollConfig_t config = plain_call();
    config.*one.member = one.good;
    EXPECT_TRUE(read_coll_config("", &config).ok()) << one.name;
    config.*one.member = one.bad;
    EXPECT_THAT(refused_call(config), AllOf(HasSubstr("ncclAllReduceConfig : "), HasSubstr(one.name),
                                            HasSubstr(std::to_string(one.bad))));
  }
  ncclCollConfig_t config = plain_call();
  config.minCTAs = 4;
  config.maxCTAs = 2;
  EXPECT_THAT(refused_call(config), HasSubstr("minCTAs 4 and maxCTAs 2"));
  config = plain_call();
  config.launchCompletionEvent = reinterpret_cast<cudaEvent_t>(&config);
  EXPECT_THAT(refused_call(config, Code::invalid_usage), HasSubstr("launchCompletionEvent"));
  config.version = NCCL_VERSION(2, 31, 2);  // whose struct has no such field
  EXPECT_TRUE(read_coll_config("", &config).ok());
}

TEST(CollConfig, StructsOfOtherVersions) {
  ncclCollConfig_t config = plain_call();
  config.size = 56;
  EXPECT_THAT(refused_call(config), AllOf(HasSubstr("size 56"), HasSubstr("NCCL_COLLCONFIG_INITIALIZER")));
  config = plain_call();
  config.magic = 7;
  EXPECT_THAT(refused_call(config), HasSubstr("magic 0x7"));
  // Shorter, as NCCL 2.31 has it, and longer.
  for (const size_t size : {size_t{64}, sizeof(config) + 24}) {
    config = selecting("ring");
    config.size = size;
    config.version = size == 64 ? NCCL_VERSION(2, 31, 2) : NCCL_VERSION(2, 99, 0);
    std::vector<std::byte> bytes(size, std::byte{0x7f});
    std::memcpy(bytes.data(), &config, std::min(size, sizeof(config)));
    const auto read = read_coll_config("", reinterpret_cast<const ncclCollConfig_t*>(bytes.data()));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_STREQ(read->algSelection, "ring");
    EXPECT_EQ(read->launchCompletionEvent, nullptr);
  }
}

}  // namespace
}  // namespace weir::api
