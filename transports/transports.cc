#include "transports/transports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "transports/cma.h"
#include "transports/loop.h"
#include "transports/shm.h"
#include "transports/tcp.h"
#include "transports/verbs.h"

namespace weir {
namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<Transport> (*make)(const TransportContext& context, const Options& options);
};

std::unique_ptr<Transport> loop(const TransportContext& context, const Options&) {
  return make_loop(context.self, context.home, context.local_homes);
}

std::unique_ptr<Transport> shm(const TransportContext& context, const Options& options) {
  return make_shm(context.self, context.home, options.shm_disable);
}

std::unique_ptr<Transport> cma(const TransportContext& context, const Options&) {
  return make_cma(context.self);
}

std::unique_ptr<Transport> verbs(const TransportContext& context, const Options& options) {
  return make_verbs(context.self, context.door, drivers::load_verbs(), options);
}

std::unique_ptr<Transport> tcp(const TransportContext& context, const Options& options) {
  return make_tcp(context.self, context.door,
                  {.streams = static_cast<uint32_t>(options.sockets_per_channel),
                   .path_timeout_s = options.path_timeout_s});
}

/// The preferred one first.
constexpr std::array kKinds = {
    Kind{"loop", loop}, Kind{"shm", shm}, Kind{"cma", cma}, Kind{"verbs", verbs}, Kind{"tcp", tcp},
};

std::string known_names() {
  std::string names;
  for (const Kind& kind : kKinds) names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  return names;
}

/// The words of a list with commas; spaces around them do not count.
std::set<std::string> words_of(std::string_view list) {
  std::set<std::string> words;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    const size_t first = item.find_first_not_of(' ');
    if (first == std::string_view::npos) continue;
    words.emplace(item.substr(first, item.find_last_not_of(' ') - first + 1));
  }
  return words;
}

}  // namespace

Result<std::vector<std::unique_ptr<Transport>>> make_transports(const TransportContext& context,
                                                                const Options& options) {
  std::set<std::string> wanted = words_of(options.transports);
  if (wanted.empty()) {
    return Status(Code::invalid_argument,
                  fmt::format("WEIR_TRANSPORTS=\"{}\" names no transport; known are {}", options.transports,
                              known_names()));
  }
  std::vector<std::unique_ptr<Transport>> transports;
  for (const Kind& kind : kKinds) {
    if (wanted.erase(std::string(kind.name)) > 0) transports.push_back(kind.make(context, options));
  }
  if (!wanted.empty()) {
    return Status(Code::invalid_argument,
                  fmt::format("WEIR_TRANSPORTS=\"{}\" names \"{}\"; known transports are {}",
                              options.transports, *wanted.begin(), known_names()));
  }
  return transports;
}

}  // namespace weir
