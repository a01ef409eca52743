// SPDX-License-Identifier: Apache-2.0

#include "algorithms/mscclpp/file.h"

#include <algorithm>

#include "algorithms/ir/verify.h"
#include "algorithms/mscclpp/json_element.h"
#include "algorithms/mscclpp/words.h"

namespace weir::mscclpp {
namespace {

constexpr uint64_t kMostChunks = uint64_t{1} << 26;
constexpr uint64_t kMostMoved = uint64_t{1} << 22;  // each chunk may become a move
constexpr size_t kMostBlocksRead = 1024;            // of a GPU
constexpr uint64_t kMostBarriers = 16;
constexpr uint64_t kMostSemaphores = uint64_t{1} << 20;

class FileReader {
 public:
  explicit FileReader(std::string_view name) : name_(name) {}

  Result<ExecutionPlan> read(const nlohmann::json& json) {
    const JsonElement top(json, name_);
    WEIR_TRY(top.object());
    WEIR_TRY(head(top));
    const auto gpus = top.list("gpus");
    WEIR_TRY(gpus.status());
    for (rank_ = 0; rank_ < plan_.shape.ranks; ++rank_) {
      plan_.gpus.emplace_back();
      WEIR_TRY(gpu(gpus->item(static_cast<size_t>(rank_), fmt::format("{}: GPU {}", name_, rank_))));
    }
    return std::move(plan_);
  }

 private:
  GpuBlocks& gpu() { return plan_.gpus.back(); }

  Status head(const JsonElement& top) {
    std::string collective, protocol;
    WEIR_TRY(top.get("name", plan_.name));
    WEIR_TRY(top.get("collective", collective));
    WEIR_TRY(top.get("protocol", protocol));
    plan_.in_place = top.flag("inplace");
    const std::array kinds = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                              Collective::all_to_all};
    const auto kind = std::ranges::find_if(kinds, [&](Collective one) { return word_of(one) == collective; });
    if (kind == kinds.end())
      return top.refuse(fmt::format(
          "the collective is \"{}\"; expected allreduce, allgather, reducescatter or alltoall", collective));
    if (protocol != "Simple")
      return top.refuse(fmt::format("the protocol is \"{}\"; expected Simple", protocol));
    const auto gpus = top.list("gpus");
    WEIR_TRY(gpus.status());
    if (gpus->size() == 0) return top.refuse("the list \"gpus\" is empty; expected at least one");
    plan_.shape.kind = *kind;
    plan_.shape.ranks = static_cast<int>(gpus->size());
    // The output of a reduce-scatter and the input of the others tell into how many chunks a block is
    // divided.
    const JsonElement first = gpus->item(0, fmt::format("{}: GPU 0", name_));
    const bool scatters = *kind == Collective::reduce_scatter;
    WEIR_TRY(first.get(scatters ? "output_chunks" : "input_chunks", 1, kMostChunks, plan_.shape.chunks));
    if (*kind == Collective::all_to_all) plan_.shape.chunks /= static_cast<uint32_t>(plan_.shape.ranks);
    if (const Status status = ir::check_shape(plan_.shape); !status.ok()) return top.refuse(status.message());
    return sizes(top);
  }

  Status sizes(const JsonElement& top) {
    uint64_t least = 0, most = UINT64_MAX;
    if (top.has("min_message_bytes")) WEIR_TRY(top.get("min_message_bytes", 0, UINT64_MAX, least));
    if (top.has("max_message_bytes")) WEIR_TRY(top.get("max_message_bytes", 0, UINT64_MAX, most));
    const uint64_t blocks = size_blocks(plan_.shape);
    plan_.least_bytes = least / blocks + (least % blocks != 0 ? 1 : 0);
    plan_.most_bytes = most == UINT64_MAX ? most : most / blocks;
    return {};
  }

  Status gpu(const JsonElement& element) {
    WEIR_TRY(element.object());
    Rank id = 0;
    WEIR_TRY(element.get("id", static_cast<uint64_t>(rank_), static_cast<uint64_t>(rank_), id));
    const auto [inputs, outputs] = chunks_of(plan_.shape, rank_);
    uint64_t found = 0;
    WEIR_TRY(element.get("input_chunks", inputs, inputs, found));
    WEIR_TRY(element.get("output_chunks", outputs, outputs, found));
    WEIR_TRY(element.get("scratch_chunks", 0, kMostChunks, gpu().scratch_chunks));
    if (const Status status = ir::check_shape(plan_.shape, static_cast<uint32_t>(gpu().scratch_chunks));
        !status.ok())
      return element.refuse(status.message());
    WEIR_TRY(channels(element));
    WEIR_TRY(remote_buffers(element));
    if (element.has("semaphores")) WEIR_TRY(semaphores(element));
    const auto blocks = element.list("threadblocks");
    WEIR_TRY(blocks.status());
    if (blocks->size() > kMostBlocksRead)
      return element.refuse(
          fmt::format("{} thread blocks; expected at most {}", blocks->size(), kMostBlocksRead));
    for (size_t b = 0; b < blocks->size(); ++b) {
      gpu().blocks.emplace_back();
      WEIR_TRY(block(blocks->item(b, fmt::format("{}, thread block {}", element.place(), b)), b));
    }
    return {};
  }

  Status type(const JsonElement& element, const char* key, ChannelType& found) const {
    std::string word;
    WEIR_TRY(element.get(key, word));
    for (const ChannelType type : kChannelTypes) {
      if (word_of(type) != word) continue;
      found = type;
      return {};
    }
    return element.refuse(fmt::format("\"{}\" is \"{}\"; expected memory or port", key, word));
  }

  Status numbers(const JsonElement& element, const char* key, uint64_t below, size_t most,
                 std::vector<int>& found) const {
    const auto list = element.list(key);
    WEIR_TRY(list.status());
    if (below == 0 && list->size() > 0)
      return element.refuse(fmt::format("\"{}\" is not empty, but there is nothing to refer to", key));
    for (size_t i = 0; i < list->size(); ++i)
      WEIR_TRY(list->item(i, element.place()).number(key, 0, below - 1, found.emplace_back()));
    if (found.size() > most)
      return element.refuse(
          fmt::format("\"{}\" has {} numbers; expected at most {}", key, found.size(), most));
    return {};
  }

  Status channels(const JsonElement& element) {
    const auto all = element.list("channels");
    WEIR_TRY(all.status());
    for (size_t c = 0; c < all->size(); ++c) {
      const JsonElement channel = all->item(c, element.place());
      ChannelType own{};
      WEIR_TRY(type(channel, "channel_type", own));
      std::vector<Rank>& peers = gpu().peers[index_of(own)];
      WEIR_TRY(
          numbers(channel, "connected_to", static_cast<uint64_t>(plan_.shape.ranks), kMostChunks, peers));
      if (std::ranges::find(peers, rank_) != peers.end())
        return channel.refuse("a channel is connected to its own GPU; expected another one");
    }
    return {};
  }

  Status buffer(const JsonElement& element, char& letter) const {
    std::string word;
    WEIR_TRY(element.get("type", word));
    if (word != "i" && word != "o" && word != "s")
      return element.refuse(fmt::format("the type of the buffer is \"{}\"; expected i, o or s", word));
    letter = word[0];
    return {};
  }

  Status remote_buffers(const JsonElement& element) {
    if (!element.has("remote_buffers")) return {};
    const auto all = element.list("remote_buffers");
    WEIR_TRY(all.status());
    for (size_t i = 0; i < all->size(); ++i) {
      const JsonElement one = all->item(i, fmt::format("{}, remote buffer {}", element.place(), i));
      RemoteBuffer& remote = gpu().remote_buffers.emplace_back();
      WEIR_TRY(one.get("rank", 0, static_cast<uint64_t>(plan_.shape.ranks - 1), remote.rank));
      WEIR_TRY(buffer(one, remote.buffer));
      const auto types = one.list("access_channel_types");
      WEIR_TRY(types.status());
    }
    return {};
  }

  Status semaphores(const JsonElement& element) {
    const auto all = element.list("semaphores");
    WEIR_TRY(all.status());
    for (size_t i = 0; i < all->size(); ++i)
      WEIR_TRY(all->item(i, element.place())
                   .get("init_value", 0, kMostSemaphores, gpu().semaphores.emplace_back()));
    return {};
  }

  Status block(const JsonElement& element, size_t number) {
    size_t id = 0;
    WEIR_TRY(element.get("id", number, number, id));
    ThreadBlock& own = gpu().blocks.back();
    const auto lists = [&](const char* list, const char* type_key, const char* numbers_key,
                           std::array<std::vector<int>, 2>& found, auto below) -> Status {
      if (!element.has(list)) return {};
      const auto all = element.list(list);
      WEIR_TRY(all.status());
      for (size_t i = 0; i < all->size(); ++i) {
        const JsonElement one = all->item(i, element.place());
        ChannelType type_of_list{};
        WEIR_TRY(type(one, type_key, type_of_list));
        WEIR_TRY(
            numbers(one, numbers_key, below(type_of_list), kMostChannels, found[index_of(type_of_list)]));
      }
      return {};
    };
    WEIR_TRY(lists("channels", "channel_type", "channel_ids", own.channels,
                   [&](ChannelType type) { return gpu().peers[index_of(type)].size(); }));
    WEIR_TRY(lists("remote_buffer_refs", "access_channel_type", "remote_buffer_ids", own.buffers,
                   [&](ChannelType) { return gpu().remote_buffers.size(); }));
    const auto operations = element.list("ops");
    WEIR_TRY(operations.status());
    if (operations->size() > kMostOperations)
      return element.refuse(
          fmt::format("{} operations; the executor has at most {}", operations->size(), kMostOperations));
    for (size_t o = 0; o < operations->size(); ++o) {
      own.operations.emplace_back();
      WEIR_TRY(operation(operations->item(o, place_of(name_, rank_, number, o)), own));
    }
    return {};
  }

  Status operation(const JsonElement& element, const ThreadBlock& block) {
    Operation& own = gpu().blocks.back().operations.back();
    std::string word;
    WEIR_TRY(element.get("name", word));
    // Relaxed signals order operations too; the executor only leaves out what makes data visible.
    if (word == "rlxsignal" || word == "rlxwait") word = word.substr(3);
    const auto kind = std::ranges::find(kOperationWords, word);
    if (kind == kOperationWords.end())
      return element.refuse(fmt::format("weir does not know the operation \"{}\"", word));
    own.kind = static_cast<OperationKind>(kind - kOperationWords.begin());
    if (element.has("tbg_info")) return element.refuse("weir does not know groups of thread blocks");
    if (element.has("channel_type")) WEIR_TRY(type(element, "channel_type", own.type));
    if (element.has("channel_ids"))
      WEIR_TRY(numbers(element, "channel_ids", block.channels[index_of(own.type)].size(), kMostChannelsAtOnce,
                       own.channels));
    if (element.has("semaphore_ids"))
      WEIR_TRY(
          numbers(element, "semaphore_ids", gpu().semaphores.size(), kMostSemaphoresAtOnce, own.semaphores));
    if (own.kind == OperationKind::barrier) {
      WEIR_TRY(element.get("barrier_id", 0, kMostBarriers - 1, own.barrier));
      WEIR_TRY(element.get("num_threadblocks", 1, kMostBlocksRead, own.barrier_blocks));
    }
    WEIR_TRY(spans(element, "src_buff", block, own, own.sources));
    WEIR_TRY(spans(element, "dst_buff", block, own, own.destinations));
    return operands_fit(element, own);
  }

  Status spans(const JsonElement& element, const char* key, const ThreadBlock& block, const Operation& own,
               std::vector<ChunkSpan>& found) {
    if (!element.has(key)) return {};
    const auto list = element.list(key);
    WEIR_TRY(list.status());
    if (list->size() > kMostSources)
      return element.refuse(
          fmt::format("\"{}\" has {} spans; expected at most {}", key, list->size(), kMostSources));
    for (size_t i = 0; i < list->size(); ++i) {
      const JsonElement one = list->item(i, element.place());
      ChunkSpan& span = found.emplace_back();
      Rank rank = rank_;
      if (one.has("buffer_id")) {
        const auto& buffers = block.buffers[index_of(own.type)];
        if (buffers.empty()) return one.refuse("a remote buffer is used, but the block refers to none");
        WEIR_TRY(one.get("buffer_id", 0, buffers.size() - 1, span.remote));
        const RemoteBuffer& remote =
            gpu().remote_buffers[static_cast<size_t>(buffers[static_cast<size_t>(span.remote)])];
        span.buffer = remote.buffer, rank = remote.rank;
      } else {
        WEIR_TRY(buffer(one, span.buffer));
      }
      WEIR_TRY(one.get("index", 0, kMostChunks, span.index));
      WEIR_TRY(one.get("size", 0, kMostChunks, span.chunks));
      ends_.push_back({one.place(), rank, span});
      if ((moved_ += span.chunks) > kMostMoved)
        return one.refuse(fmt::format("the operations up to here move more than {} chunks", kMostMoved));
    }
    return {};
  }

  /// Whether an operation has as many operands as it needs, own and remote ones where they belong.
  static Status operands_fit(const JsonElement& element, const Operation& own) {
    using Kind = OperationKind;
    const auto remote = [](const ChunkSpan& span) { return span.remote >= 0; };
    const auto& from = own.sources;
    const auto& to = own.destinations;
    const bool puts = own.kind == Kind::put || own.kind == Kind::put_with_signal;
    const bool sends = own.kind == Kind::reduce_send || own.kind == Kind::read_reduce_send;
    const bool reads = own.kind == Kind::read_reduce || own.kind == Kind::read_reduce_send;
    const bool reduces = own.kind == Kind::reduce || own.kind == Kind::reduce_send;
    bool fit = true;
    if (puts)
      fit = !from.empty() && from.size() == to.size() && std::ranges::none_of(from, remote) &&
            std::ranges::all_of(to, remote) && own.channels.size() == to.size();
    if (own.kind == Kind::copy)
      fit = from.size() == 1 && to.size() == 1 && !remote(from[0]) && !remote(to[0]);
    if (reads || reduces) {
      fit = from.size() > 1 && !remote(from[0]) && !to.empty() && !remote(to[0]) &&
            std::all_of(from.begin() + 1, from.end(), [&](auto& span) { return remote(span) == reads; }) &&
            (sends ? to.size() > 1 && std::all_of(to.begin() + 1, to.end(), remote) : to.size() == 1) &&
            own.type == ChannelType::memory;
    }
    if (own.kind == Kind::put_with_signal && own.type == ChannelType::memory)
      return element.refuse(
          "the executor does not signal after a \"pws\" on a memory channel; expected a port");
    const bool of_data = puts || reads || reduces || own.kind == Kind::copy;
    const auto sized = [&](const ChunkSpan& span) {
      return span.chunks == from[0].chunks && span.chunks > 0;
    };
    if (fit && of_data && own.kind != Kind::put && own.kind != Kind::put_with_signal)
      fit = std::ranges::all_of(from, sized) && std::ranges::all_of(to, sized);
    if (fit && puts)
      for (size_t i = 0; i < to.size(); ++i) fit = fit && from[i].chunks == to[i].chunks && to[i].chunks > 0;
    if (!fit)
      return element.refuse(
          fmt::format("\"{}\" has operands that the executor does not know", word_of(own.kind)));
    return {};
  }

 public:
  /// Whether all spans are in their buffers, which are all known only at the end.
  Status spans_fit(const ExecutionPlan& plan) const {
    for (const auto& [place, rank, span] : ends_) {
      const auto [inputs, outputs] = chunks_of(plan.shape, rank);
      const uint64_t most = span.buffer == 'i'   ? inputs
                            : span.buffer == 'o' ? outputs
                                                 : plan.gpus[static_cast<size_t>(rank)].scratch_chunks;
      if (uint64_t{span.index} + span.chunks > most)
        return {Code::invalid_argument,
                fmt::format("{}: chunks {} to {} of buffer {} of GPU {}, which has {}", place, span.index,
                            uint64_t{span.index} + span.chunks - 1, span.buffer, rank, most)};
    }
    return {};
  }

 private:
  struct End {
    std::string place;
    Rank rank;
    ChunkSpan span;
  };

  const std::string name_;
  Rank rank_ = 0;
  ExecutionPlan plan_;
  uint64_t moved_ = 0;
  std::vector<End> ends_;
};

}  // namespace

std::string place_of(std::string_view name, Rank rank, size_t block, size_t operation) {
  return fmt::format("{}: GPU {}, thread block {}, operation {}", name, rank, block, operation);
}

Result<ExecutionPlan> read_file(std::string_view text, std::string_view name) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded())
    return Status(Code::invalid_argument,
                  fmt::format("{}: the text is no JSON; expected an execution plan", name));
  FileReader reader(name);
  auto plan = reader.read(json);
  WEIR_TRY(plan.status());
  WEIR_TRY(reader.spans_fit(*plan));
  return plan;
}

}  // namespace weir::mscclpp
