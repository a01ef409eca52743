// SPDX-License-Identifier: Apache-2.0
/// Where processes join a running job: a thread that waits at an address for one after the other, compares
/// their options with those of the job, and keeps those that it has let in until the job takes them.
///
/// Who connects has to know the job's secret (peer_link.h). A process that dies while it waits, or says
/// nothing, is dropped; the ranks notice nothing of it. Tests: tests/trainer/newcomer_listener_test.cc,
/// tests/trainer/elastic_test.py
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "src/base/status.h"
#include "trainer/run/peer_link.h"

namespace weir::trainer {

/// The thread meets newcomers; the other functions are for one thread, the rank's own.
class NewcomerListener {
 public:
  /// `options`: the lines of common_options.h that newcomers must have, too.
  NewcomerListener(std::string address, std::string options);
  NewcomerListener(const NewcomerListener&) = delete;
  NewcomerListener& operator=(const NewcomerListener&) = delete;
  /// Tells those that wait that the run is done.
  ~NewcomerListener();

  const std::string& address() const { return address_; }
  /// Where newcomers may ask if this process is gone.
  void set_others(const std::string& addresses);
  /// Whether somebody was let in since the last count_present().
  bool has_news() const { return news_; }
  /// The number of those that wait and answer; the others are dropped. Takes a round trip.
  int count_present();
  /// Sends the first `count` of them away with `call`, whose rank is that of the first. Those that do not
  /// take it are not in the job; the others then notice that they are missing.
  void let_go(int count, Call call);

 private:
  void serve();
  Status greet(PeerLink& link);
  void pause();

  const std::string address_;
  const std::string options_;
  std::atomic<bool> closed_ = false;
  std::atomic<bool> news_ = false;
  std::mutex mutex_;  ///< for the members below
  std::condition_variable changed_;
  std::string others_;
  std::vector<PeerLink> waiting_;
  std::thread thread_;  ///< the last member: it uses all others
};

}  // namespace weir::trainer
