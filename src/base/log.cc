// SPDX-License-Identifier: Apache-2.0

#include "src/base/log.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <mutex>

#include "src/base/clock.h"
#include "src/base/error_log.h"
#include "src/base/host.h"
#include "src/base/text.h"

namespace weir {
namespace log_detail {

std::atomic<uint32_t> info_mask{0};
std::atomic<uint32_t> trace_mask{0};

}  // namespace log_detail

namespace {

constexpr size_t kLastErrorBytes = 1024;
constexpr std::array<std::string_view, 6> kLevels = {"NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE"};
constexpr std::array<std::string_view, 16> kSubsystems = {
    "INIT",  "COLL", "P2P",   "SHM",  "NET",       "GRAPH", "TUNING",  "ENV",
    "ALLOC", "CALL", "PROXY", "NVLS", "BOOTSTRAP", "REG",   "PROFILE", "RAS"};
constexpr uint32_t kDefaultSubsystems = 1u << static_cast<int>(Subsystem::init) |
                                        1u << static_cast<int>(Subsystem::bootstrap) |
                                        1u << static_cast<int>(Subsystem::env);
constexpr std::string_view kDefaultFormat = "[%F %T] ";

/// Never destroyed: threads of the application may log while static objects are destroyed.
struct State {
  std::mutex mutex;
  std::atomic<LogLevel> level{LogLevel::none};
  FILE* file = nullptr;  // null: stdout
  std::string file_name;
  std::string format{kDefaultFormat};
  uint32_t stamped = 1u << static_cast<int>(LogLevel::warn);
  int64_t start_ns = now_ns();
  std::string host = short_hostname();
  std::string last_error;
};

State& state();
void lock() { state().mutex.lock(); }
void unlock() { state().mutex.unlock(); }

/// A child that is forked while another thread writes a line would find the mutex locked forever, so the
/// mutex is acquired before each fork and released after it.
State& state() {
  static State* const instance = [] {
    pthread_atfork(lock, unlock, unlock);
    return new State;
  }();
  return *instance;
}

template <size_t N>
int find_name(const std::array<std::string_view, N>& names, std::string_view word) {
  for (size_t i = 0; i < N; ++i) {
    if (equals_ignoring_case(names[i], word)) return static_cast<int>(i);
  }
  return -1;
}

/// Reads "A,B", "^A,B" (all but A and B) or "ALL" as a bit mask over names; unknown words are added to
/// `unknown`.
template <size_t N>
uint32_t read_mask(const std::array<std::string_view, N>& names, std::string_view text,
                   std::string& unknown) {
  const bool inverted = text.starts_with('^');
  if (inverted) text.remove_prefix(1);
  uint32_t mask = 0;
  for (const std::string_view word : split_list(text)) {
    const int index = find_name(names, word);
    if (index >= 0) {
      mask |= 1u << index;
    } else if (equals_ignoring_case(word, "ALL")) {
      mask = ~0u;
    } else {
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", word);
    }
  }
  return inverted ? ~mask : mask;
}

std::string expand_file_name(std::string_view pattern, const std::string& host) {
  std::string name;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (next == '\0') {
      name += pattern[i];
      continue;
    }
    ++i;
    if (next == 'h') {
      name += host;
    } else if (next == 'p') {
      name += std::to_string(getpid());
    } else if (next == '%') {
      name += '%';
    } else {
      name += {'%', next};
    }
  }
  return name;
}

/// As strftime, and %Nf (N = 1..9) is replaced by N digits of the fraction of the second.
std::string timestamp(std::string format) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  for (size_t at = 0; (at = format.find('%', at)) != std::string::npos; at += 2) {
    if (at + 2 < format.size() && format[at + 2] == 'f' && format[at + 1] >= '1' && format[at + 1] <= '9') {
      const auto digits = static_cast<size_t>(format[at + 1] - '0');
      format.replace(at, 3, fmt::format("{:09}", time.tv_nsec).substr(0, digits));
    }
  }
  tm local{};
  localtime_r(&time.tv_sec, &local);
  char text[256];
  return std::string(text, strftime(text, sizeof text, format.c_str(), &local));
}

std::string prefix(const State& log, LogLevel level) {
  const bool stamped = (log.stamped >> static_cast<int>(level) & 1) != 0;
  return fmt::format("{}{}:{}:{} ", stamped ? timestamp(log.format) : "", log.host, getpid(),
                     syscall(SYS_gettid));
}

/// REQUIRES: the mutex is held. Writes each line at once, through stdio, so that lines keep their order
/// relative to the application's own output.
void print(const State& log, const std::string& line) {
  FILE* const out = log.file != nullptr ? log.file : stdout;
  fwrite(line.data(), 1, line.size(), out);
  fflush(out);
}

void open_file(State& log, const std::string& pattern) {
  const std::string name = expand_file_name(pattern, log.host);
  if (name == log.file_name) return;
  FILE* const file = name.empty() ? nullptr : fopen(name.c_str(), "we");
  if (log.file != nullptr) fclose(log.file);
  log.file = file;
  log.file_name = file != nullptr ? name : "";
}

}  // namespace

void configure_log(const LogSettings& settings) {
  std::string unknown;
  State& log = state();
  {
    const std::lock_guard lock(log.mutex);
    const int level = settings.level.empty() ? 0 : find_name(kLevels, settings.level);
    if (level < 0) unknown = "NCCL_DEBUG=" + settings.level;
    log.level = static_cast<LogLevel>(std::max(level, 0));
    std::string words;
    const uint32_t subsystems =
        settings.subsystems.empty() ? kDefaultSubsystems : read_mask(kSubsystems, settings.subsystems, words);
    const uint32_t stamped = 1u << static_cast<int>(LogLevel::warn);
    log.stamped =
        settings.timestamp_levels.empty() ? stamped : read_mask(kLevels, settings.timestamp_levels, words);
    log.format = settings.timestamp_format.empty() ? kDefaultFormat : settings.timestamp_format;
    std::replace(log.format.begin(), log.format.end(), '_', ' ');
    if (!words.empty()) unknown += (unknown.empty() ? "" : ", ") + words;
    open_file(log, log.level > LogLevel::version ? settings.file : "");
    log_detail::info_mask = log.level >= LogLevel::info ? subsystems : 0;
    log_detail::trace_mask = log.level >= LogLevel::trace ? subsystems : 0;
    if (log.level > LogLevel::version && !settings.file.empty() && log.file == nullptr) {
      unknown += (unknown.empty() ? "" : ", ") +
                 fmt::format("NCCL_DEBUG_FILE={} (cannot be written)", settings.file);
    }
  }
  if (!unknown.empty()) WEIR_WARN("ignoring log settings that are not understood: {}", unknown);
}

LogLevel log_level() { return state().level.load(std::memory_order_relaxed); }

const char* last_error() {
  thread_local std::array<char, kLastErrorBytes> copy;
  State& log = state();
  const std::lock_guard lock(log.mutex);
  copy[log.last_error.copy(copy.data(), kLastErrorBytes - 1)] = '\0';
  return copy.data();
}

void log_error(std::string_view sentence, const std::source_location& place) {
  {
    State& log = state();
    const std::lock_guard lock(log.mutex);
    log.last_error = sentence.substr(0, kLastErrorBytes - 1);
  }
  log_detail::warn(place.file_name(), static_cast<int>(place.line()), sentence);
}

void log_version(std::string_view text) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  if (log.level >= LogLevel::version) print(log, fmt::format("{}\n", text));
}

namespace log_detail {

void warn(std::string_view file, int line, std::string_view text) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  if (log.level < LogLevel::warn) return;
  const std::string_view base = file.substr(file.rfind('/') + 1);
  print(log, fmt::format("\n{}[0] {}:{} NCCL WARN {}\n", prefix(log, LogLevel::warn), base, line, text));
}

void info(std::string_view text) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  print(log, fmt::format("{}[0] NCCL INFO {}\n", prefix(log, LogLevel::info), text));
}

void trace(std::string_view function, int line, std::string_view text) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  const double ms = static_cast<double>(now_ns() - log.start_ns) / 1e6;
  print(log, fmt::format("{}[0] {:.3f} {}:{} NCCL TRACE {}\n", prefix(log, LogLevel::trace), ms, function,
                         line, text));
}

void call(std::string_view text) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  print(log, fmt::format("{}NCCL CALL {}\n", prefix(log, LogLevel::trace), text));
}

}  // namespace log_detail
}  // namespace weir
