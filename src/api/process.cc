// SPDX-License-Identifier: Apache-2.0

#include "src/api/process.h"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "src/api/handle.h"
#include "src/api/ras.h"
#include "src/base/error_log.h"
#include "src/base/host.h"
#include "src/base/log.h"
#include "src/base/process_id.h"
#include "src/core/communicator/process_plugins.h"

namespace weir::api {

namespace {

constinit std::mutex making;
constinit std::atomic<core::Runtime*> current{nullptr};
/// The parent's runtime, in a forked child: it cannot be destroyed without its threads. Kept reachable, so
/// that it is not reported as a leak.
constinit std::atomic<core::Runtime*> inherited{nullptr};

/// What ncclSetEncryption has said; guarded by `making`, which is held across a fork: a child asks for the
/// same.
std::optional<TlsSettings>& asked_encryption() {
  static auto* const asked = new std::optional<TlsSettings>();  // never destroyed, as the runtime
  return *asked;
}

/// Joins the threads of ended roots at the end of the process.
void tidy_roots() {
  if (core::Runtime* const runtime = current.load()) runtime->roots().tidy();
}

/// A forked child has the memory of its parent, but not its threads: the child does not use the parent's
/// objects, and makes its own.
void prepare_fork() {
  making.lock();
  lifecycle_mutex.lock();
  if (core::Runtime* const runtime = current.load()) runtime->roots().pause();
}
void go_on_in_parent() {
  if (core::Runtime* const runtime = current.load()) runtime->roots().resume();
  lifecycle_mutex.unlock();
  making.unlock();
}
void begin_in_child() {
  orphan_handles();
  forget_ras_server();
  forget_announced_parent();
  go_on_in_parent();
  inherited.store(current.exchange(nullptr));
}

core::Runtime& make_runtime() {
  const std::scoped_lock lock(making);
  if (core::Runtime* const made = current.load()) return *made;
  Options options = core::read_options(WEIR_VERSION);
  configure_log(options.log);
  static const bool kOnce = [] {
    std::atexit(tidy_roots);
    return pthread_atfork(prepare_fork, go_on_in_parent, begin_in_child) == 0;
  }();
  (void)kOnce;
  auto* const runtime = new core::Runtime(std::move(options));
  runtime->set_encryption(asked_encryption());
  current.store(runtime, std::memory_order_release);
  return *runtime;
}

}  // namespace

/// Never destroyed, as an application's threads may outlive static destructors.
core::Runtime& runtime() {
  if (core::Runtime* const made = current.load(std::memory_order_acquire)) [[likely]]
    return *made;
  return make_runtime();
}

void set_encryption(std::optional<TlsSettings> settings) {
  core::Runtime& made = runtime();
  const std::scoped_lock lock(making);
  made.set_encryption(settings);
  asked_encryption() = std::move(settings);
}

void say_version() {
  static std::once_flag said;
  std::call_once(said, [] {
    const Options& options = runtime().options();
    if (!options.pretended.empty())
      log_version(fmt::format("weir PRETENDS to run on {} (WEIR_PRETEND): times are simulated, not measured",
                              options.pretended));
    const int64_t code = options.nccl_version;
    log_version(fmt::format("NCCL version {}.{}.{}+weir{}", code / 10000, code / 100 % 100, code % 100,
                            WEIR_VERSION));
    WEIR_INFO(init, "weir {} was loaded from {}", WEIR_VERSION, own_file());
    log_notes(options);
  });
}

ncclResult_t report_error(const Status& status) noexcept {
  (void)guarded([&] {
    runtime();  // the log must be configured before its first line
    if (status.code() != Code::in_progress) log_error(status.message());
    return Status();
  });
  return static_cast<ncclResult_t>(status.code());
}

Status null_argument(const char* function, std::string_view argument) {
  return {Code::invalid_argument, fmt::format("{} : {} argument is NULL", function, argument)};
}

Status not_offered(const char* function, const char* instead) {
  return {Code::invalid_usage,
          fmt::format("{} is not offered by weir {}: {}", function, WEIR_VERSION, instead)};
}

}  // namespace weir::api
