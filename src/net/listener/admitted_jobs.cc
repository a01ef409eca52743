// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/admitted_jobs.h"

#include <algorithm>

namespace weir {

Secret report_secret(const Secret& job) { return job.derive("reports"); }

void AdmittedJobs::admit(uint32_t job_key, const Secret& secret) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = secrets_.equal_range(job_key);
  const bool known = std::any_of(first, last, [&](const auto& entry) { return entry.second == secret; });
  if (!known) secrets_.emplace(job_key, secret);
}

std::optional<Secret> AdmittedJobs::prover(const listener_wire::Hello& hello, const Challenge& asked,
                                           const SocketAddress& listener) const {
  const bool reports = hello.kind == listener_wire::HelloKind::report;
  const std::lock_guard lock(mutex_);
  const auto [first, last] = secrets_.equal_range(hello.job_key());
  for (auto at = first; at != last; ++at) {
    const Secret secret = reports ? report_secret(at->second) : at->second;
    if (hello.is_proven(secret, asked, listener)) return secret;
  }
  return std::nullopt;
}

}  // namespace weir
