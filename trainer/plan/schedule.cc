// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/schedule.h"

#include <algorithm>
#include <array>
#include <deque>

namespace weir::trainer::plan {
namespace {

/// An operation has ended when less than this fraction of its length is left: the rest is rounding.
constexpr double kRounding = 1e-12;

struct Compute {
  int unit = 0;
  double seconds = 0;
  int gather = -1;  ///< gather of its unit, which must have arrived; -1: none
  bool backward = false;
  bool frees = false;
  bool reduces = false;
};

struct Gather {
  int unit = 0;
  int compute = 0;     ///< first computation that needs the gather
  bool again = false;  ///< whether the unit was gathered before in this step
};

/// A gather or a reduction that is using the links.
struct Operation {
  int unit = 0;
  int gather = -1;  ///< number of the gather; negative: a reduction
  int stage = -1;   ///< index of the links that it uses now
  double length = 0;
  double left = 0;
  double wake = 0;  ///< seconds until it begins
};

/// Links of one kind: they carry one operation at a time.
struct Links {
  std::deque<Operation> queue;
  Operation running;
  bool busy = false;
  double seconds = 0;

  bool carries() const { return busy && running.wake <= 0; }
};

class Simulation {
 public:
  Simulation(const std::vector<UnitTimes>& units, const Rules& rules) : units_(units), rules_(rules) {
    list();
  }

  Timeline run() {
    for (;;) {
      while (admit() || start()) {
      }
      const double step = next_event();
      if (step < 0) break;
      advance(step);
    }
    line_.inside_seconds = links_[0].seconds;
    line_.between_seconds = links_[1].seconds;
    return line_;
  }

 private:
  /// Lists all computations in order, and the gathers that they need.
  void list() {
    const int count = static_cast<int>(units_.size());
    std::vector<int> held(units_.size(), -1);
    was_gathered_.assign(units_.size(), false);
    for (int batch = 0; batch < rules_.micro_batches; ++batch) {
      const bool reduces = rules_.reduce_each || batch + 1 == rules_.micro_batches;
      for (int unit = 0; unit < count; ++unit) {
        const bool frees = rules_.free_after_forward && !units_[unit].kept && unit + 1 < count;
        add({unit, units_[unit].forward, -1, false, frees, false}, held);
      }
      for (int unit = count - 1; unit >= 0; --unit)
        add({unit, units_[unit].backward, -1, true, true, reduces}, held);
    }
    is_here_.resize(gathers_.size());
  }

  void add(Compute compute, std::vector<int>& held) {
    int& gather = held[compute.unit];
    if (gather < 0) {
      gather = static_cast<int>(gathers_.size());
      gathers_.push_back({compute.unit, static_cast<int>(computes_.size()), was_gathered_[compute.unit]});
      was_gathered_[compute.unit] = true;
    }
    compute.gather = gather;
    if (compute.frees) gather = -1;
    computes_.push_back(compute);
    line_.compute_seconds += compute.seconds;
  }

  /// Whether the next gather may be issued now.
  bool allowed(const Gather& gather) const {
    const UnitTimes& unit = units_[gather.unit];
    if (gather.compute - done_ > rules_.prefetch) return false;
    if (is_held_[gather.unit]) return false;  // still gathered for an earlier computation
    if (unit.kept) return true;
    switch (rules_.free_after_forward ? rules_.limiter.kind : Limiter::Kind::off) {
      case Limiter::Kind::off: return true;
      case Limiter::Kind::block: return counted_ % rules_.limiter.gathers != 0 || gathered_ == 0;
      case Limiter::Kind::sliding:
        return gathered_ == 0 || ((rules_.limiter.gathers == 0 || gathered_ < rules_.limiter.gathers) &&
                                  (rules_.limiter.bytes == 0 ||
                                   gathered_bytes_ + unit.parameter_bytes <= rules_.limiter.bytes));
      case Limiter::Kind::stall: return is_idle();
    }
    return true;
  }

  bool is_idle() const {
    for (const Links& links : links_)
      if (links.busy || !links.queue.empty()) return false;
    return gathered_ == 0;
  }

  bool admit() {
    if (issued_ == gathers_.size() || !allowed(gathers_[issued_])) return false;
    const Gather& gather = gathers_[issued_++];
    const UnitTimes& unit = units_[gather.unit];
    is_held_[gather.unit] = true;
    hold(unit.parameter_bytes);
    if (!unit.kept) {
      ++counted_;
      line_.most_gathered = std::max(line_.most_gathered, ++gathered_);
      gathered_bytes_ += unit.parameter_bytes;
    }
    enter({.unit = gather.unit, .gather = static_cast<int>(issued_) - 1, .wake = rules_.contention.wake});
    return true;
  }

  /// Moves the operation to the next links that it needs, or ends it.
  void enter(Operation operation) {
    const UnitTimes& unit = units_[operation.unit];
    const bool is_gather = operation.gather >= 0;
    const bool again = is_gather && gathers_[operation.gather].again && unit.gather_again;
    const Transfer& transfer = !is_gather ? unit.reduce : again ? *unit.gather_again : unit.gather;
    while (++operation.stage < 2) {
      operation.length = operation.left = operation.stage == 0 ? transfer.inside : transfer.between;
      if (operation.length <= 0) continue;
      links_[operation.stage].queue.push_back(operation);
      return;
    }
    if (is_gather) {
      is_here_[operation.gather] = true;
    } else {
      --reducing_;
      hold(-unit.gradient_bytes);
    }
  }

  /// Computing starts first: what is queued at the same time is carried by threads that have to wake up.
  bool start() {
    bool started = false;
    if (!computing_ && can_compute()) {
      computing_ = started = true;
      left_ = computes_[done_].seconds;
      if (computes_[done_].reduces) {
        ++reducing_;
        hold(units_[computes_[done_].unit].gradient_bytes);
      }
    }
    for (Links& links : links_) {
      if (links.busy || links.queue.empty()) continue;
      links.running = links.queue.front();
      links.queue.pop_front();
      links.busy = started = true;
      if (!computing_) links.running.wake = 0;
    }
    return started;
  }

  bool can_compute() const {
    if (done_ == static_cast<int>(computes_.size())) return false;
    const Compute& next = computes_[done_];
    const bool has_room = rules_.reductions == 0 || !rules_.reduce_each || reducing_ < rules_.reductions;
    return is_here_[next.gather] && (has_room || !next.reduces);
  }

  double computing_speed() const {
    return links_[0].carries() || links_[1].carries() ? 1 - rules_.contention.computing : 1;
  }
  double transfer_speed() const { return computing_ ? 1 - rules_.contention.transfers : 1; }

  /// Seconds until the next operation begins or ends or a computation ends; negative if nothing runs.
  double next_event() const {
    double step = computing_ ? left_ / computing_speed() : -1;
    for (const Links& links : links_) {
      const double end = links.carries() ? links.running.left / transfer_speed() : links.running.wake;
      if (links.busy && (step < 0 || end < step)) step = end;
    }
    return step;
  }

  void advance(double step) {
    const double computed = step * computing_speed();
    const double transferred = step * transfer_speed();
    line_.seconds += step;
    for (Links& links : links_) {
      if (!links.busy) continue;
      if (!links.carries()) {
        links.running.wake -= step;
        if (links.running.wake <= kRounding * rules_.contention.wake) links.running.wake = 0;
        continue;
      }
      links.seconds += step;
      links.running.left -= transferred;
      if (links.running.left > kRounding * links.running.length) continue;
      links.busy = false;
      enter(links.running);
    }
    if (!computing_) return;
    left_ -= computed;
    if (left_ <= kRounding * computes_[done_].seconds) finish();
  }

  void finish() {
    const Compute& compute = computes_[done_++];
    const UnitTimes& unit = units_[compute.unit];
    computing_ = false;
    if (compute.frees) {
      is_held_[compute.unit] = false;
      hold(-unit.parameter_bytes);
      if (!unit.kept) {
        --gathered_;
        gathered_bytes_ -= unit.parameter_bytes;
      }
    }
    if (compute.reduces) enter({.unit = compute.unit, .wake = rules_.contention.wake});
  }

  void hold(double bytes) {
    bytes_ += bytes;
    line_.peak_bytes = std::max(line_.peak_bytes, bytes_);
  }

  const std::vector<UnitTimes>& units_;
  const Rules& rules_;
  std::vector<Compute> computes_;
  std::vector<Gather> gathers_;
  std::vector<bool> was_gathered_;  ///< index: unit; whether the list has a gather of it
  std::vector<bool> is_here_;       ///< whether each gather has arrived
  std::vector<bool> is_held_ = std::vector<bool>(units_.size());
  std::array<Links, 2> links_;
  Timeline line_;
  size_t issued_ = 0;  ///< number of gathers issued
  int counted_ = 0;    ///< number of gathers issued, without kept units
  int gathered_ = 0;   ///< number of units gathered, without kept ones
  double gathered_bytes_ = 0;
  int reducing_ = 0;  ///< number of units whose gradients are whole, or are being reduced
  int done_ = 0;      ///< number of computations done
  bool computing_ = false;
  double left_ = 0;  ///< seconds left of the current computation, at full speed
  double bytes_ = 0;
};

}  // namespace

Timeline run(const std::vector<UnitTimes>& units, const Rules& rules) {
  return Simulation(units, rules).run();
}

}  // namespace weir::trainer::plan
