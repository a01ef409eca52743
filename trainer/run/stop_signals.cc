// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/stop_signals.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <ctime>

namespace weir::trainer {
namespace {

constexpr int64_t kSameRequestNs = 1'000'000'000;
constexpr std::array kSignals = {SIGUSR1, SIGINT, SIGTERM};  ///< in ascending order of precedence
constexpr int kVoteBits = 16;                                ///< of the number of ranks with one signal

// What the handler reads and writes; these are lock-free.
std::atomic<int> noted = 0;
std::atomic<int64_t> first_request_ns = 0;  ///< time of the first SIGTERM or SIGINT; 0: none
static_assert(std::atomic<int64_t>::is_always_lock_free);

std::array<bool, kSignals.size()> installed = {};

// oneDNN's compiled products use the stack pointer for arrays on the heap, where a handler's frame would
// overwrite what lies below. So the handler has a stack of its own.
alignas(16) std::array<std::byte, 64 << 10> handler_stack;
stack_t former_stack = {};

/// In nanoseconds; may be called by a handler.
int64_t steady_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void note(int signal) {
  if (signal != SIGUSR1) {
    const int64_t now = steady_clock_ns();
    int64_t first = 0;
    if (!first_request_ns.compare_exchange_strong(first, now) && now - first >= kSameRequestNs) {
      std::signal(signal, SIG_DFL);
      std::raise(signal);  // delivered when this handler returns
      return;
    }
  }
  if (noted == 0 || signal != SIGUSR1) noted = signal;
}

}  // namespace

StopSignals::StopSignals() {
  stack_t own{};
  own.ss_sp = handler_stack.data();
  own.ss_size = handler_stack.size();
  sigaltstack(&own, &former_stack);
  for (size_t at = 0; at < kSignals.size(); ++at) {
    struct sigaction before {};
    sigaction(kSignals[at], nullptr, &before);
    installed[at] = (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL;
    if (!installed[at]) continue;
    struct sigaction action {};
    action.sa_handler = &note;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(kSignals[at], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (size_t at = 0; at < kSignals.size(); ++at) {
    struct sigaction now {};
    sigaction(kSignals[at], nullptr, &now);
    if (installed[at] && now.sa_handler == &note) std::signal(kSignals[at], SIG_DFL);
  }
  sigaltstack(&former_stack, nullptr);
}

uint64_t stop_vote() {
  const int signal = noted;
  for (size_t at = 0; at < kSignals.size(); ++at)
    if (kSignals[at] == signal) return uint64_t{1} << (kVoteBits * at);
  return 0;
}

int signal_of(uint64_t votes) {
  for (size_t at = kSignals.size(); at-- > 0;)
    if ((votes >> (kVoteBits * at)) % (1 << kVoteBits) != 0) return kSignals[at];
  return 0;
}

void forget_stop_signals() {
  noted = 0;
  first_request_ns = 0;
}

void ignore_stop_signals() {
  for (const int signal : kSignals) std::signal(signal, SIG_IGN);
}

}  // namespace weir::trainer
