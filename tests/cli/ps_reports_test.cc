// SPDX-License-Identifier: Apache-2.0
// weir ps where processes do not show their reports to everybody (WEIR_REPORTS).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <string>

#include "tests/cli/late_rank.h"
#include "tests/net/false_entry.h"
#include "tests/net/other_user.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::LateRank;
using weir::testing::Processes;
using weir::testing::weir_command;

class PsReports : public LateRank {
 protected:
  void start_for(const std::string& readers) {
    Options options;
    options.reports = readers;
    start(options);
  }
};

/// What another user reads; its code is -1 where there is none, or where it may not call the program.
CommandResult command_of_another_user(const std::string& arguments) {
  int ends[2];
  CommandResult out;
  if (pipe(ends) != 0) return out;
  const int code = weir::testing::as_another_user([&] {
    if (access(WEIR_PROGRAM, X_OK) != 0) return 99;
    const CommandResult result = weir_command(arguments);
    (void)!write(ends[1], result.text.data(), result.text.size());
    return result.code;
  });
  close(ends[1]);
  char bytes[4096];
  for (ssize_t got; (got = read(ends[0], bytes, sizeof bytes)) > 0;)
    out.text.append(bytes, static_cast<size_t>(got));
  close(ends[0]);
  out.code = code == 99 ? -1 : code;
  return out;
}

TEST_F(PsReports, AreNotShownToAnybodyWhereTheyAreOff) {
  start_for("off");
  const CommandResult found = weir_command("ps" + pids());
  EXPECT_EQ(found.code, 0) << "this is no failure";
  EXPECT_EQ(found.text,
            "3 processes do not show their reports to anybody; WEIR_REPORTS=user in their environment would "
            "change that\n");
  EXPECT_THAT(weir_command("metrics" + pids()).text, Not(HasSubstr("weir_process_up")));
  const CommandResult json = weir_command("ps --json" + pids());
  EXPECT_EQ(json.code, 0);
  EXPECT_THAT(json.text, HasSubstr("shows its reports to nobody (WEIR_REPORTS=off)"));
}

TEST_F(PsReports, AnotherUserReadsHowManyThereAre) {
  start_for("user");
  const CommandResult found = command_of_another_user("ps" + pids());
  if (found.code < 0) GTEST_SKIP() << "there is no other user who may call the program";
  EXPECT_EQ(found.code, 0) << "this is no failure";
  EXPECT_EQ(found.text,
            "3 processes of other users do not show their reports to this user; WEIR_REPORTS=all in their "
            "environment would change that\n");
}

TEST_F(PsReports, AnotherUserReadsThoseForAll) {
  start_for("all");
  const CommandResult found = command_of_another_user("ps" + pids());
  if (found.code < 0) GTEST_SKIP() << "there is no other user who may call the program";
  EXPECT_THAT(found.text, AllOf(HasSubstr(" \"layers\" of user 0: 3 ranks\n"), HasSubstr("AllReduce")));
  EXPECT_THAT(weir_command("ps --json" + pids()).text,
              AllOf(HasSubstr("\"layers\""), Not(HasSubstr("secret")), Not(HasSubstr("access"))));
}

TEST_F(PsReports, AnEntryOfALiarIsLeftOut) {
  start_for("user");
  const int victim = processes_->pid(0);
  Processes liar(1, [&](int, const Processes::Voice& voice) {
    const bool other = weir::testing::become_another_user();
    const Socket socket = weir::testing::listen_as({victim, SocketAddress::loopback(AF_INET, 9)});
    voice.say(std::to_string(other ? weir::testing::kOtherUser : geteuid()));
    for (;;) pause();
  });
  const std::string user = liar.line(0);
  const CommandResult found = until(fmt::format("ps {}", victim), "wait for 2");
  EXPECT_EQ(found.code, 0);
  EXPECT_THAT(found.text,
              AllOf(HasSubstr("\"layers\": 3 ranks"),
                    HasSubstr(fmt::format("left out 1 registration under the numbers of other processes, "
                                          "made by user {}\n",
                                          user))));
}

}  // namespace
}  // namespace weir::cli
