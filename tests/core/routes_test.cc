// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/routes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <thread>

#include "tests/core/rank.h"

namespace weir::core {
namespace {

using ::testing::HasSubstr;
using testing::Site;

/// Whether rank `from` reaches rank `to` by the transport called `name`.
using Reaches = std::function<bool(std::string_view name, Rank from, Rank to)>;

/// A transport that only tells whom it reaches, and counts how often it was asked.
class Pretended final : public Transport {
 public:
  Pretended(std::string name, Rank self, const Reaches& reaches)
      : name_(std::move(name)), self_(self), reaches_(reaches) {}

  std::string_view name() const override { return name_; }
  Traits traits() const override { return {}; }
  Bytes address() const override { return ByteWriter().put(self_).take(); }
  Reach reach(BytesView address) const override {
    ++trials;
    const Rank peer = ByteReader(address).get<Rank>();
    if (reaches_(name_, self_, peer)) return {true, {}, {}};
    return {false, {}, fmt::format("{} of rank {} is broken", name_, self_)};
  }
  Result<std::unique_ptr<Sender>> open_sender(BytesView, const LinkSpec&) override { return nothing(); }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView, const LinkSpec&) override { return nothing(); }

  mutable int trials = 0;

 private:
  static Status nothing() { return {Code::invalid_usage, "only pretended"}; }

  const std::string name_;
  const Rank self_;
  const Reaches& reaches_;
};

struct Outcome {
  Status status;
  std::vector<std::string> to;  ///< the transport towards each rank
  int slow_trials = 0;
};

/// Finds the routes of `ranks` threads that have the transports "fast" and "slow".
std::vector<Outcome> find_routes(int ranks, const Reaches& reaches) {
  Site site;
  const UniqueId id = site.roots.make_id(SocketAddress::loopback(AF_INET, 0), {}).value();
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Outcome& outcome = outcomes[static_cast<size_t>(rank)];
      auto bootstrap = Bootstrap::join(site.spec(id, ranks, rank));
      std::vector<std::unique_ptr<Transport>> transports;
      transports.push_back(std::make_unique<Pretended>("fast", rank, reaches));
      auto slow = std::make_unique<Pretended>("slow", rank, reaches);
      const Pretended& asked = *slow;
      transports.push_back(std::move(slow));
      auto routes = Routes::find(**bootstrap, transports);
      outcome.status = routes.status();
      outcome.slow_trials = asked.trials;
      for (Rank peer = 0; routes.ok() && peer < ranks; ++peer)
        outcome.to.emplace_back(routes->to(peer).transport->name());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

TEST(Routes, TakeTheFirstAndTryNoFurther) {
  for (const Outcome& outcome : find_routes(5, [](auto, Rank, Rank) { return true; })) {
    EXPECT_EQ(outcome.to, std::vector<std::string>(5, "fast"));
    EXPECT_EQ(outcome.slow_trials, 0);
  }
}

TEST(Routes, AgreeWhereOneSideCannot) {
  const auto outcomes = find_routes(
      4, [](std::string_view name, Rank from, Rank to) { return name == "slow" || from != 1 || to != 3; });
  for (Rank rank = 0; rank < 4; ++rank) {
    for (Rank peer = 0; peer < 4; ++peer) {
      const bool broken = (rank == 1 && peer == 3) || (rank == 3 && peer == 1);
      EXPECT_EQ(outcomes[static_cast<size_t>(rank)].to.at(static_cast<size_t>(peer)),
                broken ? "slow" : "fast");
    }
  }
}

TEST(Routes, SayWhyThereIsNone) {
  const auto outcomes = find_routes(3, [](std::string_view name, Rank from, Rank to) {
    return !(from == 0 && to == 2) && !(name == "slow" && from == 2 && to == 0);
  });
  EXPECT_TRUE(outcomes[1].status.ok());
  EXPECT_EQ(outcomes[0].status.code(), Code::system_error);
  EXPECT_THAT(outcomes[0].status.message(),
              HasSubstr("no transport connects rank 0 and rank 2 (fast: fast of rank 0 is broken; slow: "));
  EXPECT_THAT(outcomes[2].status.message(),
              HasSubstr("fast: the peer could not reach this rank; slow: slow of rank 2 is broken"));
}

}  // namespace
}  // namespace weir::core
