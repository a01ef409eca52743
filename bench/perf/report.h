// SPDX-License-Identifier: Apache-2.0
/// Report: the table on standard output and the JSON file, in the formats of nccl-tests.
///
/// Used by the first thread of the first process only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/iteration_times.h"
#include "bench/perf/json_writer.h"
#include "bench/perf/net_stats.h"
#include "bench/perf/options.h"
#include "bench/perf/outcome.h"

namespace weir::perf {

/// One rank and its device.
struct RankInfo {
  int rank;
  int group;
  int pid;
  std::string host;
  int device;
  std::string hardware;  ///< "[0000:00:00] weir host"
};

struct RowHead {
  size_t bytes;
  size_t count;
  std::string type;
  std::string op;
  int root;
};

/// Half a row: out of place or in place.
struct Measurement {
  double microseconds = 0;
  double algorithm_bandwidth = 0;  ///< GB/s
  double bus_bandwidth = 0;        ///< GB/s
  std::optional<double> wrong;     ///< number of wrong elements; nullopt if not counted
  std::optional<double> limit_us;  ///< lower limit from the GPUs' memory bandwidth
  std::optional<IterationTimes> iterations;
};

class Report {
 public:
  Report(std::string program, const PerfOptions& options, int argc, char** argv);
  ~Report();

  /// Prints everything above the table.
  void begin(const std::vector<RankInfo>& ranks, int library_version);
  void say_reduced(size_t max_bytes);
  void say(const std::string& line);  ///< prints the line after "# "
  void begin_table();

  void begin_row(const RowHead& head);
  void half(const Measurement& measurement, bool in_place);
  /// `net`: counters of the timed operations of both halves, over all ranks; nullopt if the library has none.
  void end_row(const std::optional<NetStats>& net);

  /// Prints everything below the table and returns the exit code. `minimum`: required average bus bandwidth
  /// in GB/s.
  ExitCode finish(const Outcome& outcome, std::optional<double> minimum, const std::string& memory_line);

 private:
  void json_config(const std::vector<RankInfo>& ranks);
  void json_half(const Measurement& measurement, bool in_place);
  void json_limit();
  void json_net(const NetStats& net);
  void json_iterations(const IterationTimes& times, bool in_place);
  void json_footer(const Outcome& outcome, int wrong_halves, double mean, const std::string& verdict);

  const std::string program_;
  const PerfOptions options_;
  std::unique_ptr<JsonWriter> json_;
  bool table_ = false;
  bool row_ = false;
  /// Results of a half of the row.
  struct Reached {
    double limit_us;
    double percent;
  };
  std::vector<Reached> reached_;
  int halves_ = 0;
  int wrong_halves_ = 0;
  double bus_bandwidth_ = 0;  ///< sum over halves
};

}  // namespace weir::perf
