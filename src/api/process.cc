#include "src/api/process.h"

#include <cstdlib>
#include <mutex>

#include "src/base/host.h"
#include "src/base/log.h"

namespace weir::api {

core::Runtime& runtime() {
  // Threads of the application may outlive static destructors, so this is never destroyed.
  static core::Runtime* const kRuntime = [] {
    Options options = Options::from_environment();
    configure_log(options.log);
    std::atexit([] { runtime().roots().tidy(); });  // their threads are joined, not left behind
    return new core::Runtime(std::move(options));
  }();
  return *kRuntime;
}

void say_version() {
  static std::once_flag said;
  std::call_once(said, [] {
    const Options& options = runtime().options();
    const int64_t code = options.nccl_version;
    log_version(fmt::format("NCCL version {}.{}.{}+weir{}", code / 10000, code / 100 % 100, code % 100,
                            WEIR_VERSION));
    WEIR_INFO(init, "weir {} answers, from {}", WEIR_VERSION, own_file());
    log_notes(options);
  });
}

ncclResult_t report_error(const Status& status) {
  runtime();  // the log must be configured before the first sentence
  if (status.code() != Code::in_progress) WEIR_WARN("{}", status.message());
  return static_cast<ncclResult_t>(status.code());
}

Status not_offered(const char* function, const char* instead) {
  return {Code::invalid_usage,
          fmt::format("{} is not offered by weir {}: {}", function, WEIR_VERSION, instead)};
}

}  // namespace weir::api
