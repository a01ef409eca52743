// SPDX-License-Identifier: Apache-2.0

#include "python/weir_torch/collectives.h"

#include <algorithm>

#include "python/weir_torch/words.h"

namespace weir_torch {
namespace {

char* address(const at::Tensor& tensor) { return static_cast<char*>(tensor.data_ptr()); }

/// Reduces one block per rank, of equal size and packed; writes this rank's block of the result to `output`.
void fold_blocks(const Peers& peers, const at::Tensor& output, const at::Tensor& blocks,
                 const Reduction& reduction) {
  const int64_t count = blocks.numel() / peers.size();
  const Wire wire = wire_of(blocks.scalar_type());
  const at::Tensor exchanged = at::empty_like(blocks);
  peers.check(ncclAlltoAll(blocks.data_ptr(), exchanged.data_ptr(),
                           static_cast<size_t>(count) * wire.per_element, wire.type, peers.comm,
                           peers.stream));
  const at::Tensor by_rank = reduction.unfolded(exchanged.view({peers.size(), count}));
  at::Tensor folded = by_rank.select(0, 0);
  for (int rank = 1; rank < peers.size(); ++rank) reduction.fold(folded, by_rank.select(0, rank));
  copy_elements(output, reduction.end(folded, peers.size()));
}

/// Reduces a packed tensor over all ranks, for types and operations that weir does not support.
at::Tensor fold(const Peers& peers, const at::Tensor& flat, const Reduction& reduction) {
  const int64_t count = flat.numel(), share = (count + peers.size() - 1) / peers.size();
  const at::Tensor padded = at::zeros({share * peers.size()}, flat.options());
  copy_elements(padded.narrow(0, 0, count), flat);
  const at::Tensor own = at::empty({share}, flat.options());
  fold_blocks(peers, own, padded, reduction);
  const Wire wire = wire_of(flat.scalar_type());
  peers.check(ncclAllGather(own.data_ptr(), padded.data_ptr(), count_on(wire, own), wire.type, peers.comm,
                            peers.stream));
  return padded.narrow(0, 0, count);
}

/// Words that describe a sparse tensor: three, and 61 sizes at most.
constexpr size_t kLongestShape = 64;

bool have_equal_sizes(const Tensors& tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const at::Tensor& tensor) { return tensor.numel() == tensors.front().numel(); });
}

/// A part of a tensor for one peer; all parts are sent and received concurrently.
struct Part {
  char* data;
  size_t bytes;
};
void exchange(const Peers& peers, const std::vector<Part>& outputs, const std::vector<Part>& inputs) {
  peers.communicator.grouped([&] {
    for (int peer = 0; peer < peers.size(); ++peer) {
      const Part& out = outputs[static_cast<size_t>(peer)];
      const Part& in = inputs[static_cast<size_t>(peer)];
      if (in.bytes > 0) peers.check(ncclSend(in.data, in.bytes, ncclUint8, peer, peers.comm, peers.stream));
      if (out.bytes > 0)
        peers.check(ncclRecv(out.data, out.bytes, ncclUint8, peer, peers.comm, peers.stream));
    }
  });
}

/// Divides a packed tensor along its first dimension.
std::vector<Part> cut(const at::Tensor& flat, const std::vector<int64_t>& sizes, int ranks) {
  const int64_t rows = flat.dim() == 0 ? 0 : flat.size(0);
  const size_t row = rows == 0 ? 0 : flat.nbytes() / static_cast<size_t>(rows);
  std::vector<Part> parts;
  char* at = address(flat);
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t count = sizes.empty() ? rows / ranks : sizes[static_cast<size_t>(rank)];
    parts.push_back({at, static_cast<size_t>(count) * row});
    at += parts.back().bytes;
  }
  return parts;
}

}  // namespace

void all_reduce(const Peers& peers, const Tensors& tensors, const Reduction& reduction) {
  std::vector<Target> targets;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.numel() > 0) targets.emplace_back(tensor, /*keep=*/true);
  }
  if (!reduction.is_native()) {
    for (const Target& target : targets) copy_elements(target.flat(), fold(peers, target.flat(), reduction));
  } else if (!targets.empty()) {
    const Reduction::Operator op(reduction, peers.communicator, peers.comm);
    const auto call = [&](const Target& target) {
      peers.check(ncclAllReduce(target.data(), target.data(), count_on(reduction.wire(), target.flat()),
                                reduction.wire().type, op, peers.comm, peers.stream));
    };
    if (targets.size() == 1) {
      call(targets.front());
    } else {
      peers.communicator.grouped([&] { std::for_each(targets.begin(), targets.end(), call); });
    }
  }
  for (const Target& target : targets) target.give_back();
}

void all_reduce_sparse(const Peers& peers, const at::Tensor& tensor) {
  const at::Tensor own = tensor.coalesce();
  // Entries, dimensions of indices, and the shape: different shapes would be an error that nobody
  // understands.
  std::vector<int64_t> facts{own._nnz(), own.sparse_dim(), own.dim()};
  facts.insert(facts.end(), own.sizes().begin(), own.sizes().end());
  facts.resize(kLongestShape, 0);
  std::vector<int64_t> all(facts.size() * static_cast<size_t>(peers.size()));
  peers.check(ncclAllGather(facts.data(), all.data(), facts.size(), ncclInt64, peers.comm, peers.stream));
  Tensors indices, values;
  for (int rank = 0; rank < peers.size(); ++rank) {
    const int64_t* theirs = all.data() + static_cast<size_t>(rank) * facts.size();
    if (!std::equal(theirs + 1, theirs + facts.size(), facts.begin() + 1))
      refuse("all_reduce of sparse tensors: that of rank " + std::to_string(rank) +
             " has another shape or other sparse dimensions than this rank's");
    indices.push_back(at::empty({theirs[0], own.sparse_dim()}, at::kLong));
    std::vector<int64_t> shape = own.values().sizes().vec();
    shape.front() = theirs[0];
    values.push_back(at::empty(shape, own.values().options()));
  }
  all_gather_blocks(peers, indices, own.indices().t().contiguous());
  all_gather_blocks(peers, values, own.values());
  tensor.copy_(at::sparse_coo_tensor(at::cat(indices).t(), at::cat(values), own.sizes()).coalesce());
}

void reduce(const Peers& peers, const at::Tensor& tensor, const Reduction& reduction, int root) {
  if (tensor.numel() == 0) return;
  const Target target(tensor, /*keep=*/true);
  if (reduction.is_native()) {
    const Reduction::Operator op(reduction, peers.communicator, peers.comm);
    peers.check(ncclReduce(target.data(), target.data(), count_on(reduction.wire(), target.flat()),
                           reduction.wire().type, op, root, peers.comm, peers.stream));
  } else {
    const at::Tensor sum = fold(peers, target.flat(), reduction);
    if (peers.rank() == root) copy_elements(target.flat(), sum);
  }
  if (peers.rank() == root) target.give_back();
}

void reduce_scatter(const Peers& peers, const Tensors& outputs, const Tensors& inputs,
                    const Reduction& reduction) {
  std::vector<Target> targets;
  Tensors flats;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].numel() == 0) continue;
    targets.emplace_back(outputs[i], /*keep=*/false);
    flats.push_back(packed(inputs[i]));
  }
  if (!reduction.is_native()) {
    for (size_t i = 0; i < targets.size(); ++i)
      fold_blocks(peers, targets[i].flat(), flats[i].view({-1}), reduction);
  } else if (!targets.empty()) {
    const Reduction::Operator op(reduction, peers.communicator, peers.comm);
    const auto call = [&](size_t i) {
      peers.check(ncclReduceScatter(flats[i].data_ptr(), targets[i].data(),
                                    count_on(reduction.wire(), targets[i].flat()), reduction.wire().type, op,
                                    peers.comm, peers.stream));
    };
    if (targets.size() == 1) {
      call(0);
    } else {
      peers.communicator.grouped([&] {
        for (size_t i = 0; i < targets.size(); ++i) call(i);
      });
    }
  }
  for (const Target& target : targets) target.give_back();
}

void reduce_scatter_blocks(const Peers& peers, const at::Tensor& output, const Tensors& blocks,
                           const Reduction& reduction) {
  if (have_equal_sizes(blocks)) {
    reduce_scatter(peers, {output}, {joined(blocks)}, reduction);
    return;
  }
  const size_t own = static_cast<size_t>(peers.rank());
  for (size_t rank = 0; rank < blocks.size(); ++rank) {
    if (rank != own) {
      reduce(peers, blocks[rank], reduction, static_cast<int>(rank));
      continue;
    }
    output.copy_(blocks[rank].view(output.sizes()));
    reduce(peers, output, reduction, static_cast<int>(rank));
  }
}

void broadcast(const Peers& peers, const at::Tensor& tensor, int root) {
  if (tensor.numel() == 0) return;
  const Target target(tensor, /*keep=*/peers.rank() == root);
  const Wire wire = wire_of(tensor.scalar_type());
  peers.check(ncclBroadcast(target.data(), target.data(), count_on(wire, target.flat()), wire.type, root,
                            peers.comm, peers.stream));
  if (peers.rank() != root) target.give_back();
}

void all_gather(const Peers& peers, const Tensors& outputs, const Tensors& inputs) {
  std::vector<Target> targets;
  Tensors flats;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (inputs[i].numel() == 0) continue;
    targets.emplace_back(outputs[i], /*keep=*/false);
    flats.push_back(packed(inputs[i]));
  }
  const auto call = [&](size_t i) {
    const Wire wire = wire_of(flats[i].scalar_type());
    peers.check(ncclAllGather(flats[i].data_ptr(), targets[i].data(), count_on(wire, flats[i]), wire.type,
                              peers.comm, peers.stream));
  };
  if (targets.size() == 1) {
    call(0);
  } else if (!targets.empty()) {
    peers.communicator.grouped([&] {
      for (size_t i = 0; i < targets.size(); ++i) call(i);
    });
  }
  for (const Target& target : targets) target.give_back();
}

void all_gather_blocks(const Peers& peers, const Tensors& outputs, const at::Tensor& input) {
  if (have_equal_sizes(outputs)) {
    if (input.numel() == 0) return;
    const bool in_place = are_adjacent(outputs);
    const at::Tensor flat = in_place ? joined(outputs) : at::empty({elements(outputs)}, input.options());
    all_gather(peers, {flat}, {input});
    deal_out(flat, outputs);
    return;
  }
  const Wire wire = wire_of(input.scalar_type());
  const at::Tensor own = packed(input);
  std::vector<Target> targets;
  for (const at::Tensor& output : outputs) targets.emplace_back(output, /*keep=*/false);
  peers.communicator.grouped([&] {
    for (int root = 0; root < peers.size(); ++root) {
      const Target& target = targets[static_cast<size_t>(root)];
      if (target.flat().numel() == 0) continue;
      const void* from = root == peers.rank() ? own.data_ptr() : target.data();
      peers.check(ncclBroadcast(from, target.data(), count_on(wire, target.flat()), wire.type, root,
                                peers.comm, peers.stream));
    }
  });
  for (const Target& target : targets) target.give_back();
}

void all_gather_lists(const Peers& peers, const std::vector<Tensors>& outputs, const Tensors& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensors of_each;
    for (const Tensors& list : outputs) of_each.push_back(list[i]);
    all_gather_blocks(peers, of_each, inputs[i]);
  }
}

void gather(const Peers& peers, const Tensors& outputs, const at::Tensor& input, int root) {
  if (input.numel() == 0) return;
  const at::Tensor own = packed(input);
  const Wire wire = wire_of(own.scalar_type());
  const bool here = peers.rank() == root;
  at::Tensor flat = own;
  if (here) {
    flat = are_adjacent(outputs) ? joined(outputs) : at::empty({own.numel() * peers.size()}, own.options());
  }
  peers.check(ncclGather(own.data_ptr(), flat.data_ptr(), count_on(wire, own), wire.type, root, peers.comm,
                         peers.stream));
  if (here) deal_out(flat, outputs);
}

void scatter(const Peers& peers, const at::Tensor& output, const Tensors& inputs, int root) {
  if (output.numel() == 0) return;
  const Target target(output, /*keep=*/false);
  const Wire wire = wire_of(output.scalar_type());
  const at::Tensor flat = peers.rank() == root ? joined(inputs) : target.flat();
  peers.check(ncclScatter(flat.data_ptr(), target.data(), count_on(wire, target.flat()), wire.type, root,
                          peers.comm, peers.stream));
  target.give_back();
}

void all_to_all(const Peers& peers, const at::Tensor& output, const at::Tensor& input,
                const std::vector<int64_t>& output_sizes, const std::vector<int64_t>& input_sizes) {
  const Target target(output, /*keep=*/false);
  const at::Tensor flat = packed(input);
  if (output_sizes.empty() && input_sizes.empty()) {
    const Wire wire = wire_of(flat.scalar_type());
    const size_t count = count_on(wire, flat) / static_cast<size_t>(peers.size());
    if (count > 0) {
      peers.check(ncclAlltoAll(flat.data_ptr(), target.data(), count, wire.type, peers.comm, peers.stream));
    }
  } else {
    exchange(peers, cut(target.flat(), output_sizes, peers.size()), cut(flat, input_sizes, peers.size()));
  }
  target.give_back();
}

void all_to_all_blocks(const Peers& peers, const Tensors& outputs, const Tensors& inputs) {
  std::vector<Target> targets;
  Tensors flats;
  std::vector<Part> to, from;
  for (size_t peer = 0; peer < outputs.size(); ++peer) {
    targets.emplace_back(outputs[peer], /*keep=*/false);
    flats.push_back(packed(inputs[peer]));
    to.push_back({address(targets.back().flat()), targets.back().flat().nbytes()});
    from.push_back({address(flats.back()), flats.back().nbytes()});
  }
  exchange(peers, to, from);
  for (const Target& target : targets) target.give_back();
}

void barrier(const Peers& peers) {
  int32_t here = 1;
  peers.check(ncclAllReduce(&here, &here, 1, ncclInt32, ncclSum, peers.comm, nullptr));
}

}  // namespace weir_torch
