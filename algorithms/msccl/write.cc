// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "algorithms/msccl/blocks.h"
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
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::all_to_all: return "alltoall";
    default: return name(kind);
  }
}

char letter(Operand::Kind kind) {
  return kind == Operand::Kind::output ? 'o' : kind == Operand::Kind::scratch ? 's' : 'i';
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
        "inplace=\"{}\" outofplace=\"1\" minBytes=\"0\" maxBytes=\"0\">\n",
        topology::xml_text(plan_.algorithm), blocks_.channels, chunks, shape.ranks, word(shape.kind), root,
        shape.kind == Collective::all_to_all ? 0 : 1);
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

  void gpu(const std::vector<MscclBlock>& blocks) {
    // A step can wait for one other step: each further one needs an additional step without an operation.
    std::vector<std::vector<size_t>> numbers(blocks.size());
    std::vector<std::vector<char>> awaited(blocks.size());
    for (size_t b = 0; b < blocks.size(); ++b) {
      size_t number = 0;
      for (const MscclStep& step : blocks[b].steps) {
        number += step.waits.empty() ? 0 : step.waits.size() - 1;
        numbers[b].push_back(number++);
      }
      awaited[b].resize(blocks[b].steps.size());
    }
    for (const MscclBlock& block : blocks)
      for (const MscclStep& step : block.steps)
        for (const StepPosition place : step.waits) awaited[static_cast<size_t>(place.block)][place.step] = 1;
    for (size_t b = 0; b < blocks.size(); ++b) {
      add("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b, blocks[b].send, blocks[b].receive,
          blocks[b].channel);
      for (size_t s = 0; s < blocks[b].steps.size(); ++s)
        steps(blocks[b].steps[s], numbers[b][s], numbers, awaited[b][s] != 0);
      out_ += "    </tb>\n";
    }
  }

  void steps(const MscclStep& step, size_t number, const std::vector<std::vector<size_t>>& numbers,
             bool awaited) {
    const size_t waits = step.waits.size();
    for (size_t w = 0; w + 1 < waits; ++w)
      line(number - (waits - 1) + w, "nop", {}, {}, 0, step.waits[w], numbers, false);
    line(number, type_of(step), step.source, step.kept, step.chunks,
         waits == 0 ? StepPosition{} : step.waits.back(), numbers, awaited);
  }

  void line(size_t number, const char* type, Operand source, Operand kept, uint32_t count, StepPosition wait,
            const std::vector<std::vector<size_t>>& numbers, bool awaited) {
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

}  // namespace

Result<std::string> write(const ir::Plan& plan) {
  const auto blocks = blocks_of(plan);
  WEIR_TRY(blocks.status());
  return Writer(plan, *blocks).write();
}

}  // namespace weir::msccl
