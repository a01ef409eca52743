// SPDX-License-Identifier: Apache-2.0
/// Ranks as real processes: forked children that run a function, say lines to the parent, and can be killed
/// or stopped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weir::testing {

class Processes {
 public:
  /// What a child says: one line at a time, to the parent.
  class Voice {
   public:
    explicit Voice(int fd) : fd_(fd) {}
    void say(const std::string& line) const;

   private:
    int fd_;
  };
  using Body = std::function<void(int index, const Voice& voice)>;

  /// Forks `count` children. A child ends when its body returns, without destructors or exit handlers.
  Processes(int count, const Body& body);
  /// Kills whoever still runs.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  pid_t pid(int index) const { return children_[static_cast<size_t>(index)].pid; }
  void signal(int index, int number) const;
  /// The next line of a child; "<silence>" after `seconds`, "<end>" when it has ended.
  std::string line(int index, double seconds = 30);
  /// True if the child ended by itself with exit code 0 within `seconds`.
  bool ended_well(int index, double seconds = 30);

 private:
  struct Child {
    pid_t pid = -1;
    int fd = -1;
    std::string heard;
  };
  std::vector<Child> children_;
};

/// Happens once, for processes that were forked after it was made, and threads.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void happen() const;
  /// For ever, if need be.
  void wait() const;

 private:
  int ends_[2];
};

/// Waits until so many connections to a port of this host are taken and all that came over them is read, and
/// still are a little later: who has just connected may not have said its first words.
void await_connections(uint16_t port, int count);

/// Descriptors and threads of this process, to show that nothing leaks.
size_t count_descriptors();
size_t count_threads();

}  // namespace weir::testing
