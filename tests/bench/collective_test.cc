// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/collective.h"

#include <gtest/gtest.h>

#include "bench/perf/iteration_times.h"
#include "bench/perf/pattern.h"
#include "bench/perf/worker.h"

namespace weir::perf {
namespace {

const Collective& program(const char* name) { return *find_collective(name); }

TEST(Collective, AllElevenProgramsAreThere) {
  EXPECT_EQ(all_collectives().size(), 11);
  EXPECT_EQ(find_collective("nosuch_perf"), nullptr);
}

TEST(Collective, BandwidthsFollowTheTableOfNcclTests) {
  // 1 MiB of float over 4 ranks in 1 ms: what counts for algbw, and the factor from it to busbw.
  struct Case {
    const char* name;
    double bytes, factor;
  };
  const double whole = 1 << 20;
  for (const Case& c : std::vector<Case>{{"all_reduce_perf", whole, 1.5},
                                         {"all_gather_perf", whole, 0.75},
                                         {"reduce_scatter_perf", whole, 0.75},
                                         {"alltoall_perf", whole, 0.75},
                                         {"alltoallv_perf", whole, 0.75},
                                         {"gather_perf", whole, 0.75},
                                         {"scatter_perf", whole, 0.75},
                                         {"broadcast_perf", whole, 1},
                                         {"reduce_perf", whole, 1},
                                         {"sendrecv_perf", whole, 1},
                                         {"hypercube_perf", whole * 3 / 4, 1}}) {
    const Collective& collective = program(c.name);
    Layout layout = collective.layout((1 << 20) / 4, 4, 4);
    Bandwidth reached = bandwidth(collective, layout, 4, 4, 1e-3);
    EXPECT_DOUBLE_EQ(reached.algorithm, c.bytes / 1e6) << c.name;
    EXPECT_DOUBLE_EQ(reached.bus, c.bytes / 1e6 * c.factor) << c.name;
  }
}

TEST(Collective, BlocksAreRoundedDownTo16Bytes) {
  Layout gathered = program("all_gather_perf").layout(103, 4, 3);  // 34 floats each, of which 32 count
  EXPECT_EQ(gathered.count, 32);
  EXPECT_EQ(gathered.send, 32);
  EXPECT_EQ(gathered.recv, 96);
  EXPECT_EQ(gathered.send_in_place, 32);
  EXPECT_EQ(gathered.recv_in_place, 0);
  Layout scattered = program("reduce_scatter_perf").layout(103, 8, 3);
  EXPECT_EQ(scattered.count, 34);
  EXPECT_EQ(scattered.send, 102);
  EXPECT_EQ(scattered.recv, 34);
  EXPECT_EQ(scattered.recv_in_place, 34);
  EXPECT_EQ(program("alltoall_perf").layout(2, 4, 4).count, 0);
}

TEST(Collective, EverySegmentOfAResultHasOneOrigin) {
  for (const Collective& collective : all_collectives()) {
    for (int rank = 0; rank < 4; ++rank) {
      Layout layout = collective.layout(256, 4, 4);
      size_t at = 0;
      for (const Segment& segment : collective.expected(layout, rank, 4, 1)) {
        EXPECT_EQ(segment.at, at) << collective.program;
        EXPECT_TRUE(segment.from == Pattern::kReduced || (segment.from >= 0 && segment.from < 4));
        EXPECT_LE(segment.source_at + segment.count, layout.send) << collective.program;
        at += segment.count;
      }
      EXPECT_TRUE(at == layout.recv || (collective.has_root && rank != 1 && at == 0)) << collective.program;
    }
  }
}

TEST(Sizes, GoFromTheFirstToTheLast) {
  PerfOptions o;
  o.min_bytes = 8, o.max_bytes = 100, o.step_factor = 2;
  EXPECT_EQ(sizes(o, 2, 4), (std::vector<size_t>{8, 16, 32, 64}));
  o.step_bytes = 40;
  EXPECT_EQ(sizes(o, 1, 4), (std::vector<size_t>{8, 48, 88}));
  o.min_bytes = 0, o.max_bytes = 9;
  EXPECT_EQ(sizes(o, 2, 4), (std::vector<size_t>{0, 4, 8}));
  o.min_bytes = o.max_bytes = 0;
  EXPECT_EQ(sizes(o, 2, 4), (std::vector<size_t>{0}));
}

TEST(IterationStats, AreNearestRanks) {
  std::vector<double> times;
  for (int i = 100; i >= 1; --i) times.push_back(i);
  IterationStats stats = iteration_stats(times);
  EXPECT_EQ(stats.min, 1);
  EXPECT_EQ(stats.max, 100);
  EXPECT_EQ(stats.p50, 51);
  EXPECT_EQ(stats.p95, 95);
  EXPECT_EQ(stats.p99, 99);
  EXPECT_DOUBLE_EQ(stats.mean, 50.5);
  EXPECT_NEAR(stats.deviation, 28.866, 1e-3);
  EXPECT_NEAR(stats.variation(), 57.16, 1e-2);
  EXPECT_EQ(iteration_stats(std::vector<double>{3}).p99, 3);
}

}  // namespace
}  // namespace weir::perf
