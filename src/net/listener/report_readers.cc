// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/report_readers.h"

#include <fmt/format.h>

#include "src/base/printable.h"
#include "src/net/peer_process.h"

namespace weir {

Result<ReportReaders> parse_report_readers(std::string_view text) {
  if (text == "off") return ReportReaders::nobody;
  if (text == "user") return ReportReaders::user;
  if (text == "all") return ReportReaders::everybody;
  return Status(Code::invalid_argument,
                fmt::format("WEIR_REPORTS is \"{}\"; expected off, user or all", printable(text)));
}

bool is_own_reader(const Socket& socket) {
  const auto peer = peer_process(socket);
  return peer && is_own_user_or_root(peer->uid);
}

bool may_read_reports(ReportReaders readers, const Socket& socket, bool proven) {
  switch (readers) {
    case ReportReaders::nobody: return false;
    case ReportReaders::everybody: return true;
    case ReportReaders::user: break;
  }
  const auto local = peer_process(socket);
  return local ? is_own_user_or_root(local->uid) : proven;
}

}  // namespace weir
