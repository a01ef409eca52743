# SPDX-License-Identifier: Apache-2.0
"""Puts weir in the place of Gloo: what asks torch.distributed for 'gloo' gets weir, and is told that it is 'gloo'.

With WEIR_TORCH_REPLACE=gloo, weir_torch.pth of the installed package calls at_start() when Python starts; programs call
weir_torch.replace(). This module is beside the package because it must not import PyTorch. Gloo itself stays reachable as the
back end 'original_gloo'.
"""

import datetime
import functools
import importlib.abc
import importlib.util
import os
import sys
import types

ORIGINAL = "original_gloo"

_C10D = "torch.distributed.distributed_c10d"


def creator(title):
  """What PyTorch 2 calls to create a group whose events of the profiler begin with `title`."""
  def create(options, _):
    import weir_torch  # not before a group is created: it needs the whole of PyTorch
    timeout = options.timeout
    if not isinstance(timeout, datetime.timedelta):
      timeout = datetime.timedelta(seconds=timeout)
    group = weir_torch._C.create(options.store, options.group_rank, options.group_size, timeout, title,
                                 getattr(options, "enable_reconfigure", False))
    try:
      kept = group.options
    except (AttributeError, RuntimeError):  # before 2.15
      return group
    kept.global_ranks_in_group, kept.group_name = options.global_ranks_in_group, options.group_id
    return group
  return create


def _within(function, names):
  """The function, for which the attributes `names`, (object, name, value) each, have these values."""
  @functools.wraps(function)
  def call(*positional, **named):
    before = [getattr(where, name) for where, name, _ in names]
    for where, name, value in names:
      setattr(where, name, value)
    try:
      return function(*positional, **named)
    finally:
      for (where, name, _), value in zip(names, before):
        setattr(where, name, value)
  return call


def replace(c10d):
  """Replaces Gloo in the module torch.distributed.distributed_c10d, for groups that are created from now on. Once is enough."""
  if hasattr(c10d.Backend, ORIGINAL.upper()):
    return
  if not c10d.is_gloo_available():
    raise RuntimeError("weir: this PyTorch was built without Gloo, so that no program can ask it for that")
  gloo = c10d.ProcessGroupGloo
  # Without a list PyTorch 2 looks for accelerators, which it has not got yet while it is imported.
  devices = {"devices": ["cpu", "cuda"]} if hasattr(c10d.Backend, "backend_capability") else {}
  c10d.Backend.register_backend(ORIGINAL, lambda store, rank, size, timeout: gloo(store, rank, size, timeout=timeout), **devices)
  if hasattr(c10d.Backend, "_ensure_backend_registered"):  # since 2.14; what it registers must not come after this
    c10d.Backend._ensure_backend_registered("gloo")
  kinds = getattr(c10d.ProcessGroup, "BackendType", None)  # since 2.0
  if kinds:
    # DDP's log takes a group of the type GLOO for an object of Gloo's class.
    c10d.Backend.backend_type_map["gloo"] = kinds.CUSTOM
  if hasattr(c10d, "_create_gloo_process_group"):  # since 2.14
    create = creator("gloo")
    c10d._create_gloo_process_group = create
    plugins = c10d.Backend._plugins
    plugins["GLOO"] = plugins["GLOO"]._replace(creator_fn=create)
    return
  class _Kind(type):
    """Of what takes the place of Gloo's class: PyTorch calls it, and asks whether the result is one of it."""
    def __call__(cls, store, rank, size, timeout=c10d.default_pg_timeout):
      import weir_torch
      return weir_torch._C.create(store, rank, size, timeout, "gloo")

    def __instancecheck__(cls, thing):
      return isinstance(thing, gloo.__base__)  # as which Python sees weir's groups
  new_group = _Kind("ProcessGroupGloo", (), {})
  if hasattr(gloo, "options") and not hasattr(gloo.__base__, "options"):
    # Before 2.15 PyTorch writes ranks and name of a new group there, which weir does not need.
    gloo.__base__.options = property(lambda _: types.SimpleNamespace())
  replaced = [(c10d, "ProcessGroupGloo", new_group)] + ([(kinds, "GLOO", kinds.CUSTOM)] if kinds else [])
  c10d._new_process_group_helper = _within(c10d._new_process_group_helper, replaced)
  # What checks the calls of a group (TORCH_DISTRIBUTED_DEBUG=DETAIL) is written for Gloo's class.
  c10d._create_process_group_wrapper = _within(c10d._create_process_group_wrapper, [(c10d, "ProcessGroupGloo", gloo)])


class _Watch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
  """Replaces Gloo as soon as the module has been imported, if it ever is."""

  def find_spec(self, fullname, path=None, target=None):
    if fullname != _C10D:
      return None
    sys.meta_path.remove(self)
    spec = importlib.util.find_spec(fullname)
    if spec is not None and spec.loader is not None:
      self._loader, spec.loader = spec.loader, self
    return spec

  def create_module(self, spec):
    return self._loader.create_module(spec)

  def exec_module(self, module):
    self._loader.exec_module(module)
    if hasattr(module, "Backend"):  # PyTorch may have been built without torch.distributed
      replace(module)


def at_start():
  asked = os.environ.get("WEIR_TORCH_REPLACE", "")
  if asked == "gloo":
    sys.meta_path.insert(0, _Watch())
  elif asked:
    sys.stderr.write(f"weir: WEIR_TORCH_REPLACE is {asked!r} and has no effect; expected gloo\n")
