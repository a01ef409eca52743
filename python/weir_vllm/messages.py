# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of tensors from one rank to another, over a group of torch.distributed.

A message is its head, of one size, in which a pickle tells keys, shapes and values that are no tensors; the rest of the pickle if it
is longer; and the tensors' elements. As vLLM's own messages, it has to come from a rank that is trusted.
"""

import pickle

import torch
import torch.distributed as dist

HEAD = 2048  # bytes; messages of pipelines need some hundreds
_LENGTH = 8  # bytes of a head that tell the pickle's length


class _Shape:
  """A tensor whose elements follow."""

  __slots__ = ("dtype", "sizes")

  def __init__(self, tensor):
    self.dtype, self.sizes = tensor.dtype, tuple(tensor.shape)

  def __reduce__(self):
    return _empty, (self.dtype, self.sizes)


class _Empty:
  """What a shape becomes at the receiver."""

  __slots__ = ("tensor",)

  def __init__(self, tensor):
    self.tensor = tensor


def _empty(dtype, sizes):
  return _Empty(torch.empty(sizes, dtype=dtype))


def _wait(works):
  for work in works:
    work.wait()


def send(values, rank, group):
  """Returns when the tensors may be changed. `rank`: in the default group."""
  tensors = [value.contiguous() for value in values.values() if isinstance(value, torch.Tensor)]
  text = pickle.dumps({key: _Shape(value) if isinstance(value, torch.Tensor) else value for key, value in values.items()}, protocol=5)
  text = len(text).to_bytes(_LENGTH, "little") + text
  buffer = torch.frombuffer(bytearray(text.ljust(HEAD, b"\0")), dtype=torch.uint8)
  parts = [buffer[:HEAD], buffer[HEAD:], *tensors]
  _wait([dist.isend(part, rank, group=group) for part in parts if part.numel()])


def receive(rank, group):
  """The dictionary that this rank of the default group sends next."""
  head = torch.empty(HEAD, dtype=torch.uint8)
  dist.recv(head, rank, group=group)
  text = head.numpy().tobytes()
  length = int.from_bytes(text[:_LENGTH], "little")
  if length > HEAD - _LENGTH:
    rest = torch.empty(length - (HEAD - _LENGTH), dtype=torch.uint8)
    dist.recv(rest, rank, group=group)
    text += rest.numpy().tobytes()
  values = pickle.loads(text[_LENGTH:_LENGTH + length])
  found = {key: value.tensor if isinstance(value, _Empty) else value for key, value in values.items()}
  _wait([dist.irecv(value.tensor, rank, group=group) for value in values.values() if isinstance(value, _Empty) and value.tensor.numel()])
  return found
