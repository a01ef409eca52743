// SPDX-License-Identifier: Apache-2.0
/// The command line: nccl-tests' options, and a few additional ones.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/types.h"

namespace weir::perf {

enum class Average : int { rank_0 = 0, mean = 1, minimum = 2, maximum = 3 };

struct PerfOptions {
  int threads = 1;
  int gpus = 1;  ///< ranks per thread
  size_t min_bytes = size_t{32} << 20;
  size_t max_bytes = size_t{32} << 20;
  size_t step_bytes = size_t{1} << 20;
  int step_factor = 1;
  int iterations = 20;
  int warmup = 1;
  int aggregated = 1;
  int cycles = 1;  ///< number of times all sizes are run; 0: endless
  int parallel_init = 0;
  int checks = 1;
  std::vector<OpInfo> ops = {all_ops()[0]};
  std::vector<TypeInfo> types = {*find_type("float")};
  int root = 0;  ///< root rank; -1: each rank in turn
  int blocking = 0;
  int stream_null = 0;
  int timeout_s = 0;
  int graph = 0;
  int cpu_time = 0;
  int timestamps = 0;
  std::string output_file;
  Average average = Average::mean;
  int local_register = 0;
  std::optional<int> cta_policy;
  int device_implementation = 0;
  int device_ctas = 16;
  int memory = 0;
  int unalign = 0;
  int per_iteration = 0;
  int per_iteration_skip = 0;
  bool net_stats = false;
  bool limit = false;
  std::string device = "host";  ///< memory of the buffers: host, cuda or hip
  std::string allocator =
      "nccl";  ///< of the buffers: nccl (ncclMemAlloc), or system (malloc, the GPU's driver)

  int ranks = 0;              ///< number of processes to start; 0: a launcher has started them
  std::string bind = "auto";  ///< binding to cores: auto, core or none
};

/// Result of parsing: options, or a text to print and an exit code.
struct CommandLine {
  PerfOptions options;
  std::optional<int> exit_code;
  std::string text;
};

/// Parses the arguments like getopt_long. Not thread-safe.
CommandLine parse_command_line(int argc, char** argv);

/// Help text, one line per option.
std::string usage(const std::string& program);

}  // namespace weir::perf
