// SPDX-License-Identifier: Apache-2.0

#include "src/cli/line_relay.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace weir::cli {
namespace {

constexpr size_t kLongest = 64 * 1024;

void write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t written = write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return;  // the reader has closed its end
    if (written > 0) at += static_cast<size_t>(written);
  }
}

}  // namespace

LineRelay::LineRelay(int from, int to, std::string prefix)
    : from_(from), to_(to), prefix_(std::move(prefix)) {}

LineRelay::LineRelay(LineRelay&& other) noexcept
    : from_(std::exchange(other.from_, -1)),
      to_(other.to_),
      prefix_(std::move(other.prefix_)),
      pending_(std::move(other.pending_)) {}

LineRelay::~LineRelay() {
  if (from_ >= 0) close(from_);
}

void LineRelay::pump() {
  char buffer[16 * 1024];
  ssize_t got = read(from_, buffer, sizeof(buffer));
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got > 0) pending_.append(buffer, static_cast<size_t>(got));
  write_lines(got <= 0 || pending_.size() > kLongest);
  if (got > 0) return;
  close(from_);
  from_ = -1;
}

void LineRelay::write_lines(bool everything) {
  std::string out;
  size_t begin = 0;
  for (size_t end; (end = pending_.find('\n', begin)) != std::string::npos; begin = end + 1)
    out += prefix_ + pending_.substr(begin, end + 1 - begin);
  pending_.erase(0, begin);
  if (everything && !pending_.empty()) {
    out += prefix_ + pending_ + "\n";
    pending_.clear();
  }
  write_all(to_, out);
}

}  // namespace weir::cli
