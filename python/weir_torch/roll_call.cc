// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/roll_call.h"

#include <algorithm>
#include <thread>

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

constexpr Milliseconds kLongestNap{10};
/// Extra time for the verdict that rank 0 writes after its timeout.
constexpr Milliseconds kVerdictGrace{3000};

std::string mark(const std::string& name, int rank) { return name + "/here/" + std::to_string(rank); }

bool await_keys(c10d::Store& store, const std::vector<std::string>& keys, Milliseconds timeout,
                const std::function<bool()>& given_up) {
  const auto deadline = Clock::now() + timeout;
  for (Milliseconds nap{1};; nap = std::min(nap * 2, kLongestNap)) {
    if (store.check(keys)) return true;
    if (Clock::now() >= deadline || given_up()) return false;
    std::this_thread::sleep_for(nap);
  }
}

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

bool await_key(c10d::Store& store, const std::string& key, Milliseconds timeout,
               const std::function<bool()>& given_up) {
  return await_keys(store, {key}, timeout, given_up);
}

std::vector<int> roll_call(c10d::Store& store, const std::string& name, int rank, int size,
                           Milliseconds timeout, const std::function<bool()>& given_up) {
  store.set(mark(name, rank), bytes_of("1"));
  std::vector<std::string> marks;
  for (int other = 0; other < size; ++other) marks.push_back(mark(name, other));
  if (await_keys(store, marks, timeout, given_up)) return {};
  std::vector<int> missing;
  for (int other = 0; other < size; ++other) {
    if (!store.check({mark(name, other)})) missing.push_back(other);
  }
  return missing;
}

void monitored_barrier(c10d::Store& store, const std::string& name, int rank, int size,
                       Milliseconds timeout) {
  const std::string verdict_key = name + "/verdict";
  const std::string all_here = "all are here";
  if (rank == 0) {
    const std::vector<int> missing = roll_call(store, name, rank, size, timeout);
    const std::string verdict =
        missing.empty() ? all_here
                        : ranks(missing) + " did not join the monitored barrier within " + seconds(timeout);
    store.set(verdict_key, bytes_of(verdict));
    if (!missing.empty()) refuse(verdict);
    return;
  }
  store.set(mark(name, rank), bytes_of("1"));
  if (!await_key(store, verdict_key, timeout + kVerdictGrace)) {
    const std::vector<int> missing = roll_call(store, name, rank, size, Milliseconds(0));
    refuse((missing.empty() ? "rank 0" : ranks(missing)) + " did not join the monitored barrier within " +
           seconds(timeout) + ", and rank 0 did not report which ranks are missing");
  }
  const std::vector<uint8_t> bytes = store.get(verdict_key);
  const std::string verdict(bytes.begin(), bytes.end());
  if (verdict != all_here) refuse(verdict);
}

}  // namespace weir_torch
