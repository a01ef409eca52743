// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "algorithms/msccl/blocks.h"
#include "algorithms/msccl/file.h"
#include "algorithms/msccl/msccl.h"
#include "topology/formats/xml.h"

namespace weir::msccl {
namespace {

using ir::Operand;

const char* type_of(const MscclStep& step) {
  if (step.kind == MscclStep::Kind::copy) return "cpy";
  if (step.kind == MscclStep::Kind::reduce) return "re";
  if (!step.receives) return "s";
  const bool sums = step.source.kind != Operand::Kind::none;
  const bool keeps = step.kept.kind != Operand::Kind::none;
  if (step.sends) return sums ? keeps ? "rrcs" : "rrs" : "rcs";
  return sums ? "rrc" : "r";
}

/// MSCCL's names.
std::string_view word(Collective kind) {
  switch (kind) {
    case Collective::all_reduce: return "allreduce";
    case Collective::all_gather: return "allgather";
    case Collective::reduce_scatter: return "reducescatter";
    case Collective::all_to_all: return "alltoall";
    default: return name(kind);
  }
}

char letter(Operand::Kind kind) {
  return kind == Operand::Kind::output ? 'o' : kind == Operand::Kind::scratch ? 's' : 'i';
}

constexpr uint32_t kMostPerStep = 71;  // of one step: MSCCL_MAX_COUNT - 1
// What MSCCL is usually built with: steps of one block, elements in an element, elements for one GPU.
constexpr size_t kUsualSteps = 64;
constexpr size_t kUsualSubs = 1024;
constexpr size_t kUsualNodes = 4096;
constexpr uint64_t kMostOffset = 32767;  // MSCCL stores offsets in 16 bits

/// A step can wait for one other step, and each further one takes a line without an operation. Many chunks
/// take several lines.
size_t lines_of(const MscclStep& step) {
  const size_t waits = step.waits.empty() ? 0 : step.waits.size() - 1;
  return waits + (step.chunks + kMostPerStep - 1) / kMostPerStep;
}

std::vector<std::vector<size_t>> numbers_of(const std::vector<MscclBlock>& blocks) {
  std::vector<std::vector<size_t>> numbers;
  for (const MscclBlock& block : blocks) {
    std::vector<size_t>& own = numbers.emplace_back();
    size_t lines = 0;
    for (const MscclStep& step : block.steps) own.push_back((lines += lines_of(step)) - 1);
  }
  return numbers;
}

/// The limits that MSCCL must be built with, where they are not the usual ones; empty: none.
std::string larger_limits(const Blocks& blocks) {
  size_t most_steps = 0, most_nodes = 0;
  for (const auto& gpu : blocks.gpus) {
    size_t nodes = 1 + blocks.gpus.size() + gpu.size();
    for (const auto& block : numbers_of(gpu)) {
      const size_t steps = block.empty() ? 0 : block.back() + 1;
      most_steps = std::max(most_steps, steps);
      nodes += steps;
    }
    most_nodes = std::max(most_nodes, nodes);
  }
  std::string limits;
  const auto add = [&](const char* name, size_t value, size_t usual) {
    if (value > usual) limits += fmt::format("{}{}={}", limits.empty() ? "" : ", ", name, value);
  };
  add("MSCCL_MAX_NUM_STEPS", most_steps, kUsualSteps);
  add("MAX_SUBS", most_steps, kUsualSubs);
  add("MAX_NODES", most_nodes, kUsualNodes);
  return limits;
}

/// Whether MSCCL would make one step of both, of the chunks of the second: it fuses sums into one place.
bool fused_wrongly(const MscclStep& a, const MscclStep& b) {
  using Kind = MscclStep::Kind;
  return a.kind == Kind::reduce && b.kind == Kind::reduce && a.kept == b.kept &&
         a.source.kind == b.source.kind && a.chunks != b.chunks;
}

class Writer {
 public:
  Writer(const ir::Plan& plan, const Blocks& blocks) : plan_(plan), blocks_(blocks) {}

  std::string write() {
    const ir::Shape& shape = plan_.shape;
    const uint64_t chunks =
        std::max(input_blocks(shape, shape.root), output_blocks(shape, shape.root)) * uint64_t{shape.chunks};
    const std::string root = has_root(shape.kind) ? fmt::format(" root=\"{}\"", shape.root) : "";
    add("<algo name=\"{}\" proto=\"Simple\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" "
        "coll=\"{}\"{} "
        "inplace=\"{}\" outofplace=\"1\" minBytes=\"{}\" maxBytes=\"{}\">\n",
        topology::xml_text(plan_.algorithm), blocks_.channels, chunks, shape.ranks, word(shape.kind), root,
        shape.kind == Collective::all_to_all ? 0 : 1, in_file(plan_.least_bytes),
        plan_.most_bytes == UINT64_MAX ? 0 : in_file(plan_.most_bytes));
    if (const std::string limits = larger_limits(blocks_); !limits.empty())
      add("  <!-- needs MSCCL built with at least {} -->\n", limits);
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      add("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", rank,
          static_cast<uint64_t>(input_blocks(shape, rank)) * shape.chunks,
          static_cast<uint64_t>(output_blocks(shape, rank)) * shape.chunks,
          blocks_.scratch[static_cast<size_t>(rank)]);
      gpu(blocks_.gpus[static_cast<size_t>(rank)]);
      out_ += "  </gpu>\n";
    }
    out_ += "</algo>\n";
    return std::move(out_);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }

  /// A size of a block in the terms of minBytes and maxBytes.
  uint64_t in_file(uint64_t bytes) const {
    uint64_t all = 0;
    return __builtin_mul_overflow(bytes, blocks_in_bytes(plan_.shape), &all) ? 0 : all;
  }

  /// The numbers of each step's last line in the file; index: block and step.
  using Numbers = std::vector<std::vector<size_t>>;

  void gpu(const std::vector<MscclBlock>& blocks) {
    const Numbers numbers = numbers_of(blocks);
    std::vector<std::vector<char>> awaited;
    for (const MscclBlock& block : blocks) awaited.emplace_back(block.steps.size());
    for (const MscclBlock& block : blocks)
      for (const MscclStep& step : block.steps)
        for (const StepPosition place : step.waits) awaited[static_cast<size_t>(place.block)][place.step] = 1;
    // MSCCL does not fuse an awaited step with the next one.
    for (size_t b = 0; b < blocks.size(); ++b)
      for (size_t s = 1; s < blocks[b].steps.size(); ++s)
        if (fused_wrongly(blocks[b].steps[s - 1], blocks[b].steps[s])) awaited[b][s - 1] = 1;
    for (size_t b = 0; b < blocks.size(); ++b) {
      add("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b, blocks[b].send, blocks[b].receive,
          blocks[b].channel);
      for (size_t s = 0; s < blocks[b].steps.size(); ++s)
        lines(blocks[b].steps[s], numbers[b][s], numbers, awaited[b][s] != 0);
      out_ += "    </tb>\n";
    }
  }

  void lines(const MscclStep& step, size_t last, const Numbers& numbers, bool awaited) {
    size_t number = last + 1 - lines_of(step);
    for (size_t w = 0; w + 1 < step.waits.size(); ++w)
      line(number++, "nop", {}, {}, 0, step.waits[w], numbers, false);
    StepPosition wait = step.waits.empty() ? StepPosition{} : step.waits.back();
    for (uint32_t done = 0; done < step.chunks; done += kMostPerStep) {
      const auto rest = [&](Operand operand) {
        if (operand.kind != Operand::Kind::none) operand.index += done;
        return operand;
      };
      const bool is_last = number == last;
      line(number++, type_of(step), rest(step.source), rest(step.kept),
           std::min(step.chunks - done, kMostPerStep), wait, numbers, is_last && awaited);
      wait = {};
    }
  }

  void line(size_t number, const char* type, Operand source, Operand kept, uint32_t count, StepPosition wait,
            const Numbers& numbers, bool awaited) {
    const auto index = [](Operand operand) {
      return operand.kind == Operand::Kind::none ? -1 : static_cast<int64_t>(operand.index);
    };
    const int64_t waited =
        wait.block < 0 ? -1 : static_cast<int64_t>(numbers[static_cast<size_t>(wait.block)][wait.step]);
    add("      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" "
        "depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
        number, type, letter(source.kind), index(source), letter(kept.kind), index(kept), count, wait.block,
        waited, awaited ? 1 : 0);
  }

  const ir::Plan& plan_;
  const Blocks& blocks_;
  std::string out_;
};

Status offsets_fit(const ir::Plan& plan, const Blocks& blocks) {
  uint64_t most = *std::max_element(blocks.scratch.begin(), blocks.scratch.end());
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank)
    most = std::max({most, uint64_t(input_blocks(plan.shape, rank)) * plan.shape.chunks,
                     uint64_t(output_blocks(plan.shape, rank)) * plan.shape.chunks});
  if (most <= kMostOffset + 1) return {};
  return {
      Code::invalid_argument,
      fmt::format("a buffer of the plan has {} chunks; MSCCL addresses at most {}", most, kMostOffset + 1)};
}

}  // namespace

Result<std::string> write(const ir::Plan& plan) {
  const auto blocks = blocks_of(plan);
  WEIR_TRY(blocks.status());
  WEIR_TRY(offsets_fit(plan, *blocks));
  return Writer(plan, *blocks).write();
}

}  // namespace weir::msccl
