// SPDX-License-Identifier: Apache-2.0
/// Quantized collectives as a caller sees them: results, bounds, bits, ragged sizes, what is not finite,
/// misuse.
#include "weir/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "tests/api/ranks.h"
#include "weir/stream.h"

namespace weir::api {
namespace {

using ::testing::HasSubstr;

constexpr int kFormats[] = {weirQuantizedInt8, weirQuantizedFloat8, weirQuantizedBfloat16};
constexpr size_t kCounts[] = {1, 127, 128, 129, 1000, 5000};

std::vector<float> values_of(int rank, size_t count) {
  std::mt19937 random(static_cast<uint32_t>(rank + 1));
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> rounded(const std::vector<float>& values, int format, uint64_t seed = 0) {
  std::vector<float> result(values.size());
  EXPECT_EQ(weirQuantizedRound(values.data(), result.data(), values.size(), format, seed), 0)
      << last_sentence();
  return result;
}

/// For nothing is known but the largest of all magnitudes.
double bound(int format, double magnitude) {
  if (format == weirQuantizedInt8) return magnitude / 253;
  return magnitude / (format == weirQuantizedFloat8 ? 15.9 : 128);
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

TEST(Quantized, AllGatherRoundsEachPartOnce) {
  for (const int ranks : {1, 2, 3})
    with_ranks(ranks, [ranks](ncclComm_t comm, int rank) {
      for (const int format : kFormats)
        for (const size_t count : kCounts) {
          std::vector<float> all(static_cast<size_t>(ranks) * count);
          float* const place = all.data() + static_cast<size_t>(rank) * count;
          std::ranges::copy(values_of(rank, count), place);
          ASSERT_EQ(weirQuantizedAllGather(place, all.data(), count, format, 7, comm, nullptr), 0)
              << last_sentence();
          for (int peer = 0; peer < ranks; ++peer) {
            const std::vector<float> sent = values_of(peer, count);
            const auto first = all.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(peer) * count);
            const std::vector<float> got(first, first + static_cast<ptrdiff_t>(count));
            if (format != weirQuantizedBfloat16 || peer == 0) {
              EXPECT_EQ(got, rounded(sent, format, 7)) << count;
            }
            for (size_t at = 0; at < count; ++at)
              ASSERT_LE(std::abs(got[at] - sent[at]), bound(format, largest(sent)));
          }
        }
    });
}

TEST(Quantized, ReduceScatterAddsRoundedContributionsInTheOrderOfRanks) {
  for (const int ranks : {1, 2, 3, 5})
    with_ranks(ranks, [ranks](ncclComm_t comm, int rank) {
      for (const int format : {weirQuantizedInt8, weirQuantizedFloat8})
        for (const size_t count : kCounts) {
          const auto part_of = [&](int peer) {
            const std::vector<float> all = values_of(peer, count * static_cast<size_t>(ranks));
            const auto first = all.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(rank) * count);
            return rounded({first, first + static_cast<ptrdiff_t>(count)}, format);
          };
          std::vector<float> expected = part_of(0);
          for (int peer = 1; peer < ranks; ++peer) {
            const std::vector<float> part = part_of(peer);
            for (size_t at = 0; at < count; ++at) expected[at] += part[at];
          }
          std::vector<float> data = values_of(rank, count * static_cast<size_t>(ranks));
          // In place, as a trainer does.
          float* const own = data.data() + static_cast<size_t>(rank) * count;
          ASSERT_EQ(weirQuantizedReduceScatter(data.data(), own, count, format, 0, comm, nullptr), 0)
              << last_sentence();
          EXPECT_EQ(std::vector<float>(own, own + count), expected) << ranks << " ranks, " << count;
        }
    });
}

TEST(Quantized, AllReduceOfRaggedSizesOnAStream) {
  for (const int ranks : {1, 2, 3, 5}) {
    std::vector<std::vector<float>> results(static_cast<size_t>(ranks));
    with_ranks(ranks, [&](ncclComm_t comm, int rank) {
      weirStream_t stream = nullptr;
      ASSERT_EQ(weirStreamCreate(&stream), 0);
      for (const int format : kFormats)
        for (const size_t count : kCounts) {
          std::vector<double> sum(count);
          double contributions = 0;
          for (int peer = 0; peer < ranks; ++peer) {
            const std::vector<float> values = values_of(peer, count);
            contributions += bound(format, largest(values));
            for (size_t at = 0; at < count; ++at) sum[at] += values[at];
          }
          std::vector<float> first = values_of(rank, count), again = first;
          for (std::vector<float>* const data : {&first, &again})
            ASSERT_EQ(weirQuantizedAllReduce(data->data(), data->data(), count, format, 3, comm, stream), 0)
                << last_sentence();
          ASSERT_EQ(weirStreamSynchronize(stream), 0) << last_sentence();
          EXPECT_EQ(first, again) << "the same call twice";
          const double once_more = bound(format, largest(first) + contributions);
          for (size_t at = 0; at < count; ++at)
            ASSERT_LE(std::abs(first[at] - sum[at]), contributions + once_more + 1e-5) << count;
          std::ranges::copy(first, std::back_inserter(results[static_cast<size_t>(rank)]));
        }
      EXPECT_EQ(weirStreamDestroy(stream), 0);
    });
    for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]) << "on each rank";
  }
}

TEST(Quantized, SeedsDecideStochasticRounding) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const std::vector<float> data = values_of(rank, 2000);
    const auto reduce = [&](uint64_t seed) {
      std::vector<float> own(1000);
      EXPECT_EQ(weirQuantizedReduceScatter(data.data(), own.data(), 1000, weirQuantizedBfloat16, seed, comm,
                                           nullptr),
                0)
          << last_sentence();
      return own;
    };
    const std::vector<float> first = reduce(1);
    EXPECT_EQ(first, reduce(1));
    EXPECT_NE(first, reduce(2));
  });
}

/// Equal contributions must not all be rounded in the same direction.
TEST(Quantized, RanksRoundIndependently) {
  with_ranks(4, [](ncclComm_t comm, int) {
    constexpr size_t kCount = 4096;
    const std::vector<float> data(4 * kCount, 1 + 0x1p-8F);  // halfway between two numbers
    std::vector<float> own(kCount);
    ASSERT_EQ(
        weirQuantizedReduceScatter(data.data(), own.data(), kCount, weirQuantizedBfloat16, 1, comm, nullptr),
        0)
        << last_sentence();
    const auto alike = std::ranges::count(own, 4.0F) + std::ranges::count(own, 4 + 0x1p-5F);
    EXPECT_NEAR(static_cast<double>(alike) / kCount, 0.125, 0.05);
  });
}

TEST(Quantized, WhatIsNotFiniteReachesTheResult) {
  for (const float wrong : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    with_ranks(2, [wrong](ncclComm_t comm, int rank) {
      for (const int format : kFormats) {
        std::vector<float> data(600, 1), sums(600);
        if (rank == 1) data[300] = wrong;
        ASSERT_EQ(weirQuantizedAllReduce(data.data(), sums.data(), 600, format, 0, comm, nullptr), 0)
            << last_sentence();
        EXPECT_FALSE(std::isfinite(sums[300]));
        EXPECT_EQ(sums[0], 2);
        EXPECT_EQ(sums[599], 2);
      }
    });
}

TEST(Quantized, MisuseIsRefusedWithASentence) {
  const Alone comm;
  std::vector<float> data(10);
  const auto gather = [&](const float* input, float* output, size_t count, int format, ncclComm_t on) {
    return weirQuantizedAllGather(input, output, count, format, 0, on, nullptr);
  };
  EXPECT_EQ(gather(data.data(), data.data(), 10, 3, comm), 4);
  EXPECT_THAT(last_sentence(), HasSubstr("weirQuantizedAllGather : format is 3; expected weirQuantizedInt8"));
  EXPECT_EQ(gather(nullptr, data.data(), 10, weirQuantizedInt8, comm), 4);
  EXPECT_THAT(last_sentence(), HasSubstr("input argument is NULL"));
  EXPECT_EQ(gather(data.data(), nullptr, 10, weirQuantizedInt8, comm), 4);
  EXPECT_EQ(gather(data.data(), data.data(), SIZE_MAX, weirQuantizedInt8, comm), 4);
  EXPECT_THAT(last_sentence(), HasSubstr("count is 18446744073709551615; expected at most"));
  EXPECT_EQ(gather(data.data(), data.data(), 10, weirQuantizedInt8, nullptr), 4);
  EXPECT_EQ(gather(nullptr, nullptr, 0, weirQuantizedInt8, comm), 0) << last_sentence();
  EXPECT_EQ(weirQuantizedAllReduce(data.data(), data.data(), 10, weirQuantizedInt8, 0, comm,
                                   reinterpret_cast<weirStream_t>(data.data())),
            4);
  EXPECT_EQ(weirQuantizedReduceScatter(data.data(), nullptr, 10, weirQuantizedInt8, 0, comm, nullptr), 4);
  EXPECT_EQ(weirQuantizedRound(data.data(), data.data(), 10, -1, 0), 4);
  EXPECT_THAT(last_sentence(), HasSubstr("weirQuantizedRound : format is -1"));
  EXPECT_EQ(weirQuantizedBytes(128, weirQuantizedInt8), 132u);
  EXPECT_EQ(weirQuantizedBytes(128, weirQuantizedBfloat16), 256u);
  EXPECT_EQ(weirQuantizedBytes(128, 9), 0u);
}

TEST(Quantized, ANonBlockingCommunicatorIsRefused) {
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  ASSERT_THAT(ncclCommInitRankConfig(&comm, 1, id, 0, &config),
              ::testing::AnyOf(ncclSuccess, ncclInProgress));
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) ASSERT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
  std::vector<float> data(10);
  EXPECT_EQ(weirQuantizedAllReduce(data.data(), data.data(), 10, weirQuantizedInt8, 0, comm, nullptr), 5);
  EXPECT_THAT(last_sentence(), HasSubstr("the communicator is non-blocking; expected a blocking one"));
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
}

TEST(Quantized, AnAbortedCommunicatorEndsWhatIsQueuedWithAnError) {
  on_threads(2, [](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclSuccess) << last_sentence();
    weirStream_t stream = nullptr;
    ASSERT_EQ(weirStreamCreate(&stream), 0);
    std::vector<float> data(1000);
    if (rank == 0) {  // alone: the other one never comes
      ASSERT_EQ(weirQuantizedAllReduce(data.data(), data.data(), 1000, weirQuantizedInt8, 0, comm, stream), 0)
          << last_sentence();
    }
    EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    EXPECT_EQ(weirStreamSynchronize(stream) != 0, rank == 0);
    (void)weirStreamDestroy(stream);
  });
}

}  // namespace
}  // namespace weir::api
