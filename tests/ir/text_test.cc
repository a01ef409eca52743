// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <vector>

#include "algorithms/ir/builder.h"
#include "algorithms/ir/verify.h"

namespace weir::ir {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A plan with everything a line can say.
Plan sample() {
  Builder plan("sample-1", {Collective::reduce, 3, 2, 4});
  plan.scratch_chunks(5);
  plan.lanes(1, 0);
  const MoveId first = plan.send(0, 1, input(0), {.with = input(0), .chunks = 4});
  plan.lanes(0, 2);
  plan.send(1, 2, value(first), {.with = input(0), .to = output(0), .chunks = 4});
  plan.lane(63);
  plan.local(1, input(1), {.to = scratch(4)});
  plan.pull(1, 2, scratch(4), {.to = scratch(0)});
  return plan.take();
}

constexpr std::string_view kSample =
    "weir plan 1\n"
    "algorithm sample-1\n"
    "collective reduce\n"
    "ranks 3\n"
    "root 2\n"
    "chunks 4\n"
    "scratch 5\n"
    "moves 4\n"
    "0 send 0.1 1.0 from input 0 with input 0 chunks 4\n"
    "1 send 1.0 2.2 from value 0 with input 0 to output 0 chunks 4\n"
    "2 local 1.63 from input 1 to scratch 4\n"
    "3 pull 1.63 2.63 from scratch 4 to scratch 0\n"
    "end\n";

TEST(Text, WritesOneLinePerMove) { EXPECT_EQ(write_text(sample()), kSample); }

TEST(Text, ReadsWhatWasWritten) {
  ASSERT_EQ(verify(sample()).message(), "");
  auto plan = read_text(kSample);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(*plan, sample());
}

TEST(Text, RelaysHaveALine) {
  Plan plan = sample();
  plan.shape = {Collective::all_to_all, 3, 0, 4, 1};
  const std::string text = write_text(plan);
  EXPECT_THAT(text, HasSubstr("ranks 3\nrelays 1\nchunks 4\n"));
  const auto read = read_text(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, plan);
}

TEST(Text, AllowsCommentsBlanksAndEmptyLines) {
  std::string text(kSample);
  text.insert(text.find("ranks"), "\n  # who\n\t");
  text.insert(text.find("\n1 send"), "   # the first\r");
  text += "\n\n# the end";
  auto plan = read_text(text);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(*plan, sample());
}

/// What the reader says when `old` is replaced by `with` in the sample.
std::string said(std::string_view old, std::string_view with) {
  std::string text(kSample);
  text.replace(text.find(old), old.size(), with);
  auto plan = read_text(text);
  return plan.ok() ? "fine" : plan.status().message();
}

TEST(Text, SaysWhatIsWrongWhere) {
  EXPECT_EQ(said("plan 1", "plan 2"), "line 1: expected \"weir plan 1\", found \"weir plan 2\"");
  EXPECT_EQ(said("algorithm", "algorythm"), "line 2: expected \"algorithm\", found \"algorythm\"");
  EXPECT_EQ(
      said("sample-1", "a/b"),
      "line 2: expected the name of an algorithm (up to 64 letters, digits, '_', '-', '.'), found \"a/b\"");
  EXPECT_EQ(said("reduce", "produce"), "line 3: expected a collective, as in all_reduce, found \"produce\"");
  EXPECT_EQ(said("collective reduce", "collective send_recv"),
            "line 3: expected a collective, as in all_reduce, found \"send_recv\"");
  EXPECT_EQ(said("ranks 3", "ranks -3"),
            "line 4: expected the number after \"ranks\" (0 to 2147483647), found \"-3\"");
  EXPECT_EQ(said("root 2\n", ""), "line 5: expected \"root\", found \"chunks\"");
  EXPECT_EQ(said("collective reduce", "collective all_reduce"),
            "line 5: expected \"chunks\", found \"root\"");
  EXPECT_EQ(said("chunks 4", "chunks 4294967296"),
            "line 6: expected the number after \"chunks\" (0 to 4294967295), found \"4294967296\"");
  EXPECT_EQ(said("scratch 5", "scratch 5 6"), "line 7: expected the end of the line, found \"6\"");
  EXPECT_EQ(said("1 send", "2 send"), "line 10: expected the number of move 1 of 4, found \"2\"");
  EXPECT_EQ(said("0 send", "0 sent"),
            "line 9: expected \"send\", \"pull\", \"push\" or \"local\", found \"sent\"");
  EXPECT_EQ(said("2.2", "2"), "line 10: expected a rank and a lane, as in 3.0, found \"2\"");
  EXPECT_EQ(said("2.2", "2.64"), "line 10: expected a rank and a lane of 0 to 63, as in 3.0, found \"2.64\"");
  EXPECT_EQ(said("1.0 from", "1.0 form"), "line 9: expected \"from\", found \"form\"");
  EXPECT_EQ(said("value 0", "value x"),
            "line 10: expected the number of a move (0 to 4294967295), found \"x\"");
  EXPECT_EQ(said("from value", "from values"),
            "line 10: expected \"input\", \"output\", \"scratch\" or \"value\", found \"values\"");
  EXPECT_EQ(said("to output 0 chunks 4", "to output 0 with 4"),
            "line 10: expected the end of the line, found \"with\"");
  EXPECT_EQ(said("moves 4", "moves 5"),
            "line 13: expected the number of move 4 of 5 (0 to 4294967295), found \"end\"");
  EXPECT_EQ(said("moves 4", "moves 3"), "line 12: expected \"end\" after 3 moves, found \"3\"");
  EXPECT_EQ(said("end\n", ""), "line 13: expected \"end\" after 4 moves, found the end of the line");
  EXPECT_EQ(said("end\n", "end\nmore"), "line 14: expected nothing after \"end\", found \"more\"");
  EXPECT_EQ(said("0 send", "\x01" + std::string(50, 'q')),
            "line 9: expected the number of move 0 of 4 (0 to 4294967295), found "
            "\"?qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq...\"");
  EXPECT_THAT(read_text("").status().message(), StartsWith("line 1: expected \"weir plan 1\""));
}

/// Damages a text a little, in ways that files get damaged and people err.
std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  static constexpr std::string_view kWords[] = {
      "send",   "0",      "value", "4294967295", "99999999999999999999", "\n", "#", "1.1", ".", "-1",
      "chunks", "\0\xff", " ",     "to"};
  const size_t at = below(text.size());
  switch (random() % 5) {
    case 0: text[at] = static_cast<char>(random()); break;
    case 1: text.erase(at, below(20)); break;
    case 2: text.insert(at, kWords[below(std::size(kWords))]); break;
    case 3: text.insert(at, text.substr(below(text.size()), below(40))); break;
    default: std::swap(text[at], text[below(text.size())]); break;
  }
  return text;
}

TEST(Text, SizesMayBeStated) {
  std::string text(kSample);
  const size_t at = text.find("moves");
  text.insert(at, "bytes 1024 65535\n");
  const auto plan = read_text(text);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->least_bytes, 1024u);
  EXPECT_EQ(plan->most_bytes, 65535u);
  EXPECT_EQ(write_text(*plan), text);
  text.replace(at, 16, "bytes 1024 1023 ");
  EXPECT_THAT(read_text(text).status().message(),
              HasSubstr("expected a size that is not below 1024, found \"1023\""));
}

TEST(Text, TheLargestMessageMayBeStated) {
  std::string text(kSample);
  text.insert(text.find("moves"), "message 65536\n");
  const auto plan = read_text(text);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->message_bytes, 65536u);
  EXPECT_EQ(write_text(*plan), text);
  EXPECT_THAT(said("moves", "message 100\nmoves"), HasSubstr("expected at least 1024 bytes, found \"100\""));
}

TEST(Text, MovesBetweenRanksNameTheirWay) {
  std::string text(kSample);
  text.replace(text.find("chunks 4\n1 send"), 8, "chunks 4 by net");
  const auto plan = read_text(text);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->moves[0].way, MoveWay::net);
  EXPECT_EQ(plan->moves[1].way, MoveWay::any);
  EXPECT_EQ(write_text(*plan), text);
  EXPECT_EQ(said("to scratch 4", "to scratch 4 by pcie"),
            "line 11: expected the end of the line, found \"by\"");
  EXPECT_EQ(said("to scratch 0", "to scratch 0 by any"),
            "line 12: expected \"nvlink\", \"xgmi\", \"pcie\" or \"net\", found \"any\"");
}

TEST(Text, NoDamageCrashesTheReader) {
  std::mt19937 random(20240607);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text(kSample);
    for (size_t n = 1 + random() % 3; n > 0 && !text.empty(); --n) text = damaged(text, random);
    auto plan = read_text(text);
    if (!plan.ok()) {
      ++refused;
      const std::string said = plan.status().message();
      ASSERT_THAT(said, StartsWith("line "));
      ASSERT_THAT(said, HasSubstr(": expected "));
      ASSERT_TRUE(std::all_of(said.begin(), said.end(), [](char c) { return c >= ' ' && c <= '~'; })) << said;
      continue;
    }
    auto again = read_text(write_text(*plan));
    ASSERT_TRUE(again.ok() && *again == *plan) << text;
    const Shape& shape = plan->shape;
    if (shape.ranks < 100 && shape.chunks < 1000 && plan->scratch_chunks < 1000) (void)verify(*plan);
  }
  EXPECT_GT(refused, 10000);
}

TEST(Text, EveryTruncationIsRefused) {
  for (size_t length = 0; length + 1 < kSample.size(); ++length) {
    EXPECT_FALSE(read_text(kSample.substr(0, length)).ok()) << length;
  }
}

}  // namespace
}  // namespace weir::ir
