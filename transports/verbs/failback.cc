// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/failback.h"

#include <algorithm>

#include "src/base/log.h"

namespace weir::verbs {

void VerbsFailback::lost(uint32_t queue_pair, int64_t now) {
  places_.resize(queue_pairs_.size());
  Place& place = places_[queue_pair];
  const bool soon = place.regained_ns != 0 && now - place.regained_ns < kTrialNs;
  place.pause_ns = soon ? std::min(2 * place.pause_ns, kLongestPauseNs) : first_pause_ns_;
  place.next_ns = now + place.pause_ns;
  place.lost_ns = now;
}

void VerbsFailback::advance(int64_t now) {
  for (uint32_t i = 0; i < places_.size(); ++i) {
    Place& place = places_[i];
    if (queue_pairs_.is_live(i)) continue;
    if (!place.trying) {
      if (now >= place.next_ns && queue_pairs_.may_try(i)) begin(i, now);
    } else if (!queue_pairs_.trial(i) || now >= place.next_ns) {
      fail(i, now);
    }
  }
}

void VerbsFailback::begin(uint32_t queue_pair, int64_t now) {
  Place& place = places_[queue_pair];
  place.trying = true;
  place.next_ns = now + kPausesPerAttempt * first_pause_ns_;
  const QueuePairAttempt attempt{.queue_pair = queue_pair, .number = ++place.attempt};
  const Result<QueuePairEnd> end = queue_pairs_.begin_trial(queue_pair, attempt.number);
  if (end.ok()) connection_.put(FrameKind::reopen, ByteWriter().put(attempt).put(*end).take());
}

void VerbsFailback::fail(uint32_t queue_pair, int64_t now) {
  Place& place = places_[queue_pair];
  queue_pairs_.end_trial(queue_pair);
  connection_.put(FrameKind::abandon,
                  raw(QueuePairAttempt{.queue_pair = queue_pair, .number = place.attempt}));
  place.trying = false;
  place.pause_ns = std::min(2 * place.pause_ns, kLongestPauseNs);
  place.next_ns = now + place.pause_ns;
}

bool VerbsFailback::answered(const Bytes& payload) {
  ByteReader reader(payload);
  const auto attempt = reader.get<QueuePairAttempt>();
  if (!reader.ok() || attempt.queue_pair >= places_.size()) return false;
  if (queue_pairs_.trial(attempt.queue_pair) != attempt.number) return true;  // it is over
  const auto end = attempt.refused == 0 ? reader.get<QueuePairEnd>() : QueuePairEnd();
  if (!reader.ok()) return false;
  const bool connected =
      attempt.refused == 0 && queue_pairs_.connect_trial(attempt.queue_pair, end, false).ok();
  if (!connected) queue_pairs_.end_trial(attempt.queue_pair);  // advance() sees that
  return true;
}

void VerbsFailback::regained(uint32_t queue_pair, int64_t now) {
  Place& place = places_[queue_pair];
  place.trying = false;
  place.regained_ns = now;
  WEIR_WARN(
      "{} uses the queue pair from {} again, which was abandoned for {:.1f} s; {} of {} queue pairs work",
      name_, queue_pairs_.path(queue_pair), static_cast<double>(now - place.lost_ns) / 1e9,
      queue_pairs_.live(), queue_pairs_.size());
}

bool answer_attempt(QueuePairs& queue_pairs, QueuePairUser& user, SetupConnection& connection,
                    const Bytes& payload) {
  ByteReader reader(payload);
  QueuePairAttempt attempt = reader.get<QueuePairAttempt>();
  const auto peer = reader.get<QueuePairEnd>();
  const uint32_t queue_pair = attempt.queue_pair;
  if (!reader.ok() || queue_pair >= queue_pairs.size()) return false;
  queue_pairs.end_trial(queue_pair);
  queue_pairs.drop(queue_pair, user);
  ByteWriter answer;
  if (queue_pairs.may_try(queue_pair)) {
    const Result<QueuePairEnd> own = queue_pairs.begin_trial(queue_pair, attempt.number);
    if (own.ok() && queue_pairs.connect_trial(queue_pair, peer, true).ok()) {
      connection.put(FrameKind::reopened, answer.put(attempt).put(*own).take());
      return true;
    }
    queue_pairs.end_trial(queue_pair);
  }
  attempt.refused = 1;
  connection.put(FrameKind::reopened, answer.put(attempt).take());
  return true;
}

bool abandon_attempt(QueuePairs& queue_pairs, QueuePairUser& user, const Bytes& payload) {
  ByteReader reader(payload);
  const auto attempt = reader.get<QueuePairAttempt>();
  if (!reader.ok() || attempt.queue_pair >= queue_pairs.size()) return false;
  if (queue_pairs.trial(attempt.queue_pair) == attempt.number) queue_pairs.end_trial(attempt.queue_pair);
  if (queue_pairs.is_live(attempt.queue_pair) && queue_pairs.attempt(attempt.queue_pair) == attempt.number)
    queue_pairs.drop(attempt.queue_pair, user);
  return true;
}

}  // namespace weir::verbs
