// SPDX-License-Identifier: Apache-2.0
// What weir run --hosts reads, and what it tells hosts. tests/netlab/hosts_test.py runs it over ssh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "src/cli/host_list.h"
#include "src/cli/launch_part.h"
#include "tests/cli/weir_command.h"

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using weir::testing::weir_command;

std::vector<std::pair<std::string, int>> read(std::string_view text, int ranks = 0) {
  std::vector<std::pair<std::string, int>> found;
  const auto hosts = read_hosts(text, ranks);
  EXPECT_TRUE(hosts.ok()) << hosts.status().message();
  if (!hosts.ok()) return found;
  for (const HostRanks& host : *hosts) found.emplace_back(host.name, host.ranks);
  return found;
}

std::string complaint(std::string_view text, int ranks = 0) {
  const auto hosts = read_hosts(text, ranks);
  return hosts.ok() ? "read" : hosts.status().message();
}

TEST(HostList, HasNamesAddressesAndNumbers) {
  EXPECT_THAT(read("a,b"), ElementsAre(Pair("a", 1), Pair("b", 1)));
  EXPECT_THAT(read("user@a:4,10.0.0.2:2"), ElementsAre(Pair("user@a", 4), Pair("10.0.0.2", 2)));
  EXPECT_THAT(read("[fe80::1]:2,[::1]"), ElementsAre(Pair("fe80::1", 2), Pair("::1", 1)));
}

TEST(HostList, SharesTheRanksThatAreLeft) {
  EXPECT_THAT(read("a,b", 8), ElementsAre(Pair("a", 4), Pair("b", 4)));
  EXPECT_THAT(read("a:2,b,c", 8), ElementsAre(Pair("a", 2), Pair("b", 3), Pair("c", 3)));
  EXPECT_THAT(read("a:2,b:6", 8), ElementsAre(Pair("a", 2), Pair("b", 6)));
}

TEST(HostList, SaysWhatItCannotRead) {
  EXPECT_THAT(complaint("a:x"), HasSubstr("\"a:x\"; expected a host, or host:RANKS with 1 to 65536 ranks"));
  for (const char* word : {"a,,b", ":3", "a:0", "a:70000", "-oProxyCommand=x", "a:2:3"})
    EXPECT_THAT(complaint(word), HasSubstr("expected a host, or host:RANKS")) << word;
  EXPECT_THAT(complaint("", 2), HasSubstr("--hosts is empty"));
  EXPECT_EQ(complaint("a:2,b:2", 8),
            "-n is 8, but --hosts \"a:2,b:2\" has 4 ranks; expected -n to be their sum");
  EXPECT_THAT(complaint("a,b", 3), HasSubstr("leaves 3 ranks for 2 hosts, in equal shares"));
  EXPECT_THAT(complaint("a:3,b", 3), HasSubstr("leaves 0 ranks for 1 hosts"));
}

TEST(HostList, KnowsWhereRanksMeet) {
  const auto known = meeting_address({{"user@127.0.0.1", 1}, {"localhost", 1}});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(*known, "127.0.0.1");
  EXPECT_THAT(meeting_address({{"127.0.0.1", 1}, {"10.1.2.3", 1}}).status().message(),
              HasSubstr("127.0.0.1 has the address 127.0.0.1 here, which other hosts do not reach"));
  EXPECT_THAT(meeting_address({{"no-such-host.invalid", 1}}).status().message(),
              HasSubstr("the address of no-such-host.invalid is not known here"));
}

/// read_part() of a message that a pipe has.
Result<LaunchRequest> received(const std::string& message) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], message.data(), message.size()), static_cast<ssize_t>(message.size()));
  close(ends[1]);
  auto request = read_part(ends[0]);
  close(ends[0]);
  return request;
}

LaunchRequest some_request() {
  LaunchRequest request;
  request.command = {"./program", "a b", "", "line\nline"};
  request.host_ranks = {2, 3};
  request.host = 1;
  request.bind = BindMode::none;
  request.policy.keep_going = true;
  request.policy.grace = std::chrono::seconds(0);
  request.comm_id = "[fe80::1]:4000";
  request.environment = {{"WEIR_SECRET", "00=ff"}, {"EMPTY", ""}};
  return request;
}

TEST(LaunchPart, ArrivesAsItWasSent) {
  const std::string before = std::filesystem::current_path();
  setenv("WEIR_PART_TEST", "a=b c", 1);
  setenv("NCCL_HOSTID", "this host's own", 1);
  const std::string message = part_of(some_request());
  unsetenv("WEIR_PART_TEST");
  unsetenv("NCCL_HOSTID");
  const auto request = received(message);
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_EQ(request->command, some_request().command);
  EXPECT_EQ(request->ranks, 5);
  EXPECT_EQ(request->host_ranks, some_request().host_ranks);
  EXPECT_EQ(request->host, 1);
  EXPECT_EQ(request->bind, BindMode::none);
  EXPECT_TRUE(request->policy.keep_going);
  EXPECT_EQ(request->policy.grace.count(), 0);
  EXPECT_EQ(request->comm_id, "[fe80::1]:4000");
  EXPECT_EQ(request->environment, some_request().environment);
  EXPECT_STREQ(std::getenv("WEIR_PART_TEST"), "a=b c");
  EXPECT_EQ(std::getenv("NCCL_HOSTID"), nullptr);
  EXPECT_EQ(std::filesystem::current_path(), before);
  unsetenv("WEIR_PART_TEST");
}

TEST(LaunchPart, RefusesWhatIsDamagedOrOfAnotherVersion) {
  const std::string message = part_of(some_request());
  EXPECT_THAT(received("").status().message(), HasSubstr("expected its message as input"));
  EXPECT_THAT(received("weir 0.0.1 part 5\nabcde").status().message(),
              HasSubstr("weir run --hosts is version 0.0.1, and this host has"));
  EXPECT_THAT(received(message.substr(0, message.size() - 1)).status().message(),
              HasSubstr("has ended early"));
  const size_t body = message.find('\n') + 1;
  const auto with_body = [&](const std::string& records) {
    return message.substr(0, message.find("part ") + 5) + std::to_string(records.size()) + "\n" + records;
  };
  EXPECT_THAT(received(with_body("nospace")).status().message(), HasSubstr("damaged"));
  EXPECT_THAT(received(with_body(std::string("host 7\0command x\0", 17))).status().message(),
              HasSubstr("damaged"));
  EXPECT_TRUE(received(with_body(message.substr(body))).ok());
  EXPECT_THAT(received(with_body(std::string("folder /no/such/folder\0", 23))).status().message(),
              HasSubstr("the folder /no/such/folder cannot be entered"));
}

TEST(RunOnHosts, TellsAtOnceWhatIsMissing) {
  EXPECT_THAT(weir_command("run -- true").text, HasSubstr("expected -n RANKS, or --hosts"));
  EXPECT_THAT(weir_command("run --hosts a:x -- true").text, HasSubstr("\"a:x\"; expected a host"));
  EXPECT_THAT(weir_command("run --hosts localhost --rsh /no/shell -- true").text,
              HasSubstr("cannot run '/no/shell'"));
  EXPECT_THAT(weir_command("run --part < /dev/null").text, HasSubstr("expected its message as input"));
}

}  // namespace
}  // namespace weir::cli
