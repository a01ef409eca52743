// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/options.h"

#include <fmt/format.h>
#include <getopt.h>

#include <charconv>
#include <cstring>

#include "bench/perf/text.h"

namespace weir::perf {
namespace {

// Exit codes of nccl-tests: 0 for an invalid option, -1 for an invalid size.
constexpr int kExitBadOption = 0;
constexpr int kExitBadSize = 255;
constexpr int kExitUsage = 6;

/// Codes of getopt_long for options without a letter.
constexpr int kRanks = 256;
constexpr int kBind = 257;
constexpr int kAs = 258;
constexpr int kNetStats = 259;
constexpr int kDevice = 260;
constexpr int kLimit = 261;
constexpr int kVersion = 262;
constexpr int kAllocator = 263;

/// Stores the value, or returns a description of the expected value.
using Setter = std::optional<std::string> (*)(PerfOptions&, std::string_view text);

struct Row {
  int code;  ///< letter, or one of the codes above
  const char* name;
  const char* argument;  ///< null: the option has no argument
  const char* help;
  Setter set;
  bool is_size = false;
};

std::optional<std::string> read_int(std::string_view text, int lowest, int highest, int& into) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < lowest || number > highest)
    return highest == INT32_MAX ? fmt::format("an integer of at least {}", lowest)
                                : fmt::format("an integer from {} to {}", lowest, highest);
  into = number;
  return std::nullopt;
}

template <auto member, int lowest = 0, int highest = INT32_MAX>
std::optional<std::string> integer(PerfOptions& options, std::string_view text) {
  return read_int(text, lowest, highest, options.*member);
}

template <auto member>
std::optional<std::string> size(PerfOptions& options, std::string_view text) {
  std::optional<size_t> bytes = parse_size(text);
  if (!bytes) return "a number of bytes such as 64, 8K, 1.5M or 2G";
  options.*member = *bytes;
  return std::nullopt;
}

template <auto member>
std::optional<std::string> word(PerfOptions& options, std::string_view text) {
  options.*member = text;
  return std::nullopt;
}

template <typename Infos, typename Info>
std::optional<std::string> choose(std::string_view text, const Infos& all, std::vector<Info>& into) {
  std::string names;
  if (text == "all") {
    into.assign(all.begin(), all.end());
    return std::nullopt;
  }
  for (const Info& info : all) {
    if (text == info.name) {
      into = {info};
      return std::nullopt;
    }
    names += std::string(info.name) + " ";
  }
  return "one of: " + names + "all";
}

std::optional<std::string> op(PerfOptions& options, std::string_view text) {
  return choose(text, all_ops(), options.ops);
}

std::optional<std::string> datatype(PerfOptions& options, std::string_view text) {
  return choose(text, all_types(), options.types);
}

std::optional<std::string> average(PerfOptions& options, std::string_view text) {
  int number = 1;
  auto wrong = read_int(text, 0, 3, number);
  options.average = static_cast<Average>(number);
  return wrong;
}

std::optional<std::string> cta_policy(PerfOptions& options, std::string_view text) {
  return read_int(text, 0, 2, options.cta_policy.emplace());
}

std::optional<std::string> bind(PerfOptions& options, std::string_view text) {
  if (text != "auto" && text != "core" && text != "none") return "auto, core or none";
  options.bind = text;
  return std::nullopt;
}

std::optional<std::string> device(PerfOptions& options, std::string_view text) {
  if (text != "host" && text != "cuda" && text != "hip") return "host, cuda or hip";
  options.device = text;
  return std::nullopt;
}

std::optional<std::string> allocator(PerfOptions& options, std::string_view text) {
  if (text != "nccl" && text != "system") return "nccl or system";
  options.allocator = text;
  return std::nullopt;
}

std::optional<std::string> personality(PerfOptions&, std::string_view text) {
  if (text != "nccl-tests") return "nccl-tests";
  return std::nullopt;
}

std::optional<std::string> net_stats(PerfOptions& options, std::string_view) {
  options.net_stats = true;
  return std::nullopt;
}

std::optional<std::string> limit(PerfOptions& options, std::string_view) {
  options.limit = true;
  return std::nullopt;
}

using O = PerfOptions;
constexpr Row kRows[] = {
    {'t', "nthreads", "N", "threads per process (1)", integer<&O::threads, 1>},
    {'g', "ngpus", "N", "ranks per thread (1)", integer<&O::gpus, 1>},
    {'b', "minbytes", "SIZE", "first size (32M)", size<&O::min_bytes>, true},
    {'e', "maxbytes", "SIZE", "last size (32M)", size<&O::max_bytes>, true},
    {'i', "stepbytes", "SIZE", "increment from size to size (1M)", size<&O::step_bytes>, true},
    {'f', "stepfactor", "N", "factor from size to size, instead of stepbytes; 1: off (1)",
     integer<&O::step_factor, 1>},
    {'n', "iters", "N", "timed iterations (20)", integer<&O::iterations, 1>},
    {'w', "warmup_iters", "N", "warm-up iterations of all sizes before the first timed one (1)",
     integer<&O::warmup>},
    {'m', "agg_iters", "N", "operations grouped in one iteration (1)", integer<&O::aggregated, 1>},
    {'N', "run_cycles", "N", "number of times all sizes are run; 0: endless (1)", integer<&O::cycles>},
    {'p', "parallel_init", "0/1", "initialize communicators of all threads concurrently (0)",
     integer<&O::parallel_init, 0, 1>},
    {'c', "check", "N", "number of times each result is checked (1)", integer<&O::checks>},
    {'o', "op", "OP", "reduction: sum prod min max avg mulsum all (sum)", op},
    {'d', "datatype", "TYPE",
     "type: int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 f8e4m3 f8e5m2 all (float)",
     datatype},
    {'r', "root", "RANK", "root rank; -1: each rank in turn (0)", integer<&O::root, -1>},
    {'z', "blocking", "0..3",
     "after each operation: 1: wait and barrier, 2: wait, 3: wait and untimed barrier (0)",
     integer<&O::blocking, 0, 3>},
    {'y', "stream_null", "0/1", "use stream 0 of the GPU (0)", integer<&O::stream_null, 0, 1>},
    {'T', "timeout", "SECONDS", "abort after a wait of this long; 0: never (0)", integer<&O::timeout_s>},
    {'G', "cudagraph", "N", "capture the iterations as a graph and launch it N times; needs a GPU (0)",
     integer<&O::graph>},
    {'C', "report_cputime", "0/1", "report the time until the calls return (0)", integer<&O::cpu_time, 0, 1>},
    {'S', "report_timestamps", "0/1", "add a column with the time of day (0)", integer<&O::timestamps, 0, 1>},
    {'J', "output_file", "FILE.json", "also write the results as JSON to this file", word<&O::output_file>},
    {'a', "average", "0..3", "reported time: 0: rank 0, 1: mean, 2: minimum, 3: maximum of all ranks (1)",
     average},
    {'R', "local_register", "0..2", "register buffers: 1: locally, 2: as symmetric windows (0)",
     integer<&O::local_register, 0, 2>},
    {'x', "cta_policy", "0..2", "CTA policy of the communicators (unset)", cta_policy},
    {'D', "device_implementation", "N", "number of a device-side kernel; needs a GPU; 0: none (0)",
     integer<&O::device_implementation>},
    {'V', "device_cta_count", "N", "thread blocks of the device-side kernel (16)",
     integer<&O::device_ctas, 1, 128>},
    {'M', "memory", "0/1", "print the memory usage (0)", integer<&O::memory, 0, 1>},
    {'u', "unalign", "N", "shift the buffers by N elements (0)", integer<&O::unalign>},
    {'I', "per_iter_timing", "0/1", "time every iteration (0)", integer<&O::per_iteration, 0, 1>},
    {'K', "per_iter_skip", "N", "leading iterations that -I skips (0)", integer<&O::per_iteration_skip>},
    {'h', "help", nullptr, "print this help", nullptr},
    {kVersion, "version", nullptr, "print the version", nullptr},
    {kRanks, "ranks", "N", "start N processes on this machine", integer<&O::ranks, 1, 65536>},
    {kBind, "bind", "WHERE",
     "with --ranks: bind processes to cores: core, none, or auto (core if there are enough) (auto)", bind},
    {kNetStats, "net-stats", nullptr,
     "add columns with the network traffic of each row, and with what slowed it down", net_stats},
    {kDevice, "device", "WHERE",
     "memory of the buffers: host, cuda or hip; ranks use the GPUs round-robin (host)", device},
    {kAllocator, "allocator", "WHOSE",
     "allocator of the buffers: nccl (ncclMemAlloc, as nccl-tests), or system (malloc; on GPUs the driver's) "
     "(nccl)",
     allocator},
    {kLimit, "limit", nullptr,
     "add columns with the time limit from the GPUs' memory bandwidth, and the percentage reached", limit},
    {kAs, "as", "WHOM", "program whose options and columns are used: nccl-tests (nccl-tests)", personality},
};

std::string base_name(const std::string& program) { return program.substr(program.rfind('/') + 1); }

const Row* row_of(int code) {
  for (const Row& row : kRows)
    if (row.code == code) return &row;
  return nullptr;
}

CommandLine stop(int exit_code, std::string text) { return {{}, exit_code, std::move(text)}; }

CommandLine validated(CommandLine line) {
  PerfOptions& o = line.options;
  if (o.min_bytes > o.max_bytes)
    return stop(kExitBadSize, fmt::format("invalid sizes: minbytes {} is more than maxbytes {}\n",
                                          o.min_bytes, o.max_bytes));
  if (o.step_factor == 1 && o.step_bytes == 0 && o.min_bytes < o.max_bytes)
    return stop(kExitUsage, "stepbytes is 0 and stepfactor is 1: the sizes would never reach maxbytes\n");
  if (o.per_iteration && o.per_iteration_skip >= o.iterations)
    return stop(kExitUsage, fmt::format("per_iter_skip {} leaves none of the {} iterations\n",
                                        o.per_iteration_skip, o.iterations));
  if (o.device_implementation != 0 && o.local_register != 2)
    return stop(kExitUsage, "device_implementation needs symmetric memory: add -R 2\n");
  if (o.device != "host" && o.graph > 0 && o.stream_null)
    return stop(kExitUsage, "stream 0 cannot be captured: leave out -y or -G\n");
  if (o.device != "host" && o.graph > 0)
    o.per_iteration = o.blocking = 0;  // single operations of a graph cannot be timed
  if (o.local_register != 0 && o.allocator != "nccl")
    return stop(kExitUsage,
                "local_register needs buffers of ncclMemAlloc: leave out -R or --allocator system\n");
  if (o.device == "host" && o.limit)
    return stop(kExitUsage, "--limit measures the memory of GPUs: add --device cuda or --device hip\n");
  return line;
}

}  // namespace

CommandLine parse_command_line(int argc, char** argv) {
  const std::string program = argc > 0 ? argv[0] : "perf";
  std::string letters = ":";
  std::vector<option> longs;
  for (const Row& row : kRows) {
    longs.push_back({row.name, row.argument ? required_argument : no_argument, nullptr, row.code});
    if (row.code < 256) (letters += static_cast<char>(row.code)) += row.argument ? ":" : "";
  }
  longs.push_back({});

  CommandLine line;
  optind = 0;  // glibc: resets getopt
  for (int code; (code = getopt_long(argc, argv, letters.c_str(), longs.data(), nullptr)) != -1;) {
    if (code == '?' || code == ':')
      return stop(kExitBadOption, fmt::format("{} option '{}'\n{}", code == '?' ? "invalid" : "no value for",
                                              argv[optind - 1], usage(program)));
    if (code == 'h') return stop(0, usage(program));
    if (code == kVersion) return stop(0, fmt::format("{} of weir {}\n", base_name(program), WEIR_VERSION));
    const Row& row = *row_of(code);
    if (std::optional<std::string> expected = row.set(line.options, optarg != nullptr ? optarg : ""))
      return stop(row.is_size ? kExitBadSize : kExitUsage,
                  fmt::format("invalid value '{}' of --{}: expected {}\n", optarg, row.name, *expected));
  }
  if (optind < argc)
    return stop(kExitBadOption, fmt::format("invalid argument '{}'\n{}", argv[optind], usage(program)));
  return validated(std::move(line));
}

std::string usage(const std::string& program) {
  std::string text = fmt::format("usage: {} [options]\n", base_name(program));
  for (const Row& row : kRows) {
    std::string letter = row.code < 256 ? fmt::format("-{},", static_cast<char>(row.code)) : "";
    std::string name = fmt::format("--{} {}", row.name, row.argument ? row.argument : "");
    text += fmt::format("  {:3} {:32} {}\n", letter, name, row.help);
  }
  return text +
         fmt::format(
             "Examples:\n  {0} --ranks 4 -b 1K -e 64M -f 4\n  mpirun -np 8 {0} -b 8 -e 1G -f 2 -d half\n",
             base_name(program));
}

}  // namespace weir::perf
