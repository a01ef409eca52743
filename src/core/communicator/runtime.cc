// SPDX-License-Identifier: Apache-2.0

#include "src/core/communicator/runtime.h"

#include <random>

#include "src/base/doorbell.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/core/bootstrap/job_secret.h"
#include "src/core/channels/credit.h"
#include "src/core/diagnosis/process_report.h"
#include "src/device/preloaded_heap.h"
#include "src/drivers/profiler.h"
#include "src/net/listener/report_readers.h"

namespace weir::core {
namespace {

/// Logs which interfaces carry data over sockets, in NCCL's format, and why others do not.
void log_rails(const InterfaceChoice& choice, const Advertisement& advertised) {
  std::string used = fmt::format("[0]{}:{}<0>", choice.interface.name, choice.interface.address.host_text());
  for (size_t i = 0; i < choice.rails.size(); ++i) {
    const Interface& rail = choice.rails[i];
    used += fmt::format(" [{}]{}:{}<0>", i + 1, rail.name, rail.address.host_text());
  }
  WEIR_INFO(net, "NET/Socket : Using {}", used);
  for (size_t i = 0; i < advertised.count(); ++i) {  // the list counts on the order of interfaces
    const Interface& used_one = i == 0 ? choice.interface : choice.rails[i - 1];
    WEIR_INFO(net, "NET/Socket : Advertising {} ({}) as {}", used_one.name, used_one.address.host_text(),
              advertised.of(i, used_one.address).host_text());
  }
  for (const std::string& sentence : choice.left_out) WEIR_INFO(net, "NET/Socket : Not using {}", sentence);
}

/// Leaves out the rails for which nothing is advertised: other hosts do not reach them.
Status advertise(InterfaceChoice& choice, const std::string& text, size_t count) {
  if (count == 0) return {};
  if (count > choice.rails.size() + 1) {
    std::string used = choice.interface.name;
    for (const Interface& rail : choice.rails) used += ", " + rail.name;
    return Status(
        Code::invalid_argument,
        fmt::format("WEIR_ADVERTISE={} has {} addresses, but this process listens on {} ({}); expected "
                    "at most one for each (NCCL_SOCKET_IFNAME selects them)",
                    text, count, choice.rails.empty() ? "one interface" : "fewer interfaces", used));
  }
  for (size_t i = count - 1; i < choice.rails.size(); ++i)
    choice.left_out.push_back(fmt::format("{} ({}): WEIR_ADVERTISE={} has no address for it",
                                          choice.rails[i].name, choice.rails[i].address.host_text(), text));
  choice.rails.resize(count - 1);
  return {};
}

uint64_t random_number() {
  std::random_device source;
  return uint64_t{source()} << 32 | source();
}

}  // namespace

Runtime::Runtime(Options options)
    : options_(std::move(options)),
      host_(host_identity(options_.host_id)),
      local_host_(options_, host_),
      credit_(first_credit(options_)),
      activities_(static_cast<size_t>(options_.recorded)),
      dumper_(options_, activities_, host_),
      roots_(host_),
      kernels_(options_.gpu_kernels),
      process_(random_number()) {
  prepare_doorbells();  // cheapest while the process has few threads
  if (const Status heap = device::adopt_preloaded_heap(memory_); !heap.ok()) WEIR_WARN("{}", heap.message());
}

Timeouts Runtime::timeouts() const {
  const auto ms = [](double seconds) { return static_cast<int64_t>(seconds * 1000); };
  return {ms(options_.init_timeout_s), ms(options_.peer_timeout_s),     ms(options_.stuck_timeout_s),
          ms(options_.init_timeout_s), ms(options_.deadlock_timeout_s), ms(options_.stuck_warning_s)};
}

Result<std::shared_ptr<const PretendedCluster>> Runtime::pretended_cluster() {
  const std::lock_guard lock(mutex_);
  if (pretended_cluster_) return *pretended_cluster_;
  std::shared_ptr<const PretendedCluster> cluster;
  if (!options_.pretended.empty()) {
    auto read = PretendedCluster::read(options_.pretended);
    if (!read.ok()) return *(pretended_cluster_ = read.status());
    if (!read->assumed().empty()) WEIR_INFO(graph, "WEIR_PRETEND: assumed: {}", read->assumed());
    cluster = std::make_shared<const PretendedCluster>(std::move(*read));
  }
  return *(pretended_cluster_ = std::move(cluster));
}

Result<Runtime::Place> Runtime::listen_at(const std::optional<SocketAddress>& reach) const {
  const auto ports = PortRange::parse(options_.ports);
  WEIR_TRY(ports.status());
  auto advertised = Advertisement::parse(options_.advertised, *ports);
  WEIR_TRY(advertised.status());
  auto choice = choose_interface({options_.socket_ifname, options_.socket_family, reach});
  WEIR_TRY(choice.status());
  WEIR_INFO(bootstrap, "Bootstrap: Using {}: {}", choice->interface.name, choice->why);
  if (reach)  // else it is only for the root: data come later
    for (const std::string& sentence : choice->doubts) WEIR_WARN("{}", sentence);
  WEIR_TRY(advertise(*choice, options_.advertised, advertised->count()));
  return Place{std::move(*choice), *ports, std::move(*advertised)};
}

Status Runtime::complete(UniqueId& id) const {
  if (options_.advertised.empty()) return {};
  const auto place = listen_at(std::nullopt);
  WEIR_TRY(place.status());
  if (!place->advertised.names(id.root)) return {};
  id.own = place->choice.interface.address;
  id.own.set_port(place->advertised.own_port(id.root));
  id.network = network_identity();
  return {};
}

Result<UniqueId> Runtime::make_unique_id() {
  return options_.comm_id.empty() ? new_id() : fixed_id(options_.comm_id);
}

Result<UniqueId> Runtime::fixed_id(const std::string& where) const {
  auto address = SocketAddress::parse(where);
  WEIR_TRY(address.status());
  auto secret = job_secret(options_.secret_file, secret_of_environment());
  WEIR_TRY(secret.status());
  const auto settings = encryption();
  WEIR_TRY(settings.status());
  const auto* const key = reinterpret_cast<const char*>(settings->secret.data());
  if (secret->is_public() && !settings->secret.empty())  // what the program has given to ncclSetEncryption
    secret = Secret::from_text({key, settings->secret.size()});
  if (secret->is_public()) warn_of_public_secret();
  return Roots::fixed_id(*address, *secret);
}

Result<UniqueId> Runtime::id_at(const std::string& where) const {
  auto id = fixed_id(where);
  WEIR_TRY(id.status());
  WEIR_TRY(credentials(id->secret).status());  // no encryption with a secret that everybody knows
  id->secret = id->secret.derive("an address beside that of the job");
  return id;
}

Result<UniqueId> Runtime::new_id() {
  std::optional<SocketAddress> reach;
  if (!options_.comm_id.empty()) {
    const auto address = SocketAddress::parse(options_.comm_id);
    WEIR_TRY(address.status());
    reach = *address;
  }
  const auto place = listen_at(reach);
  WEIR_TRY(place.status());
  const auto settings = encryption();
  WEIR_TRY(settings.status());
  return roots_.make_id(place->choice.interface.address, timeouts(), place->ports, *settings,
                        place->advertised);
}

Result<TlsSettings> Runtime::encryption() const {
  {
    const std::lock_guard lock(mutex_);
    if (encryption_) return *encryption_;
  }
  return TlsSettings::parse(options_.tls, options_.tls_certificate, options_.tls_key, options_.tls_authority);
}

Result<Credentials> Runtime::credentials(const Secret& secret) const {
  auto settings = encryption();
  WEIR_TRY(settings.status());
  return Credentials::make(secret, std::move(*settings));
}

void Runtime::set_encryption(std::optional<TlsSettings> settings) {
  const std::lock_guard lock(mutex_);
  encryption_ = std::move(settings);
}

Result<std::shared_ptr<Listener>> Runtime::listener(const SocketAddress& reach) {
  std::lock_guard lock(mutex_);
  if (std::shared_ptr<Listener> open = listener_.lock()) return open;
  const auto place = listen_at(reach);
  WEIR_TRY(place.status());
  log_rails(place->choice, place->advertised);
  std::vector<SocketAddress> addresses = {place->choice.interface.address};
  for (const Interface& rail : place->choice.rails) addresses.push_back(rail.address);
  const auto readers = parse_report_readers(options_.reports);
  WEIR_TRY(readers.status());
  // What all may read only some may change.
  const bool obeys = *readers == ReportReaders::user;
  const auto answer = [this, obeys](uint64_t scope, BytesView question) {
    if (scope == 0) {
      if (!is_report_question(question)) return Bytes();
      if (const auto mask = profiler_mask_of(question); mask && obeys) drivers::force_profiler_mask(*mask);
      return answer_report_question(activities_, host_, question);
    }
    return WindowRegistry::is_meant(question) ? windows_.answer(scope, question)
                                              : activities_.answer(scope, question);
  };
  auto opened = Listener::open(addresses, place->ports, answer, *readers, place->advertised);
  WEIR_TRY(opened.status());
  const std::shared_ptr<Listener> listener = std::move(*opened);
  listener_ = listener;
  return listener;
}

std::vector<ReportAccess> Runtime::report_access() const {
  std::shared_ptr<Listener> open;  // destroyed without the lock, if this is its last holder
  {
    const std::lock_guard lock(mutex_);
    open = listener_.lock();
  }
  return open ? open->report_access() : std::vector<ReportAccess>();
}

}  // namespace weir::core
