// SPDX-License-Identifier: Apache-2.0
// WEIR_CHECK_VALUES: the first NaN or infinity of a call is named before it is sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "src/api/abi.h"
#include "tests/core/processes.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kCount = 3;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// Ranks as processes, since the option is the process's and is read once. Each says what act() returns.
class CheckedValues : public ::testing::Test {
 protected:
  CheckedValues() {
    char name[] = "/tmp/weir_values_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~CheckedValues() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> said(const std::string& level,
                                const std::function<std::string(ncclComm_t, int)>& act) {
    testing::Processes root(1, [](int, const testing::Processes::Voice& voice) {
      ncclUniqueId id;
      if (ncclGetUniqueId(&id) != ncclSuccess) return voice.say("no id");
      std::ostringstream hex;
      for (const char byte : id.internal) hex << std::hex << (0x100 | static_cast<unsigned char>(byte));
      voice.say(hex.str());
      pause();
    });
    const std::string hex = root.line(0);
    ncclUniqueId id{};
    for (size_t i = 0; i < sizeof(id.internal); ++i)
      id.internal[i] = static_cast<char>(std::stoi(hex.substr(3 * i + 1, 2), nullptr, 16));
    testing::Processes processes(kCount, [&](int rank, const testing::Processes::Voice& voice) {
      setenv("WEIR_CHECK_VALUES", level.c_str(), 1);
      setenv("NCCL_DEBUG", "WARN", 1);
      setenv("NCCL_DEBUG_FILE", log_of(rank).c_str(), 1);
      ncclComm_t comm = nullptr;
      if (ncclCommInitRank(&comm, kCount, id, rank) != ncclSuccess)
        return voice.say(ncclGetLastError(nullptr));
      const std::string words = act(comm, rank);
      voice.say(words);
      ncclCommDestroy(comm);
      voice.say("end");
    });
    std::vector<std::string> out;
    for (int rank = 0; rank < kCount; ++rank) out.push_back(processes.line(rank));
    for (int rank = 0; rank < kCount; ++rank) EXPECT_EQ(processes.line(rank), "end");
    return out;
  }
  std::string log(int rank) const {
    std::ostringstream text;
    text << std::ifstream(log_of(rank)).rdbuf();
    return text.str();
  }

 private:
  std::string log_of(int rank) const { return folder_ + "/log" + std::to_string(rank); }
  std::string folder_;
};

std::string result_words(ncclResult_t result) {
  return std::to_string(result) + " " + (result == ncclSuccess ? "" : ncclGetLastError(nullptr));
}

TEST_F(CheckedValues, ANaNIsNamedToAllRanksAndNotSent) {
  const auto words = said("2", [](ncclComm_t comm, int rank) {
    std::vector<float> data(10'000, 1), sums(10'000, -1);
    for (int call = 1; call <= 3; ++call) {
      if (call == 3 && rank == 1) data[7654] = kNaN;
      const ncclResult_t result =
          ncclAllReduce(data.data(), sums.data(), data.size(), ncclFloat, ncclSum, comm, nullptr);
      if (call == 3) return result_words(result);
      if (result != ncclSuccess || sums[7654] != kCount) return std::string("wrong sums");
    }
    return std::string();
  });
  for (const std::string& one : words) {
    EXPECT_THAT(one,
                AllOf(StartsWith("4 "), HasSubstr("rank 1 (pid "),
                      HasSubstr("has NaN (float32 0x7fc00000) as element 7654 of sendbuff in "
                                "ncclAllReduce(count 10000, float32, sum) as call 3 of the communicator"),
                      HasSubstr("expected finite values")));
  }
}

TEST_F(CheckedValues, WarningsComeOnceForEachPowerOfTen) {
  const auto words = said("1", [](ncclComm_t comm, int rank) {
    std::vector<double> data(100, 1), all(100 * kCount);
    if (rank == 2) data[99] = -std::numeric_limits<double>::infinity();
    for (int call = 0; call < 50; ++call) {
      const ncclResult_t result =
          ncclAllGather(data.data(), all.data(), data.size(), ncclDouble, comm, nullptr);
      if (result != ncclSuccess) return result_words(result);
    }
    return std::string(std::isinf(all.back()) ? "sent" : "lost");
  });
  EXPECT_THAT(words, ::testing::Each("sent"));
  EXPECT_THAT(log(0) + log(1), Not(HasSubstr("WEIR_CHECK_VALUES")));
  const std::string told = log(2);
  EXPECT_THAT(told, HasSubstr("rank 2 (pid "));
  EXPECT_THAT(told,
              HasSubstr("has -inf (float64 0xfff0000000000000) as element 99 of sendbuff in ncclAllGather("));
  EXPECT_THAT(told, HasSubstr("as call 1 of the communicator"));
  EXPECT_THAT(told, HasSubstr("it is bad call 10 of this rank, the next warning comes at 100"));
  EXPECT_THAT(told, Not(HasSubstr("bad call 2 ")));
}

/// Small inputs are looked at when they are sent already; the sums, which all ranks get, come later still.
TEST_F(CheckedValues, ASmallInputInPlaceIsNamedOnItsRankOnly) {
  const auto words = said("1", [](ncclComm_t comm, int rank) {
    for (int call = 1; call <= 20; ++call) {
      float data[] = {1, rank == 1 && call == 7 ? kNaN : 1};
      const ncclResult_t result = ncclAllReduce(data, data, 2, ncclFloat, ncclSum, comm, nullptr);
      if (result != ncclSuccess) return result_words(result);
      if (std::isnan(data[1]) != (call == 7)) return std::string("wrong sums");
    }
    return std::string("ok");
  });
  EXPECT_THAT(words, ::testing::Each("ok"));
  EXPECT_THAT(log(1), HasSubstr("has NaN (float32 0x7fc00000) as element 1 of sendbuff in ncclAllReduce("));
  EXPECT_THAT(log(1), HasSubstr("as call 7 of the communicator"));
  EXPECT_THAT(log(0) + log(2), Not(HasSubstr("WEIR_CHECK_VALUES")));
}

/// What a call does not read may hold anything, and integers are never bad.
TEST_F(CheckedValues, OnlyInputsOfFloatsAreLookedAt) {
  const auto words = said("2", [](ncclComm_t comm, int rank) {
    std::vector<float> data(kCount * 4, rank == 0 ? 1 : kNaN), out(kCount * 4, kNaN);
    ncclResult_t result = ncclBroadcast(data.data(), out.data(), data.size(), ncclFloat, 0, comm, nullptr);
    if (result == ncclSuccess) result = ncclScatter(data.data(), out.data(), 4, ncclFloat, 0, comm, nullptr);
    std::vector<unsigned> ones(8, ~0U);
    if (result == ncclSuccess)
      result = ncclAllReduce(ones.data(), ones.data(), 8, ncclUint32, ncclMax, comm, nullptr);
    return result_words(result);
  });
  EXPECT_THAT(words, ::testing::Each("0 "));
}

TEST_F(CheckedValues, BlocksOfAllRanksAreLookedAt) {
  const auto words = said("2", [](ncclComm_t comm, int rank) {
    std::vector<uint16_t> data(kCount * 5, 0x3f80), out(5);
    if (rank == 0) data[kCount * 5 - 1] = 0x7f80;
    return result_words(
        ncclReduceScatter(data.data(), out.data(), out.size(), ncclBfloat16, ncclSum, comm, nullptr));
  });
  for (const std::string& one : words)
    EXPECT_THAT(one, AllOf(StartsWith("4 "), HasSubstr("inf (bfloat16 0x7f80) as element 14 of sendbuff")));
}

TEST_F(CheckedValues, NothingIsLookedAtByDefault) {
  const auto words = said("0", [](ncclComm_t comm, int rank) {
    float value = rank == 0 ? kInf : 1;
    const ncclResult_t result = ncclAllReduce(&value, &value, 1, ncclFloat, ncclSum, comm, nullptr);
    return result == ncclSuccess && std::isinf(value) ? std::string("ok") : result_words(result);
  });
  EXPECT_THAT(words, ::testing::Each("ok"));
  for (int rank = 0; rank < kCount; ++rank) EXPECT_THAT(log(rank), Not(HasSubstr("WEIR_CHECK_VALUES")));
}

}  // namespace
}  // namespace weir::api
