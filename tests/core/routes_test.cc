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

/// A transport that only tells whom it reaches, and counts how often it was asked. "half" is
/// offered by rank 0 only.
class Pretended final : public Transport {
 public:
  Pretended(std::string name, Rank self, const Reaches& reaches)
      : name_(std::move(name)), self_(self), reaches_(reaches) {}

  std::string_view name() const override { return name_; }
  Traits traits() const override { return {}; }
  Bytes address() const override {
    return name_ == "half" && self_ != 0 ? Bytes() : ByteWriter().put(self_).take();
  }
  Reach reach(BytesView address) const override {
    if (address.empty()) return {false, {}, name_ + " is missing"};
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

using Lists = std::vector<std::vector<std::string>>;  ///< names of each rank's transports

/// Finds the routes of a thread per list.
std::vector<Outcome> find_routes(const Lists& lists, const Reaches& reaches,
                                 const std::vector<RouteSettings>& settings = {}) {
  const auto ranks = static_cast<int>(lists.size());
  Site site;
  const UniqueId id = site.roots.make_id(SocketAddress::loopback(AF_INET, 0), {}).value();
  std::vector<Outcome> outcomes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Outcome& outcome = outcomes[static_cast<size_t>(rank)];
      auto bootstrap = Bootstrap::join(site.spec(id, ranks, rank));
      std::vector<std::unique_ptr<Transport>> transports;
      const Pretended* slow = nullptr;
      for (const std::string& name : lists[static_cast<size_t>(rank)]) {
        auto transport = std::make_unique<Pretended>(name, rank, reaches);
        if (name == "slow") slow = transport.get();
        transports.push_back(std::move(transport));
      }
      auto routes = Routes::find(**bootstrap, transports,
                                 settings.empty() ? RouteSettings() : settings[static_cast<size_t>(rank)]);
      outcome.status = routes.status();
      if (slow != nullptr) outcome.slow_trials = slow->trials;
      for (Rank peer = 0; routes.ok() && peer < ranks; ++peer)
        outcome.to.emplace_back(routes->to(peer).transport->name());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

/// Finds the routes of `ranks` threads that have the transports "fast" and "slow".
std::vector<Outcome> find_routes(int ranks, const Reaches& reaches) {
  return find_routes(Lists(static_cast<size_t>(ranks), {"fast", "slow"}), reaches);
}

bool everywhere(std::string_view, Rank, Rank) { return true; }

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
  EXPECT_THAT(
      outcomes[2].status.message(),
      HasSubstr("fast: rank 0 does not reach rank 2: fast of rank 0 is broken; slow: slow of rank 2 is "
                "broken"));
}

TEST(Routes, SayWhichSettingsDifferWhereThereIsNone) {
  const std::vector<RouteSettings> settings = {{{"NCCL_HOSTID", ""}, {"NCCL_NET", "IB"}},
                                               {{"NCCL_HOSTID", "b"}, {"NCCL_NET", "IB"}}};
  const auto outcomes = find_routes(
      Lists(2, {"fast"}), [](auto, Rank from, Rank to) { return from == to; }, settings);
  EXPECT_EQ(
      outcomes[0].status.message(),
      "no transport connects rank 0 and rank 1 (fast: fast of rank 0 is broken); NCCL_HOSTID is not set "
      "on rank 0 and b on rank 1");
  EXPECT_EQ(
      outcomes[1].status.message(),
      "no transport connects rank 1 and rank 0 (fast: fast of rank 1 is broken); NCCL_HOSTID is not set "
      "on rank 0 and b on rank 1");
}

TEST(Routes, SayWhyAPeerDoesNotOfferATransport) {
  const auto outcomes = find_routes(Lists(2, {"half"}), [](auto, Rank from, Rank to) { return from == to; });
  EXPECT_EQ(outcomes[0].status.message(),
            "no transport connects rank 0 and rank 1 (half: rank 1 does not offer it: half is missing)");
  EXPECT_EQ(outcomes[1].status.message(), "no transport connects rank 1 and rank 0 (half: half is missing)");
}

TEST(Routes, RanksMayHaveDifferentLists) {
  const auto outcomes = find_routes(
      Lists{{"loop", "fast", "middle", "slow"}, {"slow"}, {"fast", "slow"}, {"middle", "slow"}}, everywhere);
  const std::vector<std::vector<std::string>> expected = {{"loop", "slow", "fast", "middle"},
                                                          {"slow", "slow", "slow", "slow"},
                                                          {"fast", "slow", "fast", "slow"},
                                                          {"middle", "slow", "slow", "middle"}};
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(outcomes[rank].to, expected[rank]) << outcomes[rank].status.message();
}

TEST(Routes, BothEndsTakeTheSameOfTwoListsInDifferentOrder) {
  const auto outcomes = find_routes(Lists{{"fast", "slow"}, {"slow", "fast"}}, everywhere);
  EXPECT_EQ(outcomes[0].to, (std::vector<std::string>{"fast", "fast"}));
  EXPECT_EQ(outcomes[1].to, (std::vector<std::string>{"fast", "slow"})) << "to itself by its own first";
}

TEST(Routes, ListsWithoutACommonTransportAreNamed) {
  const auto outcomes = find_routes(Lists{{"fast"}, {"slow"}}, everywhere);
  EXPECT_EQ(
      outcomes[0].status.message(),
      "no transport connects rank 0 and rank 1 (fast: rank 1 does not offer it); WEIR_TRANSPORTS is fast "
      "on rank 0 and slow on rank 1, expected a transport that both name and that connects them");
  EXPECT_THAT(outcomes[1].status.message(), HasSubstr("(slow: rank 0 does not offer it)"));
}

}  // namespace
}  // namespace weir::core
