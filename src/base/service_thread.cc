// SPDX-License-Identifier: Apache-2.0

#include "src/base/service_thread.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <system_error>
#include <utility>

#include "src/base/exception.h"

namespace weir {
namespace {

/// Blocks all signals for the calling thread; threads that it starts meanwhile inherit that.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

std::string limit_text(__rlimit_resource resource, rlim_t divisor, const char* unit) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return fmt::format("{}{}", limit.rlim_cur / divisor, unit);
}

Status no_thread(const char* name, const std::error_code& why) {
  if (why == std::errc::operation_not_permitted)
    return Status::shortage(fmt::format(
        "this process cannot start its thread \"{}\": {}; a filter of system calls refuses it, as "
        "those of old container runtimes refuse clone3",
        name, why.message()));
  return Status::shortage(
      fmt::format("this process cannot start its thread \"{}\": {}; it needs more threads (ulimit -u is {}, "
                  "the control group has pids.max) or address space for their stacks (ulimit -v is {})",
                  name, why.message(), limit_text(RLIMIT_NPROC, 1, ""), limit_text(RLIMIT_AS, 1024, " KiB")));
}

void run(const std::function<void()>& body, const std::function<void(const Status&)>& failed) {
  (void)guarded(
      [&] {
        body();
        return Status();
      },
      failed);
}

}  // namespace

Result<std::thread> start_thread(const char* name, std::function<void()> body,
                                 std::function<void(const Status&)> failed) {
  const SignalsBlocked blocked;
  try {
    std::thread thread([body = std::move(body), failed = std::move(failed)] { run(body, failed); });
    pthread_setname_np(thread.native_handle(), name);
    return thread;
  } catch (const std::system_error& error) {
    return no_thread(name, error.code());
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace weir
