// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/rdma_counters.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace weir::drivers {
namespace {

namespace fs = std::filesystem;

/// Ports of a machine, in a folder that is removed after the test.
class RdmaCountersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weir-rdma-XXXXXX";
    root_ = mkdtemp(name);
    counters_ = std::make_unique<RdmaCounters>(files_below(root_));
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& port, const std::string& file, const std::string& text) {
    const fs::path path = root_ + "/sys/class/infiniband/" + port + "/" + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void expect(uint64_t retries, uint64_t dropped) const {
    EXPECT_EQ(counters_->read().retries, retries);
    EXPECT_EQ(counters_->read().dropped, dropped);
  }

  std::string root_;
  std::unique_ptr<RdmaCounters> counters_;
};

TEST_F(RdmaCountersTest, AddUpOverFilesAndPortsSinceTheBeginning) {
  write("mlx5_0/ports/1", "hw_counters/packet_seq_err", "100");
  write("mlx5_0/ports/1", "hw_counters/local_ack_timeout_err", "7");
  write("mlx5_0/ports/1", "hw_counters/duplicate_request", "1");
  write("mlx5_0/ports/1", "counters/port_xmit_discards", "40");
  write("mlx5_0/ports/2", "counters/port_rcv_errors", "2");
  write("rxe0/ports/1", "hw_counters/completer_retry_err", "0");
  write("mlx5_1/ports/1", "hw_counters/packet_seq_err", "0");
  expect(0, 0);
  counters_->begin({{"mlx5_0", 1}, {"mlx5_0", 2}, {"rxe0", 1}});
  expect(0, 0);
  write("mlx5_0/ports/1", "hw_counters/packet_seq_err", "103");
  write("mlx5_0/ports/1", "hw_counters/local_ack_timeout_err", "17");
  write("mlx5_0/ports/1", "hw_counters/duplicate_request", "1000");  // retransmissions by its peers
  write("mlx5_0/ports/1", "counters/port_xmit_discards", "45");
  write("mlx5_0/ports/2", "counters/port_rcv_errors", "9");
  write("rxe0/ports/1", "hw_counters/completer_retry_err", "200");
  write("mlx5_1/ports/1", "hw_counters/packet_seq_err", "5000");  // this port is not in use
  expect(3 + 10 + 200, 5 + 7);
  counters_->begin({{"mlx5_1", 1}});  // a second begin() has no effect
  expect(213, 12);
}

TEST_F(RdmaCountersTest, WhatIsNoNumberCountsNothing) {
  const char* const port = "mlx5_0/ports/1";
  const char* const bad[] = {"N/A (no PMA)", "", "-1", "12x", "0x10", "18446744073709551616"};
  write(port, "hw_counters/packet_seq_err", "5");
  write(port, "hw_counters/rnr_nak_retry_err", "5");
  fs::create_directories(root_ + "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors");
  for (const char* text : bad) {
    counters_ = std::make_unique<RdmaCounters>(files_below(root_));
    write(port, "hw_counters/packet_seq_err", "5");
    write(port, "hw_counters/rnr_nak_retry_err", "5");
    write(port, "counters/port_xmit_discards", text);
    counters_->begin({{"mlx5_0", 1}, {"gone", 1}, {"", 0}});
    write(port, "counters/port_xmit_discards", "8");  // of all processes together
    write(port, "hw_counters/packet_seq_err", text);
    write(port, "hw_counters/rnr_nak_retry_err", "6");
    expect(1, 0);
  }
  fs::remove_all(root_ + "/sys");
  expect(0, 0);
}

TEST_F(RdmaCountersTest, CountsMayWrapOrBeginAnew) {
  struct {
    const char* before;
    const char* now;
    uint64_t counted;
  } const cases[] = {{"4294967290", "4", 10},           // wrapped at 32 bits
                     {"4294967290", "4294967300", 10},  // counter of more than 32 bits
                     {"1000", "3", 3},                  // reset to 0
                     {"1099511627776", "3", 3},         // reset to 0: too large to have wrapped
                     {"18446744073709551610", "18446744073709551615", 5}};
  for (const auto& [before, now, counted] : cases) {
    counters_ = std::make_unique<RdmaCounters>(files_below(root_));
    write("rxe0/ports/1", "hw_counters/rcvd_rnr_err", before);
    counters_->begin({{"rxe0", 1}});
    write("rxe0/ports/1", "hw_counters/rcvd_rnr_err", now);
    expect(counted, 0);
  }
}

TEST_F(RdmaCountersTest, ThreadsMayBeginAndRead) {
  write("rxe0/ports/1", "hw_counters/rcvd_rnr_err", "8");
  const auto use = [this] {
    counters_->begin({{"rxe0", 1}});
    expect(0, 0);
  };
  std::thread other(use);
  use();
  other.join();
}

}  // namespace
}  // namespace weir::drivers
