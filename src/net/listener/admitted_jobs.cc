// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/admitted_jobs.h"

#include <algorithm>

#include "src/net/advertised.h"

namespace weir {

Secret report_secret(const Secret& job) { return job.derive("reports"); }

void AdmittedJobs::admit(uint32_t job_key, const Credentials& credentials) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = known_.equal_range(job_key);
  const auto known =
      std::find_if(first, last, [&](const auto& entry) { return entry.second.secret == credentials.secret; });
  if (known == last)
    known_.emplace(job_key, credentials);
  else
    known->second = credentials;
}

std::vector<ReportAccess> AdmittedJobs::report_access() const {
  const std::lock_guard lock(mutex_);
  std::vector<ReportAccess> out;
  for (const auto& [job_key, credentials] : known_)
    out.push_back({job_key, report_secret(credentials.secret)});
  return out;
}

std::optional<Credentials> AdmittedJobs::prover(const listener_wire::Hello& hello, const Challenge& asked,
                                                const SocketAddress& listener) const {
  const bool reports = hello.kind == listener_wire::HelloKind::report;
  const SocketAddress own = own_address_of(listener);  // as processes of this network namespace see it
  const std::lock_guard lock(mutex_);
  const auto [first, last] = known_.equal_range(hello.job_key());
  for (auto at = first; at != last; ++at) {
    // A reader of reports has no key for TLS, and nothing of an encrypted job goes over a network in the
    // clear.
    if (reports && at->second.tls != nullptr) continue;
    const Secret secret = reports ? report_secret(at->second.secret) : at->second.secret;
    const bool proven =
        hello.is_proven(secret, asked, listener) || (own != listener && hello.is_proven(secret, asked, own));
    if (proven) return Credentials(secret, at->second.tls);
  }
  return std::nullopt;
}

}  // namespace weir
