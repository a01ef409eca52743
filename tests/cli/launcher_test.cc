// SPDX-License-Identifier: Apache-2.0
// weir run as its users see it, and the parts of it that need no processes.
#include "src/cli/launcher.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "src/base/options.h"
#include "src/cli/rank_processes.h"
#include "tests/cli/weir_command.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using weir::testing::CommandResult;
using weir::testing::run_command;
using weir::testing::weir_command;

std::multiset<std::string> lines(const std::string& text) {
  std::multiset<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) found.insert(line);
  return found;
}

/// Whether the process is there and no zombie.
bool lives(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return static_cast<bool>(file >> number >> name >> state) && state != "Z" && state != "X";
}

bool ends_soon(pid_t pid) {
  for (int i = 0; i < 3000 && lives(pid); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return !lives(pid);
}

/// A folder in which ranks tell each other how far they are.
class Folder {
 public:
  Folder() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = ::testing::TempDir() + "weir-run-XXXXXX";
};

/// weir in the background, its output in a pipe.
class Background {
 public:
  explicit Background(std::vector<std::string> words) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    words.insert(words.begin(), "weir");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      signal(SIGINT, SIG_DFL);  // shells ignore it for what runs in the background
      dup2(ends[1], STDOUT_FILENO);
      execv(WEIR_PROGRAM, arguments.data());
      _exit(99);
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
  }
  ~Background() { fclose(output_); }

  pid_t pid() const { return pid_; }
  std::string line() {
    char buffer[256];
    return fgets(buffer, sizeof(buffer), output_) != nullptr ? buffer : "";
  }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  FILE* output_ = nullptr;
};

TEST(WeirRun, GivesEachRankItsPlaceAndPrefixesItsOutput) {
  CommandResult result = weir_command(
      "run -n 3 -- sh -c 'echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE; echo oops >&2'");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(lines(result.text),
              UnorderedElementsAre("[0] 0 of 3, 0 of 3", "[1] 1 of 3, 1 of 3", "[2] 2 of 3, 2 of 3",
                                   "[0] oops", "[1] oops", "[2] oops"));
}

TEST(WeirRun, HidesTheLauncherThatStartedIt) {
  const CommandResult result = run_command(
      "SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=9 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=9 '" WEIR_PROGRAM
      "' run -n 2 -- sh -c 'echo $RANK $WORLD_SIZE x$SLURM_PROCID$OMPI_COMM_WORLD_SIZE'");
  EXPECT_THAT(lines(result.text), UnorderedElementsAre("[0] 0 2 x", "[1] 1 2 x"));
}

TEST(WeirRun, SimulatesNodes) {
  const CommandResult result = weir_command(
      "run -n 5 --nodes 2 --plain -- sh -c 'echo $RANK $NCCL_HOSTID $LOCAL_RANK $LOCAL_WORLD_SIZE'");
  EXPECT_THAT(lines(result.text), UnorderedElementsAre("0 node0 0 3", "1 node0 1 3", "2 node0 2 3",
                                                       "3 node1 0 2", "4 node1 1 2"));
  EXPECT_THAT(weir_command("run -n 2 --nodes 3 true").text,
              HasSubstr("--nodes is 3; expected at most the number of ranks, 2"));
  EXPECT_EQ(weir_command("run -n 2 --nodes 3 true").code, 2);
}

TEST(WeirRun, TellsAllRanksTheSameAddress) {
  CommandResult result =
      weir_command("run -n 2 --plain -- sh -c 'echo $NCCL_COMM_ID $MASTER_ADDR $MASTER_PORT'");
  std::multiset<std::string> addresses = lines(result.text);
  ASSERT_EQ(addresses.size(), 2);
  EXPECT_EQ(*addresses.begin(), *addresses.rbegin());
  EXPECT_THAT(*addresses.begin(), ContainsRegex("^127\\.[0-9.]+:[0-9]+ 127\\.0\\.0\\.1 [0-9]+$"));
  const std::string shown = "--plain -- sh -c 'echo \"${#WEIR_SECRET}\"'";
  EXPECT_EQ(weir_command("run -n 2 " + shown).text, "32\n32\n");
  EXPECT_EQ(weir_command("run -n 1 --comm-id h:7 " + shown).text, "0\n")
      << "who chose the address has the secret";
  EXPECT_EQ(weir_command("run -n 1 --comm-id h:7 --plain -- sh -c 'echo $NCCL_COMM_ID'").text, "h:7\n");
  EXPECT_EQ(weir_command("run -n 1 --comm-id none --plain -- sh -c 'echo \"<$NCCL_COMM_ID>\"'").text, "<>\n");
}

TEST(WeirRun, LeavesTheProgramsOptionsAlone) {
  EXPECT_EQ(weir_command("run -n 1 --plain echo -n 5 --bind x").text, "5 --bind x");
  EXPECT_EQ(weir_command("run -n 1 --plain -- echo -- -h").text, "-- -h\n");
}

TEST(WeirRun, GivesRanksAnEmptyInput) {
  EXPECT_EQ(run_command("echo secret | " WEIR_PROGRAM " run -n 1 --plain -- cat").text, "");
}

TEST(WeirRun, ReturnsTheCodeOfTheRankThatDiedAndStopsTheRest) {
  // Rank 1 dies as soon as the others can hear of it.
  const Folder folder;
  CommandResult result = weir_command(
      "run -n 3 -- sh -c 'cd " + folder.path() +
      "; trap \"echo told; exit 9\" TERM; touch $RANK; "
      "[ $RANK = 1 ] && { until [ -f 0 ] && [ -f 2 ]; do sleep 0.02; done; exit 5; }; sleep 60 & wait'");
  EXPECT_EQ(result.code, 5);
  EXPECT_THAT(
      result.text,
      AllOf(ContainsRegex("weir run: rank 1 \\(pid [0-9]+\\) exited with code 5; stopping the other 2"),
            HasSubstr("[0] told"), HasSubstr("[2] told")));
}

TEST(WeirRun, NamesTheSignalThatKilledARank) {
  CommandResult result = weir_command("run -n 2 -- sh -c '[ $RANK = 0 ] && kill -SEGV $$; sleep 60'");
  EXPECT_EQ(result.code, 128 + SIGSEGV);
  EXPECT_THAT(
      result.text,
      ContainsRegex(
          "rank 0 \\(pid [0-9]+\\) was killed by signal 11 \\(Segmentation fault\\); stopping the other 1"));
}

TEST(WeirRun, GoesOnWithoutRanksThatASignalKilled) {
  // Rank 0 sees that rank 1 is dead, and gives weir a little time to see it, too.
  const Folder folder;
  const CommandResult result = weir_command(
      "run -n 3 --keep-going -- sh -c 'cd " + folder.path() +
      "; [ $RANK = 1 ] && { echo $$ > new; mv new pid; kill -KILL $$; }; [ $RANK = 2 ] && kill -STOP $$; "
      "until [ -f pid ]; do sleep 0.02; done; while grep -Eqs \"^State:.[RSD]\" /proc/$(cat pid)/status; do "
      "sleep "
      "0.02; done; sleep 0.3; echo done'");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text,
              AllOf(ContainsRegex(
                        "rank 1 \\(pid [0-9]+\\) was killed by signal 9 \\(Killed\\); the other 2 continue"),
                    HasSubstr("[0] done")));
  const CommandResult none = weir_command("run -n 2 --keep-going -- sh -c 'kill -KILL $$'");
  EXPECT_EQ(none.code, 128 + SIGKILL) << "nobody ended well";
  const CommandResult code =
      weir_command("run -n 2 --keep-going -- sh -c '[ $RANK = 0 ] && exit 7; sleep 60'");
  EXPECT_EQ(code.code, 7) << "an error is one";
}

TEST(WeirRun, KillsThoseWhoDoNotListen) {
  const Folder folder;
  CommandResult result =
      weir_command("run -n 2 -- sh -c 'cd " + folder.path() +
                   "; echo $$; [ $RANK = 0 ] && { until [ -f deaf ]; do sleep 0.02; done; exit 3; }"
                   "; trap \"\" TERM; touch deaf; while :; do sleep 1; done'");
  EXPECT_EQ(result.code, 3);
  for (const std::string& line : lines(result.text)) {
    if (line.starts_with("[1] ")) {
      EXPECT_FALSE(lives(std::atoi(line.c_str() + 4))) << result.text;
    }
  }
}

TEST(WeirRun, StoppedRanksDoNotDelayTheEnd) {
  const Folder folder;
  const CommandResult result = weir_command("run -n 2 -- sh -c 'cd " + folder.path() +
                                            "; [ $RANK = 0 ] && { until [ -f pid ] && grep -q stopped "
                                            "/proc/$(cat pid)/status; do sleep 0.02; done; exit 4; }"
                                            "; echo $$ > new; mv new pid; kill -STOP $$; sleep 60'");
  EXPECT_EQ(result.code, 4) << result.text;
}

TEST(WeirRun, LeavesNothingBehind) {
  // Once in the rank's own group, once in a session of its own; both would outlive it by far.
  CommandResult result =
      weir_command("run -n 1 --plain -- sh -c 'sleep 300 & echo $!; setsid sleep 300 & echo $!; sleep 0.2'");
  EXPECT_EQ(result.code, 0);
  ASSERT_EQ(lines(result.text).size(), 2) << result.text;
  for (const std::string& line : lines(result.text)) EXPECT_FALSE(lives(std::atoi(line.c_str()))) << line;
}

TEST(WeirRun, PassesSignalsOn) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Background weir(
        {"run", "-n", "2", "--", "sh", "-c",
         "trap 'exit 11' INT; trap 'exit 12' TERM; trap 'exit 13' HUP; echo ready; sleep 60 & wait"});
    EXPECT_THAT(weir.line(), HasSubstr("ready"));
    EXPECT_THAT(weir.line(), HasSubstr("ready"));
    kill(weir.pid(), signal);
    EXPECT_EQ(weir.wait(), signal == SIGINT ? 11 : signal == SIGTERM ? 12 : 13);
  }
}

TEST(WeirRun, ASecondSignalKills) {
  Background weir({"run", "-n", "1", "--plain", "--", "sh", "-c",
                   "trap 'echo no' TERM; echo $$; while :; do sleep 0.1; done"});
  const pid_t rank = std::atoi(weir.line().c_str());
  kill(weir.pid(), SIGTERM);
  EXPECT_EQ(weir.line(), "no\n");
  kill(weir.pid(), SIGTERM);
  EXPECT_EQ(weir.wait(), 128 + SIGKILL);
  EXPECT_FALSE(lives(rank));
}

TEST(WeirRun, ASignalOfTheProgramsOwnIsPassedOnAndNothingFollows) {
  Background weir({"run", "-n", "1", "--plain", "--", "sh", "-c",
                   "trap 'echo one' USR1; trap 'echo two' USR2; trap 'exit 12' TERM; echo ready; "
                   "while :; do sleep 0.05; done"});
  EXPECT_EQ(weir.line(), "ready\n");
  for (int i = 0; i < 2; ++i) {
    kill(weir.pid(), SIGUSR1);
    EXPECT_EQ(weir.line(), "one\n");
  }
  kill(weir.pid(), SIGUSR2);
  EXPECT_EQ(weir.line(), "two\n");
  kill(weir.pid(), SIGTERM);
  EXPECT_EQ(weir.wait(), 12) << "the first request to end";
}

TEST(WeirRun, KillsWhatHasNotEndedAfterTheGrace) {
  for (const bool limited : {true, false}) {
    Background weir(
        {"run", "-n", "1", "--plain", "--grace", limited ? "1" : "0", "--", "sh", "-c",
         "end() { echo told; i=0; while [ $i -lt 40 ]; do sleep 0.05; i=$((i+1)); done; exit 12; }; "
         "trap end TERM; echo ready; while :; do sleep 0.05; done"});
    EXPECT_EQ(weir.line(), "ready\n");
    kill(weir.pid(), SIGTERM);
    EXPECT_EQ(weir.line(), "told\n");
    EXPECT_EQ(weir.wait(), limited ? 128 + SIGKILL : 12);
  }
}

TEST(WeirRun, RanksDieWithIt) {
  Background weir({"run", "-n", "1", "--plain", "--", "sh", "-c", "echo $$; while :; do sleep 0.1; done"});
  const pid_t rank = std::atoi(weir.line().c_str());
  EXPECT_TRUE(lives(rank));
  kill(weir.pid(), SIGKILL);
  EXPECT_EQ(weir.wait(), 128 + SIGKILL);
  EXPECT_TRUE(ends_soon(rank));
}

TEST(WeirRun, SaysWhatItCannotRun) {
  CommandResult missing = weir_command("run -n 2 /nosuch/program");
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(missing.text, "weir run: cannot run '/nosuch/program': No such file or directory\n");
  CommandResult nothing = weir_command("run -n 2");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.text, HasSubstr("no program to run; expected one after the options"));
  EXPECT_EQ(weir_command("run -n 0 true").code, 2);
  EXPECT_EQ(weir_command("run true").code, 2);
  EXPECT_EQ(weir_command("nosuch").code, 2);
}

TEST(WeirRun, PreloadsALibrary) {
  CommandResult result = run_command("LD_LIBRARY_PATH=/old " WEIR_PROGRAM
                                     " run -n 1 --plain --preload=/x/libnccl.so.2 -- env 2>/dev/null");
  EXPECT_THAT(result.text,
              AllOf(HasSubstr("LD_PRELOAD=/x/libnccl.so.2\n"), HasSubstr("LD_LIBRARY_PATH=/x:/old\n")));
}

TEST(WeirOptions, SaysThatItsOutputCannotBeWritten) {
  const CommandResult result = run_command(WEIR_PROGRAM " options 2>&1 >/dev/full");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, AllOf(HasSubstr("weir options: "), HasSubstr("No space left on device")));
  EXPECT_EQ(run_command(WEIR_PROGRAM " help machine >/dev/full 2>/dev/full").code, 1);
  EXPECT_EQ(run_command(WEIR_PROGRAM " topo nosuch >/dev/full 2>/dev/full").code, 1);  // has only stderr
}

TEST(WeirOptions, ListsTheWholeTable) {
  CommandResult result = weir_command("options");
  EXPECT_EQ(result.code, 0);
  for (const OptionRow& row : option_table()) EXPECT_THAT(result.text, HasSubstr(std::string(row.name)));
  EXPECT_THAT(weir_command("--version").text, ContainsRegex("^weir [0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(FreePorts, AreTwo) {
  Result<std::pair<int, int>> ports = free_ports();
  ASSERT_TRUE(ports.ok());
  EXPECT_GT(ports->first, 1023);
  EXPECT_NE(ports->first, ports->second);
}

int cores_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  return CPU_COUNT(&set);
}

TEST(CoreBinding, DealsCoresOut) {
  Result<CoreBinding> one = CoreBinding::make(BindMode::core, 1);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(one->processors(0).size(), static_cast<size_t>(cores_here())) << "a rank alone has all";
  Result<CoreBinding> many = CoreBinding::make(BindMode::core, 5000);
  ASSERT_TRUE(many.ok());
  EXPECT_FALSE(many->processors(4999).empty());
  EXPECT_TRUE(CoreBinding::make(BindMode::automatic, 5000)->processors(0).empty());
  EXPECT_TRUE(CoreBinding::make(BindMode::none, 1)->processors(0).empty());
  Result<CoreBinding> two = CoreBinding::make(BindMode::automatic, 2);
  ASSERT_TRUE(two.ok());
  std::vector<int> first = two->processors(0), second = two->processors(1);
  for (int processor : first) EXPECT_THAT(second, ::testing::Not(::testing::Contains(processor)));
}

}  // namespace
}  // namespace weir::cli
