# SPDX-License-Identifier: Apache-2.0
"""weir as a back end of torch.distributed.

    import torch.distributed as dist
    import weir_torch

    dist.init_process_group("weir")

Importing the package registers the back end 'weir'. Everything else is torch.distributed's own interface.
"""

import atexit as _atexit
import os as _os

import torch
import torch.distributed as _dist
import torch.distributed.distributed_c10d as _c10d
import weir_torch_replace as _replace

from . import _C

__all__ = ["abort", "monitored_barrier", "operator_group", "register", "replace", "set_sum_order", "sum_order"]

_ORDERS = ("run", "any", "ranks")  # as in weir/config.h, from 0 on


def register():
  """Registers the back end, as importing the package does; PyTorch 2.14 and later call it for init_process_group("weir")."""
  if hasattr(_dist.Backend, "WEIR"):
    return
  if int(torch.__version__.split(".", maxsplit=1)[0]) < 2:
    _dist.Backend.register_backend("weir", _C.create)
  else:
    _dist.Backend.register_backend("weir", _replace.creator("weir"), extended_api=True, devices=["cpu", "cuda"])


def _backend_of(group):
  """Returns the back end of a process group; before PyTorch 2, the group itself."""
  group = _dist.group.WORLD if group is None else group
  return group._get_backend(torch.device("cpu")) if hasattr(group, "_get_backend") else group


def replace(backend="gloo"):
  """Groups that are created from now on with the back end "gloo", by name or by default, are weir's; get_backend() says "gloo".

  Gloo's own groups are those of the back end "original_gloo". WEIR_TORCH_REPLACE=gloo does the same without a change of the
  program, if the package is installed.
  """
  if backend != "gloo":
    raise ValueError(f"weir: replace() was given {backend!r}; expected 'gloo'")
  _replace.replace(_c10d)


def abort(group=None):
  """Ends operations in flight in the group, in this process, with an error; every later operation fails. Any thread may call it.

  Other ranks notice that this one has left when they wait for it.
  """
  _C.abort(_backend_of(group))


def monitored_barrier(group=None, timeout=None, wait_all_ranks=True):
  """torch.distributed.monitored_barrier, which supports only Gloo: a barrier whose error names the missing ranks.

  All of them are named, on every rank that came, whatever wait_all_ranks says. timeout is a datetime.timedelta; None: the
  group's.
  """
  backend = _backend_of(group)
  if timeout is None:
    backend.monitored_barrier(wait_all_ranks=wait_all_ranks)
  else:
    backend.monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)


def operator_group(group=None):
  """The number by which operators call the group: torch.ops.weir.all_reduce_(tensor, number), and all_gather_ and gather_.

  They return when they are done. torch.compile leaves them as they are, and they cost less than torch.distributed's functions.
  """
  return _C.operator_group(_backend_of(group))


def set_sum_order(order, group=None):
  """Sets the order in which the group sums: "run" (the same in every run), "any" (the fastest) or "ranks" (that of the ranks).

  To be called on all ranks before the group's first operation; without it WEIR_ORDER counts.
  """
  if order not in _ORDERS:
    raise ValueError(f"weir: the order of sums is {order!r}; expected one of {', '.join(_ORDERS)}")
  _C.set_order(_backend_of(group), _ORDERS.index(order))


def sum_order(group=None):
  """The order in which the group sums, once it has done an operation; before, the one that was set, or None."""
  order = _C.order(_backend_of(group))
  return None if order < 0 else _ORDERS[order]


register()
# Process groups outlive the interpreter, but their threads may need its lock.
_atexit.register(_C.close_all)
# A forked child has no back-end threads, and would wait for them forever.
_os.register_at_fork(after_in_child=lambda: _atexit.unregister(_C.close_all))
