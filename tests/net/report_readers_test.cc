// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/report_readers.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

namespace weir {
namespace {

using ::testing::HasSubstr;

TEST(ReportReaders, AreReadFromTheOption) {
  EXPECT_EQ(*parse_report_readers("off"), ReportReaders::nobody);
  EXPECT_EQ(*parse_report_readers("user"), ReportReaders::user);
  EXPECT_EQ(*parse_report_readers("all"), ReportReaders::everybody);
  for (const char* text : {"", "User", "root", "all\x1b[2J"}) {
    const Status status = parse_report_readers(text).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << text;
    EXPECT_THAT(status.message(), HasSubstr("expected off, user or all"));
    EXPECT_EQ(status.message().find('\x1b'), std::string::npos);
  }
}

TEST(ReportReaders, AtALocalSocketTheUserCounts) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Socket own(ends[0]);
  const Socket other(ends[1]);
  EXPECT_TRUE(is_own_reader(own));
  EXPECT_TRUE(may_read_reports(ReportReaders::user, own, false));
  EXPECT_TRUE(may_read_reports(ReportReaders::everybody, own, false));
  EXPECT_FALSE(may_read_reports(ReportReaders::nobody, own, true));
}

TEST(ReportReaders, OverTcpTheProofCounts) {
  const Socket listener = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  const Socket client = std::move(*Socket::connect(*listener.local_address(), Deadline::in_ms(10'000)));
  EXPECT_FALSE(is_own_reader(client));
  EXPECT_FALSE(may_read_reports(ReportReaders::user, client, false));
  EXPECT_TRUE(may_read_reports(ReportReaders::user, client, true));
  EXPECT_TRUE(may_read_reports(ReportReaders::everybody, client, false));
  EXPECT_FALSE(may_read_reports(ReportReaders::nobody, client, true));
}

}  // namespace
}  // namespace weir
