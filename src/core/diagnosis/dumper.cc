// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/dumper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "src/base/exception.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/output_file.h"
#include "src/base/service_thread.h"
#include "src/core/diagnosis/process_report.h"

namespace weir::core {
namespace {

/// The handler's only data. Never destroyed, as a signal may arrive at any time.
sem_t wanted;
/// The process whose thread serves the signal; 0: none. A forked child inherits the handler, but no thread.
std::atomic<pid_t> taken_by{0};

constexpr const char* kDefaultPattern = "weir-%h-%p.json";

void on_signal(int) {
  const int before = errno;
  ::sem_post(&wanted);
  errno = before;
}

std::string path_of(const std::string& pattern) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (pattern[i] != '%' || (next != 'h' && next != 'p')) {
      path += pattern[i];
      continue;
    }
    path += next == 'h' ? short_hostname() : std::to_string(getpid());
    ++i;
  }
  return path;
}

/// The file that becomes the one at `path` when it is complete.
std::string path_beside(const std::string& path) { return fmt::format("{}.{}.new", path, getpid()); }

/// Writes a new file that only the own user may read; false with errno set if it is there, or cannot be
/// written. The folder may be one in which everybody makes files.
bool write_privately(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    text.remove_prefix(static_cast<size_t>(written));
  }
  const int error = errno;
  const bool closed = ::close(fd) == 0;
  if (!text.empty()) errno = error;
  return closed && text.empty();
}

}  // namespace

Dumper::Dumper(const Options& options, const ActivityRegistry& activities, uint64_t host)
    : activities_(activities), host_(host), pattern_(options.dump_file) {
  const bool writes_here = pattern_.empty() && options.dump_signal > 0;
  if (!pattern_.empty() || writes_here) {
    const Status possible = try_output_file(path_beside(path_of(writes_here ? kDefaultPattern : pattern_)));
    if (!possible.ok())
      WEIR_WARN("{}: {}", writes_here ? "WEIR_DUMP_SIGNAL" : "WEIR_DUMP_FILE", possible.message());
  }
  if (options.dump_signal > 0) listen(static_cast<int>(options.dump_signal));
}

Dumper::~Dumper() {
  if (signal_ == 0) return;
  ::signal(signal_, SIG_DFL);
  stop_.store(true);
  ::sem_post(&wanted);
  if (thread_.joinable()) thread_.join();
  ::sem_destroy(&wanted);
  taken_by.store(0);
}

void Dumper::listen(int signal) {
  struct sigaction now = {};
  if (::sigaction(signal, nullptr, &now) != 0) {
    WEIR_WARN("WEIR_DUMP_SIGNAL: signal {} cannot be handled: {}", signal, std::strerror(errno));
    return;
  }
  const bool inherited = now.sa_handler == on_signal && taken_by.load() != getpid();
  const bool handled = (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL;
  if ((handled && !inherited) || taken_by.exchange(getpid()) == getpid()) {
    WEIR_WARN("WEIR_DUMP_SIGNAL: ignoring signal {} ({}): the program already handles it", signal,
              strsignal(signal));
    return;
  }
  ::sem_init(&wanted, 0, 0);
  struct sigaction own = {};
  own.sa_handler = on_signal;
  own.sa_flags = SA_RESTART | SA_ONSTACK;  // compiled code may use the stack pointer for its data
  ::sigemptyset(&own.sa_mask);
  if (::sigaction(signal, &own, nullptr) != 0) {
    WEIR_WARN("WEIR_DUMP_SIGNAL: signal {} cannot be handled: {}", signal, std::strerror(errno));
    taken_by.store(0);
    return;
  }
  auto thread = start_thread(
      "weir dump", [this] { serve(); }, [](const Status&) {});
  if (!thread.ok()) {
    WEIR_WARN("WEIR_DUMP_SIGNAL: signal {} is not handled: {}", signal, thread.status().message());
    ::signal(signal, SIG_DFL);
    ::sem_destroy(&wanted);
    taken_by.store(0);
    return;
  }
  signal_ = signal;
  thread_ = std::move(*thread);
}

/// The thread that writes the files, which a signal handler must not do.
void Dumper::serve() {
  for (;;) {
    while (::sem_wait(&wanted) != 0) {
    }
    if (stop_.load()) return;
    const Status written = guarded([this] { return write(pattern_.empty() ? kDefaultPattern : pattern_); });
    if (!written.ok()) WEIR_WARN("WEIR_DUMP_SIGNAL: {}", written.message());
  }
}

Status Dumper::write(const std::string& pattern) {
  const std::lock_guard lock(mutex_);
  const std::string path = path_of(pattern);
  const std::string beside = path_beside(path);
  std::remove(beside.c_str());
  if (!write_privately(beside, to_json(report_of(activities_, host_)) + '\n') ||
      std::rename(beside.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(beside.c_str());
    return {Code::system_error, fmt::format("{} cannot be written: {}", path, std::strerror(error))};
  }
  WEIR_INFO(init, "wrote the report of this process to {}", path);
  return {};
}

void Dumper::note_failure() {
  if (pattern_.empty()) return;
  if (const Status written = write(pattern_); !written.ok())
    WEIR_WARN("WEIR_DUMP_FILE: {}", written.message());
}

}  // namespace weir::core
