// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/rendezvous.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

constexpr Milliseconds kLongestNap{10};
/// Between two looks whether rank 0 has begun anew.
constexpr Milliseconds kLook{100};
/// Extra time for the verdict that rank 0 gives after its timeout.
constexpr Milliseconds kVerdictGrace{3000};
/// Length of numbers, in hexadecimal digits.
constexpr size_t kDigits = 16;

std::string new_number() {
  std::random_device random;
  std::string digits;
  while (digits.size() < kDigits) digits += "0123456789abcdef"[random() % 16];
  return digits;
}

/// Calls `over` every few milliseconds, until it returns true; returns false after `timeout`, or when
/// `given_up` returns true.
bool poll(const std::function<bool()>& over, Milliseconds timeout, const std::function<bool()>& given_up) {
  const auto deadline = Clock::now() + timeout;
  for (Milliseconds nap{1};; nap = std::min(nap * 2, kLongestNap)) {
    if (over()) return true;
    if (Clock::now() >= deadline || given_up()) return false;
    std::this_thread::sleep_for(nap);
  }
}

void set(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

std::string get(c10d::Store& store, const std::string& key) {
  const std::vector<uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

bool await_key(c10d::Store& store, const std::string& key, Milliseconds timeout,
               const std::function<bool()>& given_up) {
  return poll([&] { return store.check({key}); }, timeout, given_up);
}

Rendezvous::Rendezvous(c10d::Store& store, std::string name, int rank, int size)
    : store_(store), name_(std::move(name)), rank_(rank), size_(size), own_(new_number()) {
  if (rank_ != 0) return;
  begun_ = own_;
  set(store_, begun(name_), begun_);
}

std::vector<int> Rendezvous::await_all(Milliseconds timeout, const std::function<bool()>& given_up) {
  std::vector<std::string> others;
  for (int other = 1; other < size_; ++other) others.push_back(here(other));
  if (others.empty() || poll([&] { return store_.check(others); }, timeout, given_up)) return {};
  return missing();
}

void Rendezvous::say(const std::string& words) {
  std::string numbers = own_;
  for (int other = 1; other < size_; ++other)
    numbers += store_.check({here(other)}) ? get(store_, here(other)) : std::string(kDigits, '-');
  set(store_, said(), numbers + words);
}

/// Comes to the rendezvous that rank 0 has begun last. Returns whether it has begun one.
bool Rendezvous::come() {
  if (begun_.empty() && !store_.check({begun(name_)})) return false;
  const std::string last = get(store_, begun(name_));
  if (last == begun_) return true;
  begun_ = last;
  set(store_, here(rank_), own_);
  return true;
}

/// What rank 0 says, if it is meant for this rank and not for one of an earlier attempt.
std::optional<std::string> Rendezvous::heard() const {
  if (!store_.check({said()})) return std::nullopt;
  const std::string all = get(store_, said());
  const size_t numbers = kDigits * static_cast<size_t>(size_);
  if (all.size() < numbers || all.compare(kDigits * static_cast<size_t>(rank_), kDigits, own_) != 0)
    return std::nullopt;
  return all.substr(numbers);
}

std::optional<std::string> Rendezvous::listen(Milliseconds timeout, const std::function<bool()>& given_up) {
  std::optional<std::string> words;
  auto looked = Clock::now() - kLook;
  const auto over = [&] {
    if (begun_.empty() || Clock::now() - looked >= kLook) {
      if (!come()) return false;
      looked = Clock::now();
    }
    words = heard();
    return words.has_value();
  };
  poll(over, timeout, given_up);
  return words;
}

std::vector<int> Rendezvous::missing() const {
  std::vector<int> out;
  for (int other = 1; !begun_.empty() && other < size_; ++other) {
    if (!store_.check({here(other)})) out.push_back(other);
  }
  if (out.empty() && rank_ != 0) out.push_back(0);  // else the last one has just come
  return out;
}

namespace {

/// What Gloo says where ranks are missing: programs look for these words.
std::string gloos_words(const std::vector<int>& missing, Milliseconds timeout, bool all) {
  if (timeout.count() == 0) return "Rank 0 timed out in monitoredBarrier";
  std::string who = ranks(all ? missing : std::vector<int>{missing.front()});
  who.front() = 'R';
  return who + " failed to pass monitoredBarrier in " + std::to_string(timeout.count()) + " ms";
}

}  // namespace

void monitored_barrier(c10d::Store& store, const std::string& name, int rank, int size, Milliseconds timeout,
                       GloosWords words) {
  const std::string all_here = "all are here";
  const auto never = [] { return false; };
  Rendezvous rendezvous(store, name, rank, size);
  if (rank == 0) {
    const std::vector<int> missing = rendezvous.await_all(timeout, never);
    const std::string verdict =
        missing.empty() ? all_here
                        : ranks(missing) + " did not join the monitored barrier within the timeout of " +
                              seconds(timeout);
    rendezvous.say(verdict);
    if (missing.empty()) return;
    if (words == GloosWords::none) refuse(verdict);
    refuse(verdict + " (Gloo: " + gloos_words(missing, timeout, words == GloosWords::of_all) + ")");
  }
  const auto verdict = rendezvous.listen(timeout + kVerdictGrace, never);
  if (!verdict) {
    refuse(ranks(rendezvous.missing()) + " did not join the monitored barrier within the timeout of " +
           seconds(timeout) + ", and rank 0 did not report which ranks are missing");
  }
  if (*verdict == all_here) return;
  if (words == GloosWords::none) refuse(*verdict);
  refuse(
      *verdict + " (Gloo: Rank " + std::to_string(rank) +
      " successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0)");
}

}  // namespace weir_torch
