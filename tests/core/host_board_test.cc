// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/host_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cost/table.h"
#include "src/core/planning/plan_bytes.h"
#include "tests/core/processes.h"

namespace weir::core {
namespace {

constexpr uint64_t kBoardUid = 77;

Bytes write_value(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}
std::optional<std::string> read_value(BytesView bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

HostBoard board_in(const device::SharedMemory& memory, int processes, const Secret& secret = {}) {
  return HostBoard({kBoardUid, secret, processes}, memory.handle());
}

/// What `board` says of `key`, if this process itself would say `own`.
std::string value_for(HostBoard& board, const std::string& key, const std::string& own) {
  const auto make = [&]() -> Result<std::string> { return own; };
  const auto value = board.of<std::string>(key, make, &write_value, &read_value);
  return value.ok() ? *value : value.status().message();
}

/// Runs `body` in a child; its exit code.
int exit_of_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

TEST(HostBoard, OneProcessMakesAValueForAll) {
  const auto memory = HostBoard::create(kBoardUid);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  HostBoard board = board_in(*memory, 3);
  EXPECT_EQ(value_for(board, "a", "made here"), "made here");
  EXPECT_EQ(exit_of_child([&] { return value_for(board, "a", "made there") == "made here" ? 0 : 1; }), 0);
  EXPECT_EQ(exit_of_child([&] { return value_for(board, "b", "another key") == "another key" ? 0 : 1; }), 0);
  EXPECT_EQ(value_for(board, "b", "made here"), "another key");
}

TEST(HostBoard, WhoAsksMeanwhileWaitsForTheMaker) {
  const auto memory = HostBoard::create(kBoardUid);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  const weir::testing::Event begun, goes_on;
  weir::testing::Processes two(2, [&](int index, const weir::testing::Processes::Voice& voice) {
    HostBoard board = board_in(*memory, 2);
    const auto make = [&]() -> Result<std::string> {
      begun.happen();
      goes_on.wait();
      return std::string("slow");
    };
    if (index == 0) {
      voice.say(*board.of<std::string>("a", make, &write_value, &read_value));
    } else {
      begun.wait();
      voice.say("asks");
      voice.say(value_for(board, "a", "made twice"));
    }
  });
  EXPECT_EQ(two.line(1), "asks");
  goes_on.happen();
  EXPECT_EQ(two.line(0), "slow");
  EXPECT_EQ(two.line(1), "slow");
}

TEST(HostBoard, TheValueOfAMakerThatDiedIsMadeAgain) {
  const auto memory = HostBoard::create(kBoardUid);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  HostBoard board = board_in(*memory, 2);
  exit_of_child([&] {
    const auto make = []() -> Result<std::string> { _exit(3); };
    (void)board.of<std::string>("a", make, &write_value, &read_value);
    return 0;
  });
  EXPECT_EQ(value_for(board, "a", "made here"), "made here");
}

TEST(HostBoard, AFailureIsNotShared) {
  const auto memory = HostBoard::create(kBoardUid);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  HostBoard board = board_in(*memory, 2);
  exit_of_child([&] {
    const auto make = []() -> Result<std::string> { return Status(Code::internal_error, "no"); };
    (void)board.of<std::string>("a", make, &write_value, &read_value);
    return 0;
  });
  EXPECT_EQ(value_for(board, "a", "made here"), "made here");
}

TEST(HostBoard, AValueWithoutTheSecretIsNotBelieved) {
  const auto memory = HostBoard::create(kBoardUid);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  HostBoard stranger = board_in(*memory, 2, Secret::from_text("another"));
  EXPECT_EQ(exit_of_child([&] { return value_for(stranger, "a", "forged") == "forged" ? 0 : 1; }), 0);
  HostBoard board = board_in(*memory, 2, Secret::from_text("the job's"));
  EXPECT_EQ(value_for(board, "a", "made here"), "made here");
}

TEST(HostBoard, SizesAndPlacesOutsideTheMemoryAreNotFollowed) {
  const std::string value(12'345, 'x');
  for (const int words_before : {0, 1}) {
    const auto memory = HostBoard::create(kBoardUid);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    HostBoard board = board_in(*memory, 2);
    ASSERT_EQ(exit_of_child([&] { return value_for(board, "a", value) == value ? 0 : 1; }), 0);
    // A slot ends with the place of its value, and then its size.
    auto* const words = reinterpret_cast<uint64_t*>(memory->data());
    size_t at = 0;
    while (at < 1000 && words[at] != value.size()) ++at;
    ASSERT_LT(at, 1000u);
    words[at - static_cast<size_t>(words_before)] = UINT64_MAX - 100;
    EXPECT_EQ(value_for(board, "a", "made here"), "made here");
  }
}

TEST(HostBoard, MemoryIsGivenBackOnceAllHaveRead) {
  const auto memory = HostBoard::create(kBoardUid);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  const std::string large(size_t{4} << 20, 'x');
  HostBoard board = board_in(*memory, 3);
  EXPECT_EQ(value_for(board, "a", large), large);
  EXPECT_GE(memory->used_bytes(), large.size());
  for (int other = 0; other < 2; ++other)
    EXPECT_EQ(exit_of_child([&] { return value_for(board, "a", "") == large ? 0 : 1; }), 0);
  EXPECT_LT(memory->used_bytes(), large.size() / 4);
}

TEST(HostBoard, WithoutMemoryNothingIsShared) {
  HostBoard board({kBoardUid, {}, 2}, std::nullopt);
  EXPECT_EQ(value_for(board, "a", "made here"), "made here");
  EXPECT_EQ(value_for(board, "a", "made again"), "made again");
}

TEST(PlanBytes, APlanStaysTheSame) {
  auto plan = algorithms::emit("ring", {Collective::all_reduce, 5, 0, 5});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ProvenPlan proven{*plan, exec::facts_of(*plan)};
  const Bytes bytes = write_plan(proven);
  const auto read = read_plan(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->plan, *plan);
  EXPECT_EQ(write_plan(*read), bytes) << "facts";
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read_plan(BytesView(bytes).first(size)));
}

/// Trees of a network, whose search takes seconds, are searched by one process.
TEST(HostBoard, OneProcessPlansTreesForAll) {
  const auto memory = HostBoard::create(kBoardUid);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  auto gather = algorithms::emit("ring", {Collective::all_gather, 5, 0, 5});
  auto reduce = algorithms::emit("ring", {Collective::all_reduce, 5, 0, 5});
  ASSERT_TRUE(gather.ok() && reduce.ok());
  HostBoard board = board_in(*memory, 2);
  SharedTrees here;
  here.share(board);
  int made = 0;
  const auto make = [&] { return ++made, std::vector<ir::Plan>{*gather, *reduce}; };
  const algorithms::PlansOfNetwork plans = here.of("hosts", make);
  EXPECT_EQ(*plans, (std::vector<ir::Plan>{*gather, *reduce}));
  EXPECT_EQ(here.of("hosts", make), plans) << "another rank of this process";
  EXPECT_EQ(made, 1);
  EXPECT_EQ(exit_of_child([&] {
              HostBoard beside = board_in(*memory, 2);
              SharedTrees there;
              there.share(beside);
              const auto got = there.of("hosts", [&] { return ++made, std::vector<ir::Plan>(); });
              const auto others = there.of("GPUs", [&] { return ++made, std::vector<ir::Plan>(); });
              return *got == *plans && others->empty() && made == 2 ? 0 : 1;
            }),
            0);
  const Bytes bytes = write_plans(*plans);
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read_plans(BytesView(bytes).first(size)));
}

TEST(PlanBytes, MovesThatLeadOutOfThePlanAreRefused) {
  auto plan = algorithms::emit("ring", {Collective::all_reduce, 3, 0, 3});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const ProvenPlan good{*plan, exec::facts_of(*plan)};
  const auto refuses = [&](const std::function<void(ir::Move&)>& change) {
    ProvenPlan bad = good;
    change(bad.plan.moves[1]);
    return !read_plan(write_plan(bad));
  };
  EXPECT_FALSE(refuses([](ir::Move&) {}));
  EXPECT_TRUE(refuses([](ir::Move& move) { move.src = 3; }));
  EXPECT_TRUE(refuses([](ir::Move& move) { move.dst = -1; }));
  EXPECT_TRUE(refuses([](ir::Move& move) { move.src_lane = ir::kMaxLanes; }));
  EXPECT_TRUE(refuses([](ir::Move& move) { move.chunks = 0; }));
  EXPECT_TRUE(refuses([](ir::Move& move) { move.from = {ir::Operand::Kind::value, 1}; }));
}

TEST(CostTableBytes, AReaderChoosesTheSame) {
  const cost::Environment around = cost::regular(12, 4, 4, {});
  const cost::CostTable table(Collective::all_reduce, around);
  const Bytes bytes = table.encode();
  const auto read = cost::CostTable::decode(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(cost::lines_of(*read), cost::lines_of(table));
  EXPECT_EQ(read->encode(), bytes);
  EXPECT_FALSE(cost::CostTable::decode(BytesView(bytes).first(bytes.size() - 1)));
  Bytes wrong = bytes;
  wrong[0] = std::byte{0xff};  // the number of the algorithm
  wrong[1] = std::byte{0xff};
  EXPECT_FALSE(cost::CostTable::decode(wrong));
}

}  // namespace
}  // namespace weir::core
