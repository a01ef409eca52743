// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/local_reports.h"

#include <fmt/format.h>

#include <memory>

#include "src/net/listener/inquiry.h"

namespace weir {
namespace {

OutgoingConnection::Connect connect_to(const LocalReportSource& source) {
  return [source]() -> Result<std::optional<Socket>> {
    auto socket = connect_locally(source.entry);
    WEIR_TRY(socket.status());
    if (socket->has_value() && peer_process(**socket) != source.owner) {
      return Status(Code::remote_error,
                    fmt::format("process {} is registered by another process now", source.entry.pid));
    }
    return socket;
  };
}

}  // namespace

std::vector<Answer> ask_locally(std::span<const LocalReportSource> sources, BytesView question,
                                const Deadline& deadline) {
  std::vector<std::unique_ptr<Inquiry>> inquiries;
  for (const LocalReportSource& source : sources) {
    inquiries.push_back(std::make_unique<Inquiry>(source.entry.listener, connect_to(source), question));
    inquiries.back()->limit(source.most);
  }
  return answers_of(std::move(inquiries), deadline);
}

}  // namespace weir
