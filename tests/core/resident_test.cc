// Communicators whose collectives go by kernels, ranks in threads of one process.
#include "tests/core/resident.h"

#include <fmt/format.h>

#include <random>

#include "src/core/gpu/resident.h"

namespace weir::core {
namespace {

constexpr Collective kAll[] = {Collective::all_reduce,     Collective::reduce,     Collective::broadcast,
                               Collective::all_gather,     Collective::reduce_scatter,
                               Collective::all_to_all,     Collective::gather,     Collective::scatter};

/// One collective, checked.
void run_and_check(Communicator& communicator, const Seated& seat, Collective kind, size_t count, Rank root,
                   Elements& in, Elements& out) {
  const int ranks = communicator.size(), rank = communicator.rank();
  in.fill([&](size_t i) { return put(rank, i / count, i % count); });
  out.fill([](size_t) { return -1; });
  const Operation one = operation(kind, in.data(), out.data(), count, root);
  const Status status = communicator.run({&one, 1}, seat.place());
  ASSERT_TRUE(status.ok()) << status.message();
  const std::vector<int>& got = out.read();
  for (size_t block = 0; block < blocks_out(kind, ranks, rank, root); ++block) {
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(got[block * count + i], expected(kind, ranks, rank, root, block, i))
          << name(kind) << " of " << count << ", rank " << rank << " of " << ranks << ", block " << block
          << ", element " << i;
    }
  }
}

struct Seats {
  int ranks;
  std::vector<int> gpus;
};

class Residents : public ::testing::TestWithParam<Seats> {};

// Packets, one pass of slots, several passes and shards.
TEST_P(Residents, AllCollectives) {
  const auto& [ranks, gpus] = GetParam();
  GpuSite site;
  with_residents(site, ranks, gpus, [](Communicator& communicator, int, Seated& seat) {
    for (const size_t count : {size_t{1}, size_t{333}, size_t{20'000}, size_t{100'003}}) {
      Elements in(seat, count * static_cast<size_t>(communicator.size()));
      Elements out(seat, in.size());
      for (const Collective kind : kAll) {
        run_and_check(communicator, seat, kind, count, communicator.size() - 1, in, out);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Gpus, Residents,
                         ::testing::Values(Seats{1, {0}}, Seats{2, {0}}, Seats{3, {0, 1}}, Seats{4, {1}}),
                         [](const auto& info) {
                           return fmt::format("{}RanksOn{}", info.param.ranks,
                                              info.param.gpus.size() > 1 ? "Two" : "One");
                         });

/// Rings go on from plan to plan, whatever the plans, sizes and roots.
TEST(Resident, ManyPlansInTurn) {
  GpuSite site;
  with_residents(site, 3, {0}, [](Communicator& communicator, int, Seated& seat) {
    std::mt19937 random(3);  // the same on all ranks
    Elements in(seat, 3 * 9000), out(seat, 3 * 9000);
    for (int turn = 0; turn < 60; ++turn) {
      const Collective kind = kAll[random() % std::size(kAll)];
      const size_t count = 1 + random() % (turn % 2 == 0 ? 50 : 9000);
      run_and_check(communicator, seat, kind, count, static_cast<Rank>(random() % 3), in, out);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

}  // namespace
}  // namespace weir::core
