# SPDX-License-Identifier: Apache-2.0
"""JAX's collectives between CPUs over weir.

    import weir_jax                                   # before jax
    weir_jax.initialize("host0:1234", num_processes=4, process_id=0)
    import jax                                        # collectives of jax.jit, shard_map and others are weir's

The import names weir's library to jaxlib, which loads it when jax is imported.
"""

import ctypes as _ctypes
import os as _os
import sys as _sys
import threading as _threading
import weakref as _weakref
import zlib as _zlib

__all__ = ["initialize"]

_HERE = _os.path.dirname(_os.path.abspath(__file__))
_LIBRARY = _os.path.join(_HERE, "libweir_mpi.so")
_VARIABLE = "MPITRAMPOLINE_LIB"  # jaxlib reads it when it is imported
_ID = "weir_jax/unique_id"       # a key of JAX's store
_ID_BYTES = 128

_too_late = "jaxlib" in _sys.modules and _os.environ.get(_VARIABLE) != _LIBRARY
_os.environ.setdefault(_VARIABLE, _LIBRARY)


def _number(name):
  """The value of an environment variable, or None if it is no number."""
  text = _os.environ.get(name, "")
  return int(text) if text.isdecimal() else None


def _launched():
  """(address, number of processes, process) from launchers that JAX does not know; None for what is not there."""
  for rank, size in (("RANK", "WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")):  # weir run and torchrun; MPICH
    if _number(rank) is not None and _number(size) is not None:
      break
  else:
    return None, None, None
  address = None
  if "MASTER_ADDR" in _os.environ and "JAX_COORDINATOR_ADDRESS" not in _os.environ:
    # torchrun's own store uses MASTER_PORT.
    port = (_number("MASTER_PORT") or 29500) + ("TORCHELASTIC_RUN_ID" in _os.environ)
    address = f"{_os.environ['MASTER_ADDR']}:{port}"
  return address, _number(size), _number(rank)


def _checked(library, result):
  if result != 0:
    library.ncclGetLastError.restype = _ctypes.c_char_p
    raise RuntimeError("weir: " + library.ncclGetLastError(None).decode(errors="replace"))


def _unique_id(client, process, seconds):
  """The id of the job in hexadecimal digits, which process 0 makes and JAX's store passes on."""
  if process != 0:
    said = client.blocking_key_value_get(_ID, int(seconds * 1000))
    if said.startswith("weir: "):
      raise RuntimeError(f"{said} (in process 0)")
    return said
  library = _ctypes.CDLL(_os.path.join(_HERE, "@LIBWEIR@"))
  number = _ctypes.create_string_buffer(_ID_BYTES)
  try:
    _checked(library, library.ncclGetUniqueId(number))
  except RuntimeError as error:
    client.key_value_set(_ID, str(error))
    raise
  client.key_value_set(_ID, number.raw.hex())
  return number.raw.hex()


def _join():
  """Waits until all ranks are there, and raises the sentence of an error: jaxlib does not look at the result."""
  library = _ctypes.CDLL(_LIBRARY)
  result = library.MPIABI_Barrier(_ctypes.c_size_t(_ctypes.c_size_t.in_dll(library, "MPIABI_COMM_WORLD").value))
  if result != 0:
    text = _ctypes.create_string_buffer(1024)
    library.MPIABI_Error_string(result, text, None)
    raise RuntimeError(text.value.decode(errors="replace"))


def _devices_of(executable):
  """The numbers of all devices of what JAX is about to run; None: not known, or those of one process only."""
  for handler in (executable.in_handler, executable.out_handler):
    for sharding in (*getattr(handler, "in_shardings", ()), *getattr(handler, "out_shardings", ())):
      devices = getattr(sharding, "_device_assignment", ())
      if len({device.process_index for device in devices}) > 1:
        return [device.id for device in devices]
  return None


def _watch_programs(jax):
  """Tells the library for which devices a program is that runs for the first time, when its communicators are made.

  jaxlib itself tells too little to notice that processes run different programs. JAX's class of what runs is internal and may
  change; without it the library knows what jaxlib says.
  """
  from jax._src.interpreters import pxla  # pylint: disable=import-outside-toplevel
  kind = getattr(pxla, "ExecuteReplicated", None)
  if kind is None:
    return
  library, run, known, lock = _ctypes.CDLL(_LIBRARY), kind.__call__, _weakref.WeakSet(), _threading.RLock()

  def run_and_tell(self, *arguments):
    devices = None if self in known else _devices_of(self)
    known.add(self)
    if devices is None:
      return run(self, *arguments)
    with lock:
      library.MPIABI_Pcontrol(_zlib.crc32(repr(devices).encode()) & 0x7fffffff)
      try:
        return jax.block_until_ready(run(self, *arguments))  # a thread of jaxlib may make the communicators later
      finally:
        library.MPIABI_Pcontrol(0)

  kind.__call__ = run_and_tell


def initialize(coordinator_address=None, num_processes=None, process_id=None, initialization_timeout=300, **options):
  """Calls jax.distributed.initialize, and joins the processes over weir; a barrier of all of them.

  coordinator_address, num_processes, process_id and options are those of jax.distributed.initialize; coordinator_address is
  "host:port" of process 0, and initialization_timeout is in seconds. What is None comes from RANK, WORLD_SIZE, MASTER_ADDR
  and MASTER_PORT (weir run, torchrun) or PMI_RANK and PMI_SIZE (MPICH), or is found by JAX (Open MPI, Slurm).

  Settings of JAX have to be made before, as this creates its CPU devices. To be called once in a process, by any thread.
  Raises RuntimeError, with weir's sentence, if the processes cannot join or jax was imported before weir_jax, and ValueError
  if a process has more than one CPU device.
  """
  if _too_late:
    raise RuntimeError("weir: jax was imported before weir_jax; expected 'import weir_jax' as the first of the two")
  if _os.environ.get(_VARIABLE) != _LIBRARY:
    raise RuntimeError(f"weir: {_VARIABLE} is {_os.environ.get(_VARIABLE)!r}; expected it unset, or {_LIBRARY!r}")
  import jax  # pylint: disable=import-outside-toplevel
  from jax._src import distributed  # pylint: disable=import-outside-toplevel
  address, size, rank = _launched()
  jax.config.update("jax_cpu_collectives_implementation", "mpi")
  jax.distributed.initialize(
      coordinator_address or address, size if num_processes is None else num_processes, rank if process_id is None else process_id,
      initialization_timeout=initialization_timeout, **options)
  state = distributed.global_state
  number = _unique_id(state.client, state.process_id, initialization_timeout)
  _os.environ["WEIR_MPI_JOB"] = f"{state.process_id} {state.num_processes} {number}"
  try:
    devices = jax.local_devices(backend="cpu")  # jaxlib creates its devices now, and the library joins
  finally:
    del _os.environ["WEIR_MPI_JOB"]  # processes that this one starts are not of the job
  if len(devices) != 1:
    raise ValueError(f"weir: this process has {len(devices)} CPU devices; expected one, as jaxlib's collectives over MPI need it "
                     "(jax_num_cpu_devices, --xla_force_host_platform_device_count)")
  _join()
  _watch_programs(jax)
