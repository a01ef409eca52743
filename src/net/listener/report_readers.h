// SPDX-License-Identifier: Apache-2.0
/// Who may read the reports of a process (WEIR_REPORTS).
///
/// Thread-safe. Nothing blocks.
/// Tests: tests/net/report_readers_test.cc
#pragma once

#include <cstdint>
#include <string_view>

#include "src/base/status.h"
#include "src/net/socket.h"

namespace weir {

enum class ReportReaders : uint8_t {
  nobody,
  user,  ///< the user of the process and root on its host, and from elsewhere who has a secret of its jobs
  everybody,
};

/// Parses "off", "user" or "all"; invalid_argument for all else.
Result<ReportReaders> parse_report_readers(std::string_view text);

/// Whether the process at the other end of `socket` may read reports; `proven`: it has shown a secret for
/// them.
bool may_read_reports(ReportReaders readers, const Socket& socket, bool proven);
/// Whether `socket` is a local one of the user of this process or root, who may also know what opens the
/// reports of the other processes of a job.
bool is_own_reader(const Socket& socket);

}  // namespace weir
