// SPDX-License-Identifier: Apache-2.0

#include "src/cli/line_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace weir::cli {
namespace {

/// Feeds a relay by hand and collects what it writes.
class LineRelayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(in_), 0);
    ASSERT_EQ(pipe(out_), 0);
  }
  void TearDown() override {
    close(out_[0]);
    close(out_[1]);
  }
  void feed(const std::string& text) {
    ASSERT_EQ(write(in_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string written() {
    std::string text(200000, '\0');
    ssize_t got = read(out_[0], text.data(), text.size());
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }

  int in_[2];
  int out_[2];
};

TEST_F(LineRelayTest, PrefixesWholeLines) {
  LineRelay relay(in_[0], out_[1], "[3] ");
  feed("one\ntwo\nthr");
  relay.pump();
  EXPECT_EQ(written(), "[3] one\n[3] two\n");
  feed("ee\n\n");
  relay.pump();
  EXPECT_EQ(written(), "[3] three\n[3] \n");
  close(in_[1]);
}

TEST_F(LineRelayTest, EndsTheLastLine) {
  LineRelay relay(in_[0], out_[1], "> ");
  feed("no newline");
  close(in_[1]);
  relay.pump();
  EXPECT_GE(relay.descriptor(), 0);
  relay.pump();
  EXPECT_EQ(written(), "> no newline\n");
  EXPECT_EQ(relay.descriptor(), -1);
}

TEST_F(LineRelayTest, DoesNotKeepEndlessLines) {
  fcntl(out_[1], F_SETPIPE_SZ, 1 << 18);  // the test reads only afterwards
  LineRelay relay(in_[0], out_[1], "");
  for (int i = 0; i < 6; ++i) {  // 96 KiB without a newline
    feed(std::string(16 * 1024, 'x'));
    relay.pump();
  }
  EXPECT_GT(written().size(), size_t{64} * 1024);
  close(in_[1]);
}

}  // namespace
}  // namespace weir::cli
