// SPDX-License-Identifier: Apache-2.0
// build/bench/gpu_ring: the overhead of interpreting a plan on a GPU. Several ranks on one GPU sum float32 by
// the ring plan, with the library's kernel and with a kernel written by hand for this plan alone
// (ring_by_hand.cc): same launches, rings, tiles and streams. Alternating runs, medians; each kernel is
// checked once per size.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/catalogue/catalogue.h"
#include "src/base/output_file.h"
#include "src/device/gpu_kernels.h"
#include "src/device/gpus.h"
#include "src/drivers/library.h"
#include "src/exec/gpu/kernel_executor.h"
#include "src/exec/lower.h"

namespace weir::gpu_bench {
namespace {

using device::GpuMemory;
using device::GpuStream;
using exec::gpu::KernelExecutor;
using exec::gpu::LoadedKernels;

struct RingOptions {
  std::string device = "cuda";
  std::string kernels;  ///< path of the library's kernels; empty: beside this program
  std::string by_hand;
  std::string json;  ///< path of a file for the rows
  std::vector<int> ranks = {2, 4, 8};
  size_t from = size_t{1} << 20;
  size_t to = size_t{256} << 20;
  size_t segment = size_t{7} << 20;
  int rounds = 15;
};

/// Ranks of one GPU, each with a segment, a stream, buffers, and one executor for each kernel.
class Ranks {
 public:
  /// `bytes`: largest size per rank.
  static Result<std::unique_ptr<Ranks>> create(device::Gpu& gpu, const LoadedKernels& kernels, int count,
                                               const RingOptions& options);
  ~Ranks() {
    ready_.clear();
    executors_.clear();
    for (void* memory : memory_) (void)gpu_.free(memory, GpuMemory::device);
    for (const GpuStream stream : streams_) (void)gpu_.destroy_stream(stream);
  }

  /// Runs `calls` all-reduces one after the other; returns seconds per call.
  Result<double> time(size_t bytes, int calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call) WEIR_TRY(queue(bytes));
    for (const GpuStream stream : streams_) WEIR_TRY(gpu_.synchronize(stream));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  }
  /// Number of wrong elements of one all-reduce.
  Result<size_t> count_wrong(size_t bytes);

 private:
  explicit Ranks(device::Gpu& gpu) : gpu_(gpu) {}
  Result<std::byte*> take(size_t bytes) {
    auto memory = gpu_.allocate(bytes, GpuMemory::device);
    WEIR_TRY(memory.status());
    memory_.push_back(*memory);
    return static_cast<std::byte*>(*memory);
  }
  Status clear(std::byte* at, size_t bytes);
  Status queue(size_t bytes);

  device::Gpu& gpu_;
  std::vector<void*> memory_;
  std::vector<GpuStream> streams_;
  std::vector<std::byte*> inputs_;
  std::vector<std::byte*> outputs_;
  std::vector<std::unique_ptr<KernelExecutor>> executors_;
  std::vector<std::unique_ptr<exec::gpu::Ready>> ready_;
  uint64_t calls_ = 0;
};

Status Ranks::clear(std::byte* at, size_t bytes) {
  const std::vector<std::byte> zeroes(std::min(bytes, size_t{1} << 20));
  for (size_t done = 0; done < bytes; done += zeroes.size())
    WEIR_TRY(gpu_.copy(at + done, zeroes.data(), std::min(zeroes.size(), bytes - done), streams_[0]));
  return gpu_.synchronize(streams_[0]);
}

Result<std::unique_ptr<Ranks>> Ranks::create(device::Gpu& gpu, const LoadedKernels& kernels, int count,
                                             const RingOptions& options) {
  const algorithms::Entry* const ring = algorithms::find("ring", Collective::all_reduce);
  auto plan =
      algorithms::emit("ring", {Collective::all_reduce, count, 0, algorithms::default_chunks(*ring, count)});
  WEIR_TRY(plan.status());
  std::vector<exec::Program> programs;
  for (Rank rank = 0; rank < count; ++rank) {
    auto program = exec::lower(*plan, rank);
    WEIR_TRY(program.status());
    programs.push_back(std::move(*program));
  }
  auto fitting = gpu.kernels()->resident_blocks(kernels.bandwidth, kernels.most_threads, 0);
  WEIR_TRY(fitting.status());
  auto processors = gpu.kernels()->multiprocessors();
  WEIR_TRY(processors.status());

  std::unique_ptr<Ranks> made(new Ranks(gpu));
  exec::gpu::GpuSegments segments;
  segments.bytes = std::max(options.segment, exec::gpu::GpuSegmentTable::least_bytes({count, count}));
  for (Rank rank = 0; rank < count; ++rank) {
    auto stream = gpu.make_stream();
    WEIR_TRY(stream.status());
    made->streams_.push_back(*stream);
    auto segment = made->take(segments.bytes);
    WEIR_TRY(segment.status());
    WEIR_TRY(made->clear(*segment, segments.bytes));
    segments.at.push_back(*segment);
    for (auto* buffers : {&made->inputs_, &made->outputs_}) {
      auto buffer = made->take(options.to);
      WEIR_TRY(buffer.status());
      WEIR_TRY(made->clear(*buffer, options.to));
      buffers->push_back(*buffer);
    }
  }
  const KernelExecutor::Limits limits{static_cast<uint32_t>(std::max(1, *fitting * *processors / count))};
  for (segments.rank = 0; segments.rank < count; ++segments.rank) {
    auto executor = KernelExecutor::create(gpu, kernels, segments, limits);
    WEIR_TRY(executor.status());
    auto ready = (*executor)->prepare(
        *plan, programs, {exec::gpu::RingProtocol::bandwidth, exec::gpu::GpuSegmentTable::kRings});
    WEIR_TRY(ready.status());
    made->executors_.push_back(std::move(*executor));
    made->ready_.push_back(std::move(*ready));
  }
  return made;
}

Status Ranks::queue(size_t bytes) {
  ++calls_;
  for (size_t rank = 0; rank < streams_.size(); ++rank) {
    exec::Work work;
    work.input = inputs_[rank];
    work.output = outputs_[rank];
    work.count = bytes / sizeof(float);
    work.tag = calls_;
    work.tile_bytes = ready_[rank]->tile_bytes;
    WEIR_TRY(executors_[rank]->queue(*ready_[rank], work, streams_[rank]));
  }
  return {};
}

Result<size_t> Ranks::count_wrong(size_t bytes) {
  const size_t count = bytes / sizeof(float);
  std::vector<float> values(count), wanted(count, 0);
  for (size_t rank = 0; rank < streams_.size(); ++rank) {
    for (size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>((i * 7 + rank * 3) % 64);  // exact sums
      wanted[i] += values[i];
    }
    WEIR_TRY(gpu_.copy(inputs_[rank], values.data(), bytes, streams_[rank]));
    WEIR_TRY(gpu_.synchronize(streams_[rank]));
  }
  WEIR_TRY(queue(bytes));
  size_t wrong = 0;
  for (size_t rank = 0; rank < streams_.size(); ++rank) {
    WEIR_TRY(gpu_.copy(values.data(), outputs_[rank], bytes, streams_[rank]));
    WEIR_TRY(gpu_.synchronize(streams_[rank]));
    for (size_t i = 0; i < count; ++i) wrong += values[i] != wanted[i];
  }
  return wrong;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Loads the kernel in place of the interpreter's.
Result<LoadedKernels> load(device::Gpu& gpu, const std::string& file, const char* name,
                           const RingOptions& options) {
  auto library = drivers::Library::open_for_good(file.c_str());
  WEIR_TRY(library.status());
  const void* const image = library->find_data("weir_gpu_image");
  if (image == nullptr)
    return Status(Code::invalid_argument,
                  file + " has no symbol weir_gpu_image; expected a kernel library of weir");
  auto module = gpu.kernels()->load(image);
  WEIR_TRY(module.status());
  auto found = gpu.kernels()->find(*module, name);
  WEIR_TRY(found.status());
  LoadedKernels kernels;
  kernels.bandwidth = *found;
  kernels.most_threads = options.device == "hip" ? exec::gpu::kMostThreadsOfAmd : exec::gpu::kMostThreads;
  return kernels;
}

/// Returns whether all sums were correct.
Result<bool> run(const RingOptions& options) {
  if (!options.json.empty()) WEIR_TRY(try_output_file(options.json));
  const auto gpus = options.device == "hip" ? device::make_hip_gpus() : device::make_cuda_gpus();
  auto gpu = gpus->at(0);
  WEIR_TRY(gpu.status());
  if ((*gpu)->kernels() == nullptr)
    return Status(Code::system_error, (*gpu)->description() + " cannot run kernels");
  auto interpreted = load(**gpu, options.kernels, "weir_lanes_bandwidth", options);
  WEIR_TRY(interpreted.status());
  auto by_hand = load(**gpu, options.by_hand, "weir_ring_by_hand", options);
  WEIR_TRY(by_hand.status());

  fmt::print("# {}, float32 sums by the ring plan, medians of {} alternating rounds\n", (*gpu)->description(),
             options.rounds);
  fmt::print("{:>6} {:>12} {:>16} {:>12} {:>8}\n", "ranks", "bytes", "interpreter us", "by hand us", "ratio");
  bool right = true;
  auto rows = nlohmann::json::array();
  for (const int count : options.ranks) {
    std::unique_ptr<Ranks> teams[2];
    for (size_t way = 0; way < 2; ++way) {
      auto team = Ranks::create(**gpu, way == 0 ? *interpreted : *by_hand, count, options);
      WEIR_TRY(team.status());
      teams[way] = std::move(*team);
    }
    for (size_t bytes = options.from; bytes <= options.to; bytes *= 4) {
      // Several short calls per measurement, to hide starting and waiting.
      const int calls = static_cast<int>(std::clamp<size_t>((size_t{8} << 20) / bytes, 1, 16));
      std::vector<double> times[2];
      for (const auto& team : teams) {
        auto wrong = team->count_wrong(bytes);
        WEIR_TRY(wrong.status());
        if (*wrong > 0)
          fmt::print("{} elements of {} bytes are WRONG, {}\n", *wrong, bytes,
                     team == teams[0] ? "interpreted" : "by hand");
        right = right && *wrong == 0;
      }
      for (int round = 0; round < options.rounds; ++round) {
        for (size_t way = 0; way < 2; ++way) {
          auto seconds = teams[way]->time(bytes, calls);
          WEIR_TRY(seconds.status());
          times[way].push_back(*seconds * 1e6);
        }
      }
      const double first = median(times[0]), second = median(times[1]);
      fmt::print("{:>6} {:>12} {:>16.1f} {:>12.1f} {:>8.2f}\n", count, bytes, first, second, first / second);
      std::fflush(stdout);
      rows.push_back({{"ranks", count}, {"bytes", bytes}, {"interpreter_us", first}, {"by_hand_us", second}});
    }
  }
  if (options.json.empty()) return right;
  WEIR_TRY(write_output_file(options.json, nlohmann::json{{"results", rows}}.dump(1) + '\n'));
  return right;
}

int main(int argc, char** argv) {
  RingOptions options;
  CLI::App app("Compares the interpreted and a hand-written kernel of one plan on one GPU.");
  app.add_option("--device", options.device, "driver: cuda or hip")->check(CLI::IsMember({"cuda", "hip"}));
  app.add_option("--ranks", options.ranks, "numbers of ranks on the GPU, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(2, 64));
  app.add_option("--from", options.from, "first size in bytes; each next size is four times as large")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(size_t{16}, SIZE_MAX));
  app.add_option("--to", options.to, "largest size in bytes")->transform(CLI::AsSizeValue(false));
  app.add_option("--rounds", options.rounds, "number of rounds for each size")->check(CLI::Range(1, 10000));
  app.add_option("--segment", options.segment,
                 "GPU memory of each rank's segment in bytes (WEIR_GPU_SEGMENT_BYTES)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--json", options.json, "also write the rows to this file");
  app.add_option("--kernels", options.kernels,
                 "path of the library's kernels (default: beside this program)");
  app.add_option("--by-hand", options.by_hand,
                 "path of the hand-written kernel (default: beside this program)");
  CLI11_PARSE(app, argc, argv);
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib";
  if (options.kernels.empty()) options.kernels = folder / ("libweir_" + options.device + ".so");
  if (options.by_hand.empty()) options.by_hand = folder / ("libring_by_hand_" + options.device + ".so");
  auto right = run(options);
  if (!right.ok()) fmt::print(stderr, "gpu_ring: {}\n", right.status().message());
  return right.ok() && *right ? 0 : 1;
}

}  // namespace
}  // namespace weir::gpu_bench

int main(int argc, char** argv) { return weir::gpu_bench::main(argc, argv); }
