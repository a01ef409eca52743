// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "algorithms/ir/symbolic.h"
#include "src/device/granules.h"

namespace weir::exec::gpu {
namespace {

static_assert(std::is_trivially_copyable_v<Step> && std::is_trivially_copyable_v<Place>);

template <typename T>
uint32_t append(Bytes& bytes, const T* first, size_t count) {
  const auto at = static_cast<uint32_t>(bytes.size());
  bytes.resize(bytes.size() + count * sizeof(T));
  if (count > 0) std::memcpy(bytes.data() + at, first, count * sizeof(T));
  return at;
}

}  // namespace

Image image_of(const Program& program) {
  Image image;
  std::vector<LaneSteps> lanes;
  uint32_t first = 0;
  for (const std::vector<Step>& steps : program.lanes) {
    if (steps.empty()) continue;
    append(image.bytes, steps.data(), steps.size());
    lanes.push_back({first, static_cast<uint32_t>(steps.size())});
    first += lanes.back().count;
  }
  image.lanes = append(image.bytes, lanes.data(), lanes.size());
  image.places = append(image.bytes, program.places.data(), program.places.size());
  image.lane_count = static_cast<uint32_t>(lanes.size());
  image.channels = static_cast<uint32_t>(program.channels.size());
  return image;
}

void bind(Launch& launch, const Image& image, const std::byte* copy) {
  launch.steps = reinterpret_cast<const Step*>(copy);
  launch.places = reinterpret_cast<const Place*>(copy + image.places);
  launch.lanes = reinterpret_cast<const LaneSteps*>(copy + image.lanes);
  launch.lane_count = image.lane_count;
  launch.channels = image.channels;
}

Status set_work(Launch& launch, const Program& program, const Work& work, size_t tile_bytes) {
  const size_t element = size_of(work.type);
  const size_t tile = std::min(work.tile_bytes, tile_bytes) / kGrainBytes * kGrainBytes;
  if (tile == 0) {
    return Status(Code::invalid_argument,
                  fmt::format("tiles of {} bytes are too small for a kernel; expected at least {}",
                              tile_bytes, kGrainBytes));
  }
  for (const void* buffer : {static_cast<const void*>(work.input), static_cast<const void*>(work.output)}) {
    if (reinterpret_cast<uintptr_t>(buffer) % element != 0) {
      return Status(
          Code::invalid_argument,
          fmt::format(
              "the buffer at {} is not aligned to its elements of {} bytes ({}); kernels require alignment",
              buffer, element, name(work.type)));
    }
  }
  launch.input = work.input;
  launch.output = work.output;
  launch.division = divide_work(work.count, program.shape.chunks, element, tile);
  launch.type = work.type;
  launch.op = work.op;
  launch.element = static_cast<uint32_t>(element);
  launch.scales = work.scales;
  uint64_t scalar = 0;
  std::memcpy(&scalar, work.factor.bits, sizeof(scalar));
  launch.factor = device::splat(scalar, static_cast<int>(element));
  launch.factor_at = work.factor_at;
  launch.divisor = work.divisor;
  launch.tag = work.tag;
  launch.tile_bytes = tile_bytes / kGrainBytes * kGrainBytes;
  return {};
}

bool orders_memory(const ir::Plan& plan) {
  const ir::MemoryMap map(plan.shape, plan.scratch_chunks,
                          ir::has_in_place(plan.shape.kind) ? ir::Placement::in_place : ir::Placement::apart);
  struct Cell {
    int lane = -1;  ///< the lane that used the memory
    bool shared = false;
    bool written = false;
  };
  std::vector<Cell> cells(map.size());
  bool ordered = false;
  const auto touch = [&](Rank rank, uint8_t lane, const ir::Operand& place, uint32_t chunks, bool writes) {
    if (!place.in_memory()) return;
    const size_t first = map.place(rank, place);
    for (size_t at = first; at < first + chunks; ++at) {
      Cell& cell = cells[at];
      cell.shared |= cell.lane >= 0 && cell.lane != lane;
      cell.written |= writes;
      cell.lane = lane;
      ordered |= cell.shared && cell.written;
    }
  };
  for (const ir::Move& move : plan.moves) {
    if (move.pull || move.push) return true;
    touch(move.src, move.src_lane, move.from, move.chunks, false);
    touch(move.dst, move.dst_lane, move.with, move.chunks, false);
    touch(move.dst, move.dst_lane, move.to, move.chunks, true);
  }
  return ordered;
}

}  // namespace weir::exec::gpu
