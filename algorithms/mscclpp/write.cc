// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "algorithms/mscclpp/blocks.h"
#include "algorithms/mscclpp/mscclpp.h"
#include "algorithms/mscclpp/words.h"

namespace weir::mscclpp {
namespace {

template <typename Item, typename Text>
std::string list_of(const std::vector<Item>& items, Text text) {
  std::string list;
  for (const Item& item : items) list += (list.empty() ? "" : ", ") + text(item);
  return "[" + list + "]";
}

std::string numbers(const std::vector<int>& items) {
  return list_of(items, [](int item) { return std::to_string(item); });
}

/// MSCCL++ keeps what it has set up for a plan under the plan's name.
std::string name_of(const ir::Plan& plan) {
  return fmt::format("{}_{}_{}", plan.algorithm, word_of(plan.shape.kind), plan.shape.ranks);
}

std::string text_of(const ChunkSpan& span) {
  const std::string buffer = span.remote >= 0 ? fmt::format("\"buffer_id\": {}", span.remote)
                                              : fmt::format("\"type\": \"{}\"", span.buffer);
  return fmt::format("{{{}, \"index\": {}, \"size\": {}}}", buffer, span.index, span.chunks);
}

std::string text_of(const Operation& operation) {
  std::string text = fmt::format("{{\"name\": \"{}\"", word_of(operation.kind));
  if (!operation.sources.empty())
    text += fmt::format(", \"src_buff\": {}", list_of(operation.sources, [](auto& s) { return text_of(s); }));
  if (!operation.destinations.empty())
    text += fmt::format(", \"dst_buff\": {}",
                        list_of(operation.destinations, [](auto& s) { return text_of(s); }));
  if (!operation.channels.empty())
    text += fmt::format(", \"channel_ids\": {}, \"channel_type\": \"{}\"", numbers(operation.channels),
                        word_of(operation.type));
  if (!operation.semaphores.empty())
    text += fmt::format(", \"semaphore_ids\": {}", numbers(operation.semaphores));
  if (operation.kind == OperationKind::reduce) text += ", \"reduce_op\": \"sum\"";
  return text + "}";
}

class PlanWriter {
 public:
  PlanWriter(const ir::Plan& plan, const ExecutionPlan& blocks, bool in_place)
      : plan_(plan), blocks_(blocks), in_place_(in_place) {}

  std::string write() {
    add("{{\n  \"name\": \"{}\",\n  \"collective\": \"{}\",\n  \"protocol\": \"Simple\",\n", name_of(plan_),
        word_of(plan_.shape.kind));
    add("  \"inplace\": {},\n  \"reuse_resources\": false,\n  \"num_threads_per_block\": 1024,\n", in_place_);
    add("  \"use_double_scratch_buffer\": false,\n  \"buffer_alignment\": {},\n", kAlignment);
    add("  \"min_message_bytes\": {},\n  \"max_message_bytes\": {},\n  \"gpus\": [",
        in_file(plan_.least_bytes), std::min(in_file(plan_.most_bytes), most_bytes()));
    for (size_t rank = 0; rank < blocks_.gpus.size(); ++rank) {
      add("{}\n", rank == 0 ? "" : ",");
      gpu(static_cast<Rank>(rank), blocks_.gpus[rank]);
    }
    out_ += "\n  ]\n}\n";
    return std::move(out_);
  }

 private:
  template <typename... Parts>
  void add(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Parts>(parts)...);
  }

  /// A size of a block in the terms of the file.
  uint64_t in_file(uint64_t bytes) const {
    uint64_t all = 0;
    return __builtin_mul_overflow(bytes, size_blocks(plan_.shape), &all) ? UINT64_MAX : all;
  }

  /// The largest size with which all offsets fit.
  uint64_t most_bytes() const {
    const uint64_t counted = size_blocks(plan_.shape) * uint64_t{plan_.shape.chunks};
    uint64_t most = counted;
    for (size_t rank = 0; rank < blocks_.gpus.size(); ++rank) {
      const auto [inputs, outputs] = chunks_of(plan_.shape, static_cast<Rank>(rank));
      most = std::max({most, inputs, outputs, blocks_.gpus[rank].scratch_chunks});
    }
    return kMostBufferBytes / most / kAlignment * kAlignment * counted;
  }

  void gpu(Rank rank, const GpuBlocks& gpu) {
    const auto [inputs, outputs] = chunks_of(plan_.shape, rank);
    add("    {{\"id\": {}, \"input_chunks\": {}, \"output_chunks\": {}, \"scratch_chunks\": {},\n", rank,
        inputs, outputs, gpu.scratch_chunks);
    std::vector<std::string> channels;
    for (const ChannelType type : kChannelTypes)
      if (!gpu.peers[index_of(type)].empty())
        channels.push_back(fmt::format("{{\"channel_type\": \"{}\", \"connected_to\": {}}}", word_of(type),
                                       numbers(gpu.peers[index_of(type)])));
    add("     \"channels\": {},\n", list_of(channels, [](auto& text) { return text; }));
    add("     \"remote_buffers\": {},\n", list_of(gpu.remote_buffers, [](const RemoteBuffer& buffer) {
          std::vector<ChannelType> types;
          for (const ChannelType type : kChannelTypes)
            if (buffer.accessed_by[index_of(type)]) types.push_back(type);
          return fmt::format(
              "{{\"rank\": {}, \"type\": \"{}\", \"access_channel_types\": {}}}", buffer.rank, buffer.buffer,
              list_of(types, [](ChannelType type) { return fmt::format("\"{}\"", word_of(type)); }));
        }));
    add("     \"semaphores\": {},\n     \"threadblocks\": [",
        list_of(gpu.semaphores, [](int initial) { return fmt::format("{{\"init_value\": {}}}", initial); }));
    for (size_t b = 0; b < gpu.blocks.size(); ++b) {
      add("{}\n", b == 0 ? "" : ",");
      block(b, gpu.blocks[b]);
    }
    out_ += "]}";
  }

  void block(size_t number, const ThreadBlock& block) {
    std::vector<std::string> channels, buffers;
    for (const ChannelType type : kChannelTypes) {
      if (const auto& own = block.channels[index_of(type)]; !own.empty())
        channels.push_back(
            fmt::format("{{\"channel_type\": \"{}\", \"channel_ids\": {}}}", word_of(type), numbers(own)));
      if (const auto& own = block.buffers[index_of(type)]; !own.empty())
        buffers.push_back(fmt::format("{{\"access_channel_type\": \"{}\", \"remote_buffer_ids\": {}}}",
                                      word_of(type), numbers(own)));
    }
    const auto same = [](auto& text) { return text; };
    add("       {{\"id\": {}, \"channels\": {}, \"remote_buffer_refs\": {}, \"ops\": [", number,
        list_of(channels, same), list_of(buffers, same));
    for (size_t o = 0; o < block.operations.size(); ++o)
      add("{}\n         {}", o == 0 ? "" : ",", text_of(block.operations[o]));
    out_ += "]}";
  }

  const ir::Plan& plan_;
  const ExecutionPlan& blocks_;
  const bool in_place_;
  std::string out_;
};

/// MSCCL++ divides the ranks into hosts by their numbers.
Status hosts_fit(std::span<const int> hosts) {
  std::vector<int> changes;
  for (size_t r = 1; r < hosts.size(); ++r)
    if (hosts[r] != hosts[r - 1]) changes.push_back(static_cast<int>(r));
  if (changes.empty()) return {};
  const auto each = static_cast<size_t>(changes[0]);
  std::vector<int> seen;
  bool equal = hosts.size() % each == 0;
  for (size_t r = 0; equal && r < hosts.size(); ++r) {
    if (r % each == 0) {
      equal = std::ranges::find(seen, hosts[r]) == seen.end();
      seen.push_back(hosts[r]);
    }
    equal = equal && hosts[r] == seen.back();
  }
  if (!equal)
    return {
        Code::invalid_argument,
        "MSCCL++ takes equally many consecutive ranks as one host; the hosts of this topology have different "
        "numbers of ranks, or their ranks are not consecutive"};
  if (each <= kMostHostGpus) return {};
  return {
      Code::invalid_argument,
      fmt::format("each host has {} ranks; MSCCL++ uses one InfiniBand device per rank, and at most {} of "
                  "them on each of several hosts",
                  each, kMostHostGpus)};
}

}  // namespace

Result<std::string> write(const ir::Plan& plan, const WriteOptions& options) {
  if (has_root(plan.shape.kind))
    return Status(Code::invalid_argument,
                  fmt::format("an execution plan of MSCCL++ has no root, so it cannot be for {}; expected "
                              "all_reduce, all_gather, reduce_scatter or all_to_all",
                              name(plan.shape.kind)));
  if (options.in_place && plan.shape.kind == Collective::all_to_all)
    return Status(Code::invalid_argument, "all_to_all cannot be called in place");
  std::vector<int> hosts = options.hosts;
  if (hosts.empty()) hosts.assign(static_cast<size_t>(plan.shape.ranks), 0);
  WEIR_TRY(hosts_fit(hosts));
  const auto blocks = blocks_of(plan, hosts);
  WEIR_TRY(blocks.status());
  return PlanWriter(plan, *blocks, options.in_place).write();
}

}  // namespace weir::mscclpp
