// SPDX-License-Identifier: Apache-2.0
// Chaos: random worlds with a rank that is killed, stopped, delayed, starved or cut off at a random moment.
//
//   chaos [--rounds 500] [--seed 1] [--verbose]     rounds with the seeds 1, 2, ...; --rounds 1 --seed N
//   repeats one
//   chaos --calm --load 20     nothing happens to the ranks, 2 to 64 on two hosts, beside so many busy
//   processes: none may be accused
//
// No rank may hang beyond the deadlines, compute wrongly or leave anything behind, and in all but one of each
// hundred rounds begun every survivor must name the right culprit. Prints a table by injury: how often it was
// named, and how long the last survivor took.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <thread>

#include "src/base/clock.h"
#include "src/net/socket.h"
#include "tests/chaos/lab.h"
#include "tests/chaos/rank.h"

namespace weir::testing {
namespace {

// The deadlines of the library are far shorter: this is what counts as a hang, on a machine that may be very
// busy.
constexpr double kHangSeconds = 60;
constexpr double kCalmSeconds = 600;

/// How a round ended.
struct Verdict {
  std::string trouble;   ///< a hang, a wrong result or something left behind; empty: none
  std::string misnamed;  ///< who said something else than the culprit; empty: nobody
  double seconds = 0;    ///< from the injury until the last survivor said its sentence
};

class Journal {
 public:
  void note(const Round& round, const Verdict& verdict) {
    Row& row = rows_[round.injury];
    ++row.rounds;
    row.seconds.push_back(verdict.seconds);
    ++rounds_;
    if (verdict.misnamed.empty())
      ++row.named;
    else
      ++misnamed_;
    if (!verdict.trouble.empty()) ++troubled_;
    for (const std::string& what : {verdict.trouble, verdict.misnamed}) {
      if (!what.empty()) fmt::print("{}\n  {}\n", round.text(), what);
    }
    fflush(stdout);
  }

  bool well() const { return troubled_ == 0 && misnamed_ <= (rounds_ + 99) / 100; }

  void print() {
    fmt::print(
        "\n| injury | rounds | culprit named by all | median s | longest s |\n|---|---|---|---|---|\n");
    for (auto& [injury, row] : rows_) {
      std::sort(row.seconds.begin(), row.seconds.end());
      fmt::print("| {} | {} | {} | {:.2f} | {:.2f} |\n", name_of(injury), row.rounds, row.named,
                 row.seconds[row.seconds.size() / 2], row.seconds.back());
    }
    fmt::print(
        "{} rounds: {} with a hang, a wrong result or something left behind, {} with another culprit\n",
        rounds_, troubled_, misnamed_);
  }

 private:
  struct Row {
    int rounds = 0;
    int named = 0;
    std::vector<double> seconds;
  };
  std::map<Injury, Row> rows_;
  int rounds_ = 0, troubled_ = 0, misnamed_ = 0;
};

/// Shared memory of our own, in which only ranks of ours can leave something behind. False: it needs root.
bool own_shared_memory() {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/dev/shm", "tmpfs", 0, nullptr) == 0;
}

std::string left_behind() {
  const std::filesystem::directory_iterator entries("/dev/shm");
  return entries == end(entries) ? std::string() : entries->path().string();
}

std::string meeting_of(const Round& round) {
  if (round.hosts > 1) return Lab::address(0) + ":23500";
  auto probe = Socket::listen(SocketAddress::loopback(AF_INET, 0));
  return probe->local_address()->text();
}

void injure(const Round& round, const Processes& processes, const Lab* lab) {
  std::this_thread::sleep_for(std::chrono::microseconds(round.moment_us));
  switch (round.injury) {
    case Injury::kill: return processes.signal(round.victim, SIGKILL);
    case Injury::stop: return processes.signal(round.victim, SIGSTOP);
    case Injury::cut: return lab->plug(round.host_of(round.victim), false);
    case Injury::delay:
      processes.signal(round.victim, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(kPeerSeconds * 1000 / 4));
      return processes.signal(round.victim, SIGCONT);
    default: return;
  }
}

/// Whether `rank` shares the victim's fate: what it says does not count.
bool is_lost(const Round& round, int rank) {
  if (round.injury == Injury::cut) return round.host_of(rank) == round.host_of(round.victim);
  return !round.ends_well() && rank == round.victim;
}

/// Ranks of parts have other numbers than in the world: there only the process counts.
bool names_the_culprit(const Round& round, const Processes& processes, const std::string& said) {
  if (!said.starts_with("6: ")) return false;
  for (int rank = 0; rank < round.ranks; ++rank) {
    if (!is_lost(round, rank)) continue;
    if (said.find(fmt::format("(pid {} on host ", processes.pid(rank))) != said.npos) return true;
    const bool numbered = round.group == 0 || said.find("NCCL_COMM_ID") != said.npos ||
                          said.find("WEIR_INIT_TIMEOUT") != said.npos ||
                          said.find("cannot be reached while joining") != said.npos;
    if (numbered &&
        std::regex_search(said, std::regex(fmt::format("\\branks? ([0-9, ]+(and )?)?{}\\b", rank))))
      return true;
  }
  return false;
}

/// What is wrong with the lines of the survivors.
Verdict judge(const Round& round, const Processes& processes, const std::vector<std::string>& said) {
  Verdict verdict;
  bool all_done = true;
  for (int rank = 0; rank < round.ranks; ++rank) {
    if (!is_lost(round, rank)) all_done = all_done && said[static_cast<size_t>(rank)] == "done";
  }
  const bool may_be_done = round.ends_well() || round.injury == Injury::starve;
  for (int rank = 0; rank < round.ranks; ++rank) {
    const std::string& line = said[static_cast<size_t>(rank)];
    if (is_lost(round, rank)) continue;
    const std::string words = fmt::format("rank {} said '{}'", rank, line);
    if (line == "<silence>" || line == "<end>" || line.starts_with("wrong"))
      verdict.trouble = words;
    else if (all_done && may_be_done)
      continue;
    else if (round.ends_well())
      verdict.trouble = words;
    // A rank may have had all it needs of a victim that failed afterwards.
    else if (line == "done" && round.injury == Injury::starve)
      continue;
    else if (!names_the_culprit(round, processes, line))
      verdict.misnamed = words;
  }
  return verdict;
}

/// `tidy`: the machine's shared memory is ours alone.
Verdict play(const Round& round, const Lab* lab, bool tidy, bool verbose) {
  Verdict verdict;
  const double hang_s = round.calm ? kCalmSeconds : kHangSeconds;
  {
    const std::string meeting = meeting_of(round);
    Processes processes(round.ranks, [&](int rank, const Processes::Voice& voice) {
      if (round.hosts > 1) {
        if (const Status status = lab->enter(round.host_of(rank)); !status.ok())
          return voice.say("wrong: " + status.message());
      }
      run_rank(round, rank, meeting, voice);
    });
    for (int rank = 0; rank < round.ranks; ++rank) processes.line(rank, hang_s);
    const int64_t begin = now_ns();
    injure(round, processes, lab);
    std::vector<std::string> said(static_cast<size_t>(round.ranks));
    for (int rank = 0; rank < round.ranks; ++rank) {
      if (is_lost(round, rank)) continue;
      said[static_cast<size_t>(rank)] = processes.line(rank, hang_s);
      if (verbose) fmt::print("  rank {}: {}\n", rank, said[static_cast<size_t>(rank)]);
    }
    verdict = judge(round, processes, said);
    verdict.seconds = static_cast<double>(now_ns() - begin) / 1e9;
    for (int rank = 0; rank < round.ranks; ++rank) {
      if (!is_lost(round, rank) && verdict.trouble.empty() && !processes.ended_well(rank, hang_s)) {
        verdict.trouble = fmt::format("rank {} did not end", rank);
      }
    }
  }
  if (round.injury == Injury::cut) lab->plug(round.host_of(round.victim), true);
  if (const std::string trace = left_behind(); tidy && !trace.empty())
    verdict.trouble = "left behind: " + trace;
  return verdict;
}

int main_of(int argc, char** argv) {
  CLI::App app("Random worlds with a rank that something happens to.");
  uint64_t rounds = 500, seed = 1;
  int load = 0;
  bool verbose = false, calm = false;
  app.add_option("--rounds", rounds, "how many")->capture_default_str();
  app.add_option("--seed", seed, "of the first round")->capture_default_str();
  app.add_flag("--calm", calm, "nothing happens to the ranks");
  app.add_option("--load", load, "busy processes beside");
  app.add_flag("--verbose", verbose, "what each round is and what its ranks say");
  CLI11_PARSE(app, argc, argv);

  const bool tidy = own_shared_memory();
  if (!tidy) fmt::print("what is left behind in shared memory is not looked for: that needs root\n");
  auto lab = Lab::build();
  if (!lab.ok()) fmt::print("one host only: {}\n", lab.status().message());
  Journal journal;
  const Processes busy(load, [](int, const Processes::Voice&) {
    for (volatile uint64_t work = 0;;) work = work + 1;
  });
  for (uint64_t i = 0; i < rounds; ++i) {
    const Round round = calm ? Round::calm_of(seed + i, lab.ok()) : Round::of(seed + i, lab.ok());
    if (verbose) fmt::print("{}\n", round.text());
    journal.note(round, play(round, lab.ok() ? lab->get() : nullptr, tidy, verbose));
  }
  journal.print();
  return journal.well() ? 0 : 1;
}

}  // namespace
}  // namespace weir::testing

int main(int argc, char** argv) { return weir::testing::main_of(argc, argv); }
