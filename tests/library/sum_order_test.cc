// SPDX-License-Identifier: Apache-2.0
// The order of sums that communicators promise, by the bits of their results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "tests/base/sanitized.h"
#include "tests/library/processes.h"
#include "weir/config.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Settings = std::vector<std::pair<std::string, std::string>>;

void set_all(const Settings& settings) {
  for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
}

/// An element of a rank's input: of either sign, and of magnitudes that make every order of a sum another
/// sum.
float element(int rank, size_t index) {
  uint64_t bits = (index + 1) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(rank) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ bits >> 29) * 0x94d049bb133111ebu;
  bits ^= bits >> 32;
  const float magnitude = static_cast<float>(bits & 0xffffff) * static_cast<float>(1u << (bits >> 60));
  return (bits >> 40 & 1) != 0 ? -magnitude : magnitude;
}

uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float from_bfloat16(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

/// One type and operation: inputs, and what a sum in rank order is.
struct Floats {
  using Element = float;
  static constexpr ncclDataType_t kType = ncclFloat32;
  static Element input(int rank, size_t index) { return element(rank, index); }
  static Element add(Element sum, Element next) { return sum + next; }
};
struct Halves {
  using Element = uint16_t;
  static constexpr ncclDataType_t kType = ncclBfloat16;
  static Element input(int rank, size_t index) { return to_bfloat16(element(rank, index)); }
  static Element add(Element sum, Element next) {
    return to_bfloat16(from_bfloat16(sum) + from_bfloat16(next));
  }
};

template <typename Kind>
class Sums {
 public:
  using Element = typename Kind::Element;

  Sums(const Rank& rank, ncclComm_t comm, ncclRedOp_t op, float factor)
      : rank_(rank), comm_(comm), op_(op), factor_(factor) {}

  /// All collectives that sum, over the elements from `first` on.
  void check(size_t first, size_t count) {
    const std::vector<Element> expected = sums(first, count);
    std::vector<Element> in = inputs(first, count), out(count);
    expect_success(ncclAllReduce(in.data(), out.data(), count, Kind::kType, op_, comm_, nullptr),
                   "all-reduce");
    compare(out, expected, "all-reduce");
    std::vector<Element> both = in;
    expect_success(ncclAllReduce(both.data(), both.data(), count, Kind::kType, op_, comm_, nullptr),
                   "all-reduce in place");
    compare(both, expected, "all-reduce in place");
    for (const int root : {0, rank_.ranks() - 2}) {
      expect_success(ncclReduce(in.data(), out.data(), count, Kind::kType, op_, root, comm_, nullptr),
                     "reduce");
      if (rank_.rank() == root) compare(out, expected, "reduce");
    }
    const size_t part = count / static_cast<size_t>(rank_.ranks());
    if (part == 0) return;
    const auto own = static_cast<ptrdiff_t>(part) * rank_.rank();
    out.resize(part);
    expect_success(ncclReduceScatter(in.data(), out.data(), part, Kind::kType, op_, comm_, nullptr),
                   "reduce-scatter");
    compare(out, {expected.begin() + own, expected.begin() + own + static_cast<ptrdiff_t>(part)},
            "reduce-scatter");
  }

 private:
  std::vector<Element> inputs(size_t first, size_t count) const {
    std::vector<Element> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = Kind::input(rank_.rank(), first + i);
    return values;
  }
  std::vector<Element> sums(size_t first, size_t count) const {
    std::vector<Element> values(count);
    for (size_t i = 0; i < count; ++i) {
      values[i] = factored(0, first + i);
      for (int rank = 1; rank < rank_.ranks(); ++rank)
        values[i] = Kind::add(values[i], factored(rank, first + i));
    }
    return values;
  }
  Element factored(int rank, size_t index) const {
    if constexpr (std::is_same_v<Element, float>) return Kind::input(rank, index) * factor_;
    return Kind::input(rank, index);
  }
  void compare(const std::vector<Element>& got, const std::vector<Element>& expected,
               const char* what) const {
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i)
      wrong += std::memcmp(&got[i], &expected[i], sizeof(Element)) != 0 ? 1 : 0;
    EXPECT_EQ(wrong, 0u) << "of " << got.size() << " elements are not summed in rank order: " << what;
  }

  const Rank& rank_;
  ncclComm_t comm_;
  ncclRedOp_t op_;
  float factor_;
};

constexpr int kWorld = 6;

void check_rank_order(const Rank& rank, ncclComm_t comm) {
  constexpr float kFactor = 0.3f;
  ncclRedOp_t scaled = ncclSum;
  float factor = kFactor;
  expect_success(ncclRedOpCreatePreMulSum(&scaled, &factor, ncclFloat32, ncclScalarHostImmediate, comm),
                 "operator");
  constexpr size_t kLarge = enough(150'000);
  for (const size_t count : {size_t{2}, size_t{999}, size_t{20'011}, kLarge}) {
    Sums<Floats>(rank, comm, ncclSum, 1).check(0, count);
    Sums<Floats>(rank, comm, ncclSum, 1).check(777, count);  // the same elements at another offset
    if (count == kLarge) continue;
    Sums<Floats>(rank, comm, ncclAvg, 1.0f / kWorld).check(0, count);
    Sums<Floats>(rank, comm, scaled, kFactor).check(5, count);
    Sums<Halves>(rank, comm, ncclSum, 1).check(0, count);
  }
}

/// The host of each rank.
class SumOrderOnHosts : public ::testing::TestWithParam<std::vector<int>> {};

/// The bits are those of a loop over the ranks, wherever they are and whatever carries them.
TEST_P(SumOrderOnHosts, OfRanksIsThatOfALoopOverThem) {
  const std::vector<Settings> ways = {
      {},
      {{"WEIR_FAST", "0"}},
      {{"WEIR_TRANSPORTS", "tcp"}},
      {{"WEIR_FAST", "0"}, {"WEIR_ALGO", "one_shot"}},
      {{"WEIR_FAST", "0"}, {"WEIR_ALGO", "two_shot"}},
      {{"WEIR_FAST", "0"}, {"WEIR_ALGO", "all_pairs"}},
      {{"WEIR_FAST", "0"}, {"WEIR_ALGO", "chain"}},
  };
  for (const Settings& way : ways) {
    const bool well = all_well(run_ranks(kWorld, [&](const Rank& rank) {
      const int host = GetParam()[static_cast<size_t>(rank.rank())];
      set_all({{"WEIR_ORDER", "ranks"}, {"NCCL_HOSTID", "host" + std::to_string(host)}});
      set_all(way);
      ncclComm_t comm = rank.connect();
      check_rank_order(rank, comm);
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    }));
    EXPECT_TRUE(well) << ::testing::PrintToString(way);
  }
}

INSTANTIATE_TEST_SUITE_P(SumOrder, SumOrderOnHosts,
                         ::testing::Values(std::vector{0, 0, 0, 0, 0, 0}, std::vector{0, 0, 0, 1, 1, 1},
                                           std::vector{3, 2, 2, 1, 0, 1}));

/// A folder of its own that goes away.
class SumOrderOfRuns : public ::testing::Test {
 protected:
  SumOrderOfRuns() {
    char name[] = "/tmp/weir_order_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~SumOrderOfRuns() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  /// The bits of sums of several sizes over hosts of one rank, whose rates are measured, or read from the
  /// cache.
  std::string bits(const std::string& order, int ranks = 5) const {
    EXPECT_TRUE(all_well(run_ranks(ranks, [&](const Rank& rank) {
      set_all({{"WEIR_ORDER", order},
               {"WEIR_CALIBRATION", "1"},
               {"WEIR_CACHE_DIR", path("cache")},
               {"NCCL_HOSTID", "host" + std::to_string(rank.rank())}});
      ncclComm_t comm = rank.connect();
      std::ofstream file(path("bits" + std::to_string(rank.rank())));
      for (size_t count = 16; count <= size_t{1} << 16; count *= 4) {
        std::vector<float> data(count);
        for (size_t i = 0; i < count; ++i) data[i] = element(rank.rank(), i);
        expect_success(ncclAllReduce(data.data(), data.data(), count, ncclFloat, ncclSum, comm, nullptr),
                       "ncclAllReduce");
        uint64_t hash = 0;
        for (const float value : data) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 0x100000001b3u;
        file << count << ": " << std::hex << hash << std::dec << "\n";
      }
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    })));
    EXPECT_EQ(read(path("bits0")), read(path("bits" + std::to_string(ranks - 1))))
        << "all ranks have one sum";
    return read(path("bits0"));
  }

  void forget_rates() const { std::filesystem::remove_all(path("cache")); }
  /// Replaces the measured rates between hosts.
  void plant_rates(double alpha, double beta) const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path("cache"))) {
      std::istringstream before(read(entry.path()));
      std::ofstream after(entry.path());
      for (std::string line; std::getline(before, line);) {
        if (line.starts_with("between.alpha") || line.starts_with("between.overhead"))
          line = line.substr(0, line.find(' ')) + " " + std::to_string(alpha);
        if (line.starts_with("between.beta")) line = "between.beta " + std::to_string(beta);
        after << line << "\n";
      }
      ++files;
    }
    EXPECT_EQ(files, 1) << "hosts that are alike share their rates";
  }
  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

 private:
  std::string folder_;
};

TEST_F(SumOrderOfRuns, DoesNotDependOnRates) {
  bits("any");
  std::set<std::string> of_any, of_run, of_ranks;
  for (const double alpha : {0.000001, 0.1}) {
    plant_rates(alpha, 0.000001);
    of_any.insert(bits("any"));
    of_run.insert(bits("run"));
    of_ranks.insert(bits("ranks"));
  }
  EXPECT_EQ(of_any.size(), 2u) << "the rates that are planted here do not change the plan";
  EXPECT_EQ(of_run.size(), 1u) << ::testing::PrintToString(of_run);
  EXPECT_EQ(of_ranks.size(), 1u) << ::testing::PrintToString(of_ranks);
}

TEST_F(SumOrderOfRuns, IsTheSameWithFreshCaches) {
  std::set<std::string> found;
  for (int turn = 0; turn < 5; ++turn) {
    forget_rates();
    found.insert(bits("run"));
  }
  EXPECT_EQ(found.size(), 1u) << ::testing::PrintToString(found);
}

std::string refusal(const Rank& rank, ncclResult_t expected, ncclConfig_t* config = nullptr) {
  ncclConfig_t none = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, rank.ranks(), rank.id(), rank.rank(), config ? config : &none),
            expected);
  return ncclGetLastError(nullptr);
}

TEST(SumOrder, MustBeTheSameOnAllRanks) {
  EXPECT_TRUE(all_well(run_ranks(3, [](const Rank& rank) {
    setenv("WEIR_ORDER", rank.rank() == 1 ? "any" : "run", 1);
    EXPECT_THAT(refusal(rank, ncclInvalidUsage),
                AllOf(HasSubstr("the order of sums is run at rank 0 and any at rank 1"),
                      HasSubstr("expected the same on all ranks (WEIR_ORDER")));
  })));
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    weirConfig_t config = weirConfig();
    if (rank.rank() == 1) config.order = weirOrderRanks;
    EXPECT_THAT(refusal(rank, ncclInvalidUsage, &config.nccl),
                HasSubstr("the order of sums is run at rank 0 and ranks at rank 1"));
  })));
}

TEST(SumOrder, MustBeAWordThatExists) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    if (rank.rank() == 1) setenv("WEIR_ORDER", "rank", 1);
    EXPECT_THAT(refusal(rank, ncclInvalidArgument), AllOf(HasSubstr("the order of sums of rank 1"),
                                                          HasSubstr(" is \"rank\"; expected WEIR_ORDER")));
  })));
}

TEST(SumOrder, OfACommunicatorIsThatOfItsConfiguration) {
  EXPECT_TRUE(all_well(run_ranks(2, [](const Rank& rank) {
    setenv("WEIR_ORDER", "any", 1);
    const auto order_of = [](ncclComm_t comm) {
      int order = weirOrderUnset;
      EXPECT_EQ(weirCommOrder(comm, &order), ncclSuccess) << ncclGetLastError(comm);
      return order;
    };
    const auto split = [](ncclComm_t comm, ncclConfig_t* config) {
      ncclComm_t child = nullptr;
      expect_success(ncclCommSplit(comm, 0, 0, &child, config), "ncclCommSplit");
      return child;
    };
    weirConfig_t config = weirConfig();
    ncclComm_t comm = rank.connect(&config.nccl);
    EXPECT_EQ(order_of(comm), weirOrderAny) << "as the environment says";
    config.order = weirOrderRanks;
    ncclComm_t child = split(comm, &config.nccl);
    EXPECT_EQ(order_of(child), weirOrderRanks);
    ncclConfig_t plain = NCCL_CONFIG_INITIALIZER;
    ncclComm_t heir = split(child, &plain), heir_without = split(child, nullptr);
    EXPECT_EQ(order_of(heir), weirOrderRanks);
    EXPECT_EQ(order_of(heir_without), weirOrderRanks);
    EXPECT_EQ(weirCommOrder(comm, nullptr), ncclInvalidArgument);
    int order = 0;
    EXPECT_EQ(weirCommOrder(nullptr, &order), ncclInvalidArgument);
    for (ncclComm_t each : {heir_without, heir, child, comm})
      expect_success(ncclCommDestroy(each), "ncclCommDestroy");
  })));
}

TEST(SumOrder, OfRanksRefusesAlgorithmsThatDoNotKeepIt) {
  const Settings cases = {{"WEIR_ALGO", "ring"}, {"WEIR_ALGO", "binomial"}, {"NCCL_ALGO", "Tree"}};
  for (const auto& setting : cases) {
    EXPECT_TRUE(all_well(run_ranks(2, [&](const Rank& rank) {
      set_all({{"WEIR_ORDER", "ranks"}, setting});
      EXPECT_THAT(
          refusal(rank, ncclInvalidUsage),
          HasSubstr(setting.first + "=" + setting.second + " allows no algorithm that sums " +
                    (setting.second == "binomial" ? "reduce" : "all_reduce") +
                    " in the order of the ranks, as WEIR_ORDER=ranks promises; expected one of one_shot, "));
    })));
  }
}

/// Rank 0 adds the inputs of the others: in their order, or not.
std::string star(int first, int second) {
  std::ostringstream text;
  text << "weir plan 1\nalgorithm star\ncollective all_reduce\nranks 3\nchunks 1\nscratch 0\nmoves 4\n"
       << "0 send " << first << ".0 0.0 from input 0 with input 0\n"
       << "1 send " << second << ".0 0.0 from input 0 with value 0 to output 0\n"
       << "2 send 0.0 1.0 from value 1 to output 0\n3 send 0.0 2.0 from value 1 to output 0\nend\n";
  return text.str();
}

TEST_F(SumOrderOfRuns, OfRanksRunsOnlyPlansFromFilesThatKeepIt) {
  for (const bool keeps : {true, false}) {
    const std::string file = path("star.plan");
    std::ofstream(file) << (keeps ? star(1, 2) : star(2, 1));
    EXPECT_TRUE(all_well(run_ranks(3, [&](const Rank& rank) {
      set_all({{"WEIR_ORDER", "ranks"}, {"WEIR_PLAN_FILE", file}});
      if (!keeps) {
        EXPECT_THAT(refusal(rank, ncclInvalidUsage),
                    AllOf(HasSubstr(file + " is not run, because the order of sums is that of the ranks"),
                          HasSubstr("move 0 adds rank 2 to rank 0 at rank 0")));
        return;
      }
      ncclComm_t comm = rank.connect();
      const float x = element(rank.rank(), 1);
      float sum = 0;
      expect_success(ncclAllReduce(&x, &sum, 1, ncclFloat, ncclSum, comm, nullptr), "ncclAllReduce");
      EXPECT_EQ(sum, element(0, 1) + element(1, 1) + element(2, 1));
      expect_success(ncclCommDestroy(comm), "ncclCommDestroy");
    })));
  }
}

}  // namespace
}  // namespace weir::testing
