// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "trainer/shard/calls.h"
#include "weir/launched.h"

namespace weir::trainer {

Result<World> World::join(int order) {
  const Launched launched =
      find_launched([](const char* name) { return std::getenv(name); }).value_or(Launched());
  if (!launched.wrong.empty()) return Status(Code::invalid_argument, launched.wrong);
  if (launched.size > 1 && std::getenv("NCCL_COMM_ID") == nullptr)
    return Status(
        Code::invalid_argument,
        fmt::format("rank {} of {} has no NCCL_COMM_ID; expected \"host:port\" of the first rank, the same "
                    "for all (weir run sets it, mpirun passes it on with -x NCCL_COMM_ID)",
                    launched.rank, launched.size));
  ncclUniqueId id;
  WEIR_TRY(shard::checked(ncclGetUniqueId(&id), "making an id"));
  ncclComm_t comm = nullptr;
  weirConfig_t config = weirConfig();
  config.order = order;
  WEIR_TRY(shard::checked(ncclCommInitRankConfig(&comm, launched.size, id, launched.rank, &config.nccl),
                          "joining the ranks"));
  return World(comm, launched.rank, launched.size);
}

Result<std::string> World::order_of_sums() const {
  int order = weirOrderUnset;
  WEIR_TRY(shard::checked(weirCommOrder(comm_, &order), "the order of sums"));
  return std::string(order == weirOrderRanks ? "ranks" : order == weirOrderAny ? "any" : "run");
}

World::~World() {
  if (comm_ != nullptr) (void)ncclCommDestroy(comm_);
}

Status start_ranks(const Launch& launch, char** arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Status(Code::system_error, fmt::format("cannot find this program: {}", error.message()));
  const std::string launcher = self.parent_path() / "weir";
  std::vector<std::string> words = {"weir", "run", "--plain", "--grace", "0"};
  if (launch.ranks > 0) words.insert(words.end(), {"-n", std::to_string(launch.ranks)});
  if (!launch.hosts.empty()) words.insert(words.end(), {"--hosts", launch.hosts});
  if (launch.regroups) words.emplace_back("--keep-going");
  words.insert(words.end(), {"--", self.string()});
  for (char** word = arguments + 1; *word != nullptr; ++word) words.emplace_back(*word);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(launcher.c_str(), pointers.data());
  return Status(Code::system_error,
                fmt::format("--ranks and --hosts need the launcher {}: {}", launcher, std::strerror(errno)));
}

}  // namespace weir::trainer
