/// The control lines of a channel over several paths, one on each: whichever works says what there is to say.
/// For the tcp_*.cc files only.
///
/// Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transports/tcp_control.h"
#include "transports/tcp_wire.h"

namespace weir::tcp {

/// The sender's ends.
class SenderLines {
 public:
  /// A path that has answered nothing for `timeout_ns` while another has is silent.
  /// Lines that could not be made have ended.
  SenderLines(std::vector<Result<ControlLine>> lines, int64_t timeout_ns);

  /// Goes on with opening the line of a path. True once it works; false, too, if it has ended.
  bool ready(size_t path);
  /// Why the line of a path has ended; empty: it has not.
  const std::string& ended(size_t path) const { return lines_[path].ended; }
  /// Nothing is said or heard on this path any more.
  void leave(size_t path);
  /// Says that these streams bring nothing any more, one bit each.
  void tell_gone(uint64_t streams) { gone_ = streams; }

  /// Hears and says what there is. Never blocks.
  void serve();
  const Arrived& arrived() const { return arrived_; }
  /// Asks the kernels at the other ends of all paths for a sign of life, now and then, and returns the paths
  /// that have given none for too long while another has. Call it while something is due from the receiver.
  std::vector<size_t> silent(int64_t now);

 private:
  struct Line {
    std::unique_ptr<ControlLine> line;  // null: left, or ended
    std::string ended;
    uint64_t told_gone = 0;
    bool open = false;
    bool answered = false;  // since it was asked for a sign of life
  };

  void hear(Line& line);
  void ask(int64_t now);

  std::vector<Line> lines_;
  const int64_t timeout_ns_;
  Arrived arrived_;
  uint64_t gone_ = 0;
  bool asked_ = false;    ///< for signs of life, of which some are missing
  int64_t asked_ns_ = 0;  ///< when, the last time
};

/// The receiver's ends.
class ReceiverLines {
 public:
  /// `door` outlives it.
  ReceiverLines(Door& door, const std::vector<DeliveryKey>& keys);
  ~ReceiverLines();
  ReceiverLines(const ReceiverLines&) = delete;
  ReceiverLines& operator=(const ReceiverLines&) = delete;

  /// Hears what there is and says what has arrived, on each line once. Never blocks. False: a line had no
  /// room. Trouble of a line is none of the channel's.
  bool serve(const Arrived& arrived);
  size_t size() const { return lines_.size(); }
  /// True once the line of a path has come.
  bool ready(size_t path) { return lines_[path].listener.line() != nullptr; }
  /// Streams that bring nothing any more, one bit each.
  uint64_t gone() const { return gone_; }

 private:
  struct Line {
    ControlListener listener;
    uint64_t told = 0;
  };

  void hear(Line& line, ControlLine& open);

  std::vector<Line> lines_;
  uint64_t gone_ = 0;
};

}  // namespace weir::tcp
