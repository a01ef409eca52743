#include "algorithms/ir/verify.h"

#include <gmock/gmock.h>

#include "algorithms/ir/builder.h"

namespace weir::ir {
namespace {

using ::testing::HasSubstr;

/// Reduce-scatter around the ring, then all-gather, every rank one chunk.
Plan ring(int n) {
  Builder plan("ring", {Collective::all_reduce, n, 0, static_cast<uint32_t>(n)});
  for (int c = 0; c < n; ++c) {
    Operand carried = input(static_cast<uint32_t>(c));
    for (int step = 1; step < 2 * n - 1; ++step) {
      const Rank src = (c + step) % n, dst = (src + 1) % n;
      const auto chunk = static_cast<uint32_t>(c);
      const bool sums = step < n;
      const Operand to = step >= n - 1 ? output(chunk) : Operand{};
      carried = value(plan.send(src, dst, carried, {.with = sums ? input(chunk) : Operand{}, .to = to}));
    }
  }
  return plan.take();
}

TEST(Verify, AcceptsARing) {
  for (int n : {2, 3, 8, 64}) EXPECT_EQ(verify(ring(n)).message(), "") << n;
}

TEST(Verify, NamesTheMoveThatIsMissing) {
  Plan plan = ring(4);
  plan.moves.pop_back();
  EXPECT_THAT(verify(plan).message(), HasSubstr("was never written"));
}

}  // namespace
}  // namespace weir::ir
