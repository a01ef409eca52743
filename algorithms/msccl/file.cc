// SPDX-License-Identifier: Apache-2.0

#include "algorithms/msccl/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "algorithms/ir/verify.h"

namespace weir::msccl {
namespace {

using Need = topology::XmlFile::Need;

constexpr std::pair<std::string_view, Collective> kCollectives[] = {
    {"allreduce", Collective::all_reduce},
    {"reduce", Collective::reduce},
    {"broadcast", Collective::broadcast},
    {"allgather", Collective::all_gather},
    {"reduce_scatter", Collective::reduce_scatter},
    {"reducescatter", Collective::reduce_scatter},
    {"alltoall", Collective::all_to_all},
    {"gather", Collective::gather},
    {"scatter", Collective::scatter}};
constexpr std::string_view kTypes[] = {"s", "r", "rrc", "rcs", "rrs", "rrcs", "cpy", "re", "nop"};
constexpr int kMostChunks = 1 << 26;
constexpr int64_t kMostMoved = 1 << 22;  // each chunk becomes a move

class FileReader {
 public:
  explicit FileReader(const topology::XmlFile& xml) : xml_(xml) {}

  Result<File> read() {
    const pugi::xml_node algo = xml_.root();
    if (std::string_view(algo.name()) != "algo")
      return xml_.refuse(algo, fmt::format("the file begins with <{}>; expected <algo>", algo.name()));
    WEIR_TRY(head(algo));
    file_.gpus.resize(static_cast<size_t>(file_.shape.ranks));
    std::vector<char> seen(file_.gpus.size());
    for (const pugi::xml_node gpu : algo.children("gpu")) {
      int id = 0;
      WEIR_TRY(xml_.get(gpu, "id", Need::needed, 0, file_.shape.ranks - 1, id));
      if (std::exchange(seen[static_cast<size_t>(id)], 1) != 0)
        return xml_.refuse(gpu, fmt::format("GPU {} occurs twice", id));
      WEIR_TRY(blocks(gpu, id));
    }
    if (const auto missing = std::find(seen.begin(), seen.end(), 0); missing != seen.end())
      return xml_.refuse(algo, fmt::format("no <gpu> with id {}; expected ids 0 to {}",
                                           missing - seen.begin(), file_.shape.ranks - 1));
    return std::move(file_);
  }

 private:
  Status head(pugi::xml_node algo) {
    std::string collective;
    WEIR_TRY(xml_.get(algo, "coll", Need::needed, collective));
    const auto* known = std::find_if(std::begin(kCollectives), std::end(kCollectives),
                                     [&](const auto& pair) { return pair.first == collective; });
    if (known == std::end(kCollectives))
      return xml_.refuse(
          algo, fmt::format("coll is \"{}\"; expected allreduce, allgather, reduce_scatter, broadcast, "
                            "reduce, alltoall, gather or scatter",
                            collective.substr(0, 100)));
    ir::Shape& shape = file_.shape;
    shape.kind = known->second;
    WEIR_TRY(xml_.get(algo, "ngpus", Need::needed, 1, ir::kMaxPlanRanks, shape.ranks));
    if (has_root(shape.kind))
      WEIR_TRY(xml_.get(algo, "root", Need::optional, 0, shape.ranks - 1, shape.root));
    int chunks = 0;
    WEIR_TRY(xml_.get(algo, "nchunksperloop", Need::needed, 1, kMostChunks, chunks));
    const int blocks = std::max(ir::input_blocks(shape, shape.root), ir::output_blocks(shape, shape.root));
    if (chunks % blocks != 0)
      return xml_.refuse(algo, fmt::format("nchunksperloop is {}; expected a multiple of the {} blocks of {}",
                                           chunks, blocks, collective));
    shape.chunks = static_cast<uint32_t>(chunks / blocks);
    if (const Status possible = ir::check_shape(shape); !possible.ok())
      return xml_.refuse(algo, possible.message());
    bool in_place = false, apart = false;
    WEIR_TRY(xml_.get(algo, "inplace", Need::optional, in_place));
    WEIR_TRY(xml_.get(algo, "outofplace", Need::optional, apart));
    file_.one_buffer = in_place && !apart;
    WEIR_TRY(sizes(algo));
    WEIR_TRY(xml_.get(algo, "name", Need::optional, file_.algorithm));
    const auto strange = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.';
    };
    std::replace_if(file_.algorithm.begin(), file_.algorithm.end(), strange,
                    '_');  // a word, as in plans
    file_.algorithm.resize(std::min<size_t>(file_.algorithm.size(), 64));
    if (file_.algorithm.empty()) file_.algorithm = "msccl";
    return {};
  }

  /// The file's sizes are those of the larger buffer; a most of 0 is no limit.
  Status sizes(pugi::xml_node algo) {
    constexpr double kMost = 1e15;
    double least = 0, most = 0;
    WEIR_TRY(xml_.get_number(algo, "minBytes", Need::optional, 0, kMost, least));
    WEIR_TRY(xml_.get_number(algo, "maxBytes", Need::optional, 0, kMost, most));
    if (most > 0 && most < least)
      return xml_.refuse(algo,
                         fmt::format("maxBytes is {:.0f}; expected at least minBytes, {:.0f}", most, least));
    const uint64_t blocks = blocks_in_bytes(file_.shape);
    file_.least_bytes = (static_cast<uint64_t>(least) + blocks - 1) / blocks;
    if (most > 0) file_.most_bytes = static_cast<uint64_t>(most) / blocks;
    return {};
  }

  Status blocks(pugi::xml_node gpu, int id) {
    scratch_ = 0;
    WEIR_TRY(xml_.get(gpu, "s_chunks", Need::optional, 0, kMostChunks, scratch_));
    file_.scratch_chunks = std::max(file_.scratch_chunks, scratch_);
    if (const Status possible = ir::check_shape(file_.shape, static_cast<uint32_t>(file_.scratch_chunks));
        !possible.ok())
      return xml_.refuse(gpu, possible.message());
    std::vector<FileBlock>& own = file_.gpus[static_cast<size_t>(id)];
    for (const pugi::xml_node tb : gpu.children("tb")) {
      FileBlock block;
      block.line = xml_.line(tb);
      if (own.size() == static_cast<size_t>(ir::kMaxLanes))
        return xml_.refuse(tb, fmt::format("GPU {} has more than {} thread blocks", id, ir::kMaxLanes));
      int number = 0;
      WEIR_TRY(xml_.get(tb, "id", Need::needed, 0, ir::kMaxLanes, number));
      if (static_cast<size_t>(number) != own.size())
        return xml_.refuse(tb, fmt::format("the block has id {}; expected {}", number, own.size()));
      WEIR_TRY(xml_.get(tb, "send", Need::needed, -1, file_.shape.ranks - 1, block.send));
      WEIR_TRY(xml_.get(tb, "recv", Need::needed, -1, file_.shape.ranks - 1, block.receive));
      WEIR_TRY(xml_.get(tb, "chan", Need::needed, 0, kMostChunks, block.channel));
      if (block.send == id || block.receive == id)
        return xml_.refuse(tb, fmt::format("block {} of GPU {} has its own GPU as a peer", number, id));
      for (const FileBlock& other : own) {
        if (other.channel == block.channel && ((block.send >= 0 && other.send == block.send) ||
                                               (block.receive >= 0 && other.receive == block.receive)))
          return xml_.refuse(
              tb, fmt::format("block {} of GPU {} shares channel {} to the same GPU with another block",
                              number, id, block.channel));
      }
      for (const pugi::xml_node step : tb.children("step")) WEIR_TRY(this->step(step, id, block));
      own.push_back(std::move(block));
    }
    return check_waits(own, id);
  }

  Status step(pugi::xml_node element, Rank rank, FileBlock& block) {
    FileStep step;
    step.line = xml_.line(element);
    int number = 0;
    WEIR_TRY(xml_.get(element, "s", Need::needed, 0, kMostChunks, number));
    if (static_cast<size_t>(number) != block.steps.size())
      return xml_.refuse(element, fmt::format("the step has s {}; expected {}", number, block.steps.size()));
    std::string type;
    WEIR_TRY(xml_.get(element, "type", Need::needed, type));
    const auto* known = std::find(std::begin(kTypes), std::end(kTypes), type);
    if (known == std::end(kTypes))
      return xml_.refuse(element,
                         fmt::format("type is \"{}\"; expected s, r, rrc, rcs, rrs, rrcs, cpy, re or nop",
                                     type.substr(0, 100)));
    step.type = static_cast<Type>(known - std::begin(kTypes));
    if (sends(step.type) && block.send < 0)
      return xml_.refuse(element, fmt::format("a step \"{}\" in a block without a peer to send to", type));
    if (receives(step.type) && block.receive < 0)
      return xml_.refuse(element,
                         fmt::format("a step \"{}\" in a block without a peer to receive from", type));
    WEIR_TRY(xml_.get(element, "depid", Need::optional, -1, ir::kMaxLanes, step.wait_block));
    WEIR_TRY(xml_.get(element, "deps", Need::optional, -1, kMostChunks, step.wait_step));
    const bool reads =
        step.type != Type::receive && step.type != Type::receive_send && step.type != Type::nothing;
    const bool keeps =
        step.type != Type::send && step.type != Type::reduce_send && step.type != Type::nothing;
    if (step.type != Type::nothing)
      WEIR_TRY(xml_.get(element, "cnt", Need::needed, 1, kMostChunks, step.chunks));
    moved_ += step.chunks;
    if (moved_ > kMostMoved)
      return xml_.refuse(element, fmt::format("the steps up to here move more than {} chunks", kMostMoved));
    if (reads) WEIR_TRY(spot(element, rank, {"srcbuf", "srcoff"}, step.chunks, step.source));
    if (keeps) WEIR_TRY(spot(element, rank, {"dstbuf", "dstoff"}, step.chunks, step.kept));
    block.steps.push_back(step);
    return {};
  }

  Status spot(pugi::xml_node element, Rank rank, std::array<const char*, 2> attributes, int chunks,
              BufferOffset& spot) {
    std::string buffer;
    WEIR_TRY(xml_.get(element, attributes[0], Need::needed, buffer));
    if (buffer != "i" && buffer != "o" && buffer != "s")
      return xml_.refuse(
          element, fmt::format("{} is \"{}\"; expected i, o or s", attributes[0], buffer.substr(0, 100)));
    spot.buffer = buffer[0];
    WEIR_TRY(xml_.get(element, attributes[1], Need::needed, 0, kMostChunks, spot.offset));
    const int blocks = spot.buffer == 'i'   ? ir::input_blocks(file_.shape, rank)
                       : spot.buffer == 'o' ? ir::output_blocks(file_.shape, rank)
                                            : 0;
    const int64_t size = spot.buffer == 's' ? scratch_ : blocks * int64_t{file_.shape.chunks};
    if (int64_t{spot.offset} + chunks <= size) return {};
    return xml_.refuse(element, fmt::format("{} chunks from {} of buffer \"{}\" of GPU {}, which has {}",
                                            chunks, spot.offset, spot.buffer, rank, size));
  }

  Status check_waits(const std::vector<FileBlock>& own, int id) const {
    for (const FileBlock& block : own) {
      for (const FileStep& step : block.steps) {
        if (step.wait_block < 0) continue;
        const auto other = static_cast<size_t>(step.wait_block);
        if (other < own.size() && step.wait_step >= 0 &&
            static_cast<size_t>(step.wait_step) < own[other].steps.size())
          continue;
        return topology::refuse(
            xml_.source(), step.line,
            fmt::format("the step waits for step {} of block {} of GPU {}, which does not exist",
                        step.wait_step, step.wait_block, id));
      }
    }
    return {};
  }

  const topology::XmlFile& xml_;
  File file_;
  int scratch_ = 0;    // scratch chunks of the current GPU
  int64_t moved_ = 0;  // number of chunks moved by all steps so far
};

}  // namespace

uint64_t blocks_in_bytes(const ir::Shape& shape) {
  const bool all = shape.kind == Collective::all_gather || shape.kind == Collective::reduce_scatter ||
                   shape.kind == Collective::all_to_all;
  return all ? static_cast<uint64_t>(shape.ranks) : 1;
}

Result<File> read_file(const topology::Source& source) {
  const auto xml = topology::XmlFile::parse(source);
  WEIR_TRY(xml.status());
  return FileReader(*xml).read();
}

}  // namespace weir::msccl
