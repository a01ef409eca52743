// SPDX-License-Identifier: Apache-2.0
// Quantized collectives between processes, over TCP: the bytes that travel, and a rank that dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "src/api/abi.h"
#include "tests/core/processes.h"
#include "weir/net_stats.h"
#include "weir/quantized.h"

namespace weir::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kProcesses = 4;
constexpr size_t kElements = 1 << 16;  ///< of each rank's part

/// Ranks as processes, each of which says what act() returns.
std::vector<std::string> said(const std::function<std::string(ncclComm_t, int)>& act) {
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
  testing::Processes processes(kProcesses, [&](int rank, const testing::Processes::Voice& voice) {
    setenv("WEIR_TRANSPORTS", "tcp", 1);
    ncclComm_t comm = nullptr;
    if (ncclCommInitRank(&comm, kProcesses, id, rank) != ncclSuccess)
      return voice.say(ncclGetLastError(nullptr));
    voice.say(act(comm, rank));
    pause();
  });
  std::vector<std::string> lines;
  for (int rank = 0; rank < kProcesses; ++rank) lines.push_back(processes.line(rank, 60));
  return lines;
}

uint64_t sent_by(ncclComm_t comm) {
  weirNetStats_t stats;
  return weirCommNetStats(comm, &stats, sizeof stats) == ncclSuccess ? stats.sentBytes : 0;
}

TEST(QuantizedProcesses, BytesOnTheWireAreAQuarterAndAHalf) {
  const auto lines = said([](ncclComm_t comm, int) -> std::string {
    std::vector<float> data(kProcesses * kElements, 0.5F);
    std::ostringstream words;
    for (const int format : {weirQuantizedInt8, weirQuantizedFloat8, weirQuantizedBfloat16}) {
      const size_t expected = (kProcesses - 1) * weirQuantizedBytes(kElements, format);
      for (const bool gather : {false, true}) {
        const uint64_t before = sent_by(comm);
        const auto call = gather ? weirQuantizedAllGather : weirQuantizedReduceScatter;
        std::vector<float> result(gather ? data.size() : kElements);
        if (call(data.data(), result.data(), kElements, format, 0, comm, nullptr) != 0)
          return ncclGetLastError(nullptr);
        // The ring of a gather may send a few bytes more than a part to one neighbour.
        const double ratio = static_cast<double>(sent_by(comm) - before) / static_cast<double>(expected);
        if (ratio < 0.99 || ratio > 1.01)
          words << "format " << format << (gather ? ", gather: " : ", reduce: ") << ratio << "; ";
      }
    }
    return words.str() + "end";
  });
  for (const std::string& line : lines) EXPECT_EQ(line, "end");
}

TEST(QuantizedProcesses, ADeadRankEndsTheCallsOfTheOthersWithItsName) {
  const auto lines = said([](ncclComm_t comm, int rank) -> std::string {
    if (rank == 2) _exit(9);
    std::vector<float> data(kElements, 1);
    const int result =
        weirQuantizedAllReduce(data.data(), data.data(), kElements, weirQuantizedInt8, 0, comm, nullptr);
    return std::to_string(result) + " " + ncclGetLastError(nullptr);
  });
  for (int rank = 0; rank < kProcesses; ++rank) {
    if (rank == 2) continue;
    EXPECT_THAT(lines[static_cast<size_t>(rank)],
                AllOf(StartsWith("6 "), HasSubstr("weirQuantizedAllReduce : "), HasSubstr("rank 2")));
  }
}

}  // namespace
}  // namespace weir::api
