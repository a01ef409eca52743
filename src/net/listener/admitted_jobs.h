// SPDX-License-Identifier: Apache-2.0
/// The jobs whose processes a listener believes, with their secrets.
///
/// Thread-safe.
/// Tests: tests/net/listener_test.cc, tests/net/strangers_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "src/net/listener/listener_wire.h"
#include "src/net/tls/credentials.h"

namespace weir {

class AdmittedJobs {
 public:
  /// Two jobs may have the same key by chance; each keeps its secret.
  void admit(uint32_t job_key, const Credentials& credentials);
  /// The credentials with whose secret `hello` is proven; nullopt if no admitted job has such. Those of a
  /// reader of reports have the secret for reports. `listener` is the address at which the connection
  /// arrived.
  std::optional<Credentials> prover(const listener_wire::Hello& hello, const Challenge& asked,
                                    const SocketAddress& listener) const;

  /// What opens the reports of the processes of these jobs.
  std::vector<ReportAccess> report_access() const;

 private:
  mutable std::mutex mutex_;
  std::multimap<uint32_t, Credentials> known_;
};

}  // namespace weir
