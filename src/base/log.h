// SPDX-License-Identifier: Apache-2.0
/// Log lines in NCCL's formats, and the text of the last error. Process-wide and thread-safe.
///
///     INFO     host:pid:tid [0] NCCL INFO text
///     WARN     an empty line, then [2026-01-02 03:04:05] host:pid:tid [0] file:line NCCL WARN text
///     TRACE    host:pid:tid [0] 12.345 function:line NCCL TRACE text
///     CALL     host:pid:tid NCCL CALL text
///     VERSION  text
///
/// The number in a TRACE line is the time in ms since the log was set up; CALL lines are printed at level
/// TRACE. A log statement whose level or subsystem is off costs one load and a branch; its arguments are not
/// evaluated. Errors are logged at WARN, too, and become the last error (error_log.h). Nothing is printed
/// before configure_log().
/// Tests: tests/base/log_test.cc
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

enum class LogLevel : uint8_t { none, version, warn, info, abort, trace };

/// NCCL's subsystems, by their names in NCCL_DEBUG_SUBSYS.
enum class Subsystem : uint8_t {
  init,
  coll,
  p2p,
  shm,
  net,
  graph,
  tuning,
  env,
  alloc,
  call,
  proxy,
  nvls,
  bootstrap,
  reg,
  profile,
  ras,
};

/// The values of NCCL_DEBUG, NCCL_DEBUG_SUBSYS, ...; empty means unset.
struct LogSettings {
  std::string level;
  std::string subsystems;
  std::string file;
  std::string timestamp_format;
  std::string timestamp_levels;
};

/// Applies the settings at once; may be called again. Words that are not understood are ignored and named in
/// a WARN line.
void configure_log(const LogSettings& settings);
LogLevel log_level();

/// The text of the last error, at most 1023 bytes; empty if there was none. The pointer stays valid, with
/// the same text, until the calling thread calls this again or ends.
const char* last_error();

namespace log_detail {

extern std::atomic<uint32_t> info_mask;  // a set bit: INFO lines of that subsystem are printed
extern std::atomic<uint32_t> trace_mask;

inline bool on(const std::atomic<uint32_t>& mask, Subsystem subsystem) {
  return (mask.load(std::memory_order_relaxed) >> static_cast<int>(subsystem) & 1) != 0;
}

void warn(std::string_view file, int line, std::string_view text);
void info(std::string_view text);
void trace(std::string_view function, int line, std::string_view text);
void call(std::string_view text);

}  // namespace log_detail

/// Prints the line with the library's version, if NCCL_DEBUG is set to any level.
void log_version(std::string_view text);

}  // namespace weir

#define WEIR_WARN(...) ::weir::log_detail::warn(__FILE__, __LINE__, ::fmt::format(__VA_ARGS__))
#define WEIR_INFO(subsystem, ...)                                                                         \
  do {                                                                                                    \
    if (::weir::log_detail::on(::weir::log_detail::info_mask, ::weir::Subsystem::subsystem)) [[unlikely]] \
      ::weir::log_detail::info(::fmt::format(__VA_ARGS__));                                               \
  } while (false)
#define WEIR_TRACE(subsystem, ...)                                                                         \
  do {                                                                                                     \
    if (::weir::log_detail::on(::weir::log_detail::trace_mask, ::weir::Subsystem::subsystem)) [[unlikely]] \
      ::weir::log_detail::trace(__func__, __LINE__, ::fmt::format(__VA_ARGS__));                           \
  } while (false)
#define WEIR_CALL(...)                                                                                \
  do {                                                                                                \
    if (::weir::log_detail::on(::weir::log_detail::trace_mask, ::weir::Subsystem::call)) [[unlikely]] \
      ::weir::log_detail::call(::fmt::format(__VA_ARGS__));                                           \
  } while (false)
