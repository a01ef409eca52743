#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose malloc is that of libweir_heap.so: preload_test.py WEIR PROGRAM LIBRARY.

Whole programs, as users start them: all functions of malloc in threads that fork, two ranks whose large buffers are read in
place, Python, and what happens where shared memory is refused.
"""

import os
import resource
import subprocess
import sys

weir, program, library = sys.argv[1:4]


def run(*command, preload=True, **options):
  variables = dict(os.environ, **({"LD_PRELOAD": library} if preload else {}))
  return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=variables, **options)


def expect_success(done):
  assert done.returncode == 0, (done.args, done.returncode, done.stdout, done.stderr)
  return done.stdout


def limit_address_space():
  resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))


def limit_files():
  resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


expect_success(run(program, "stress"))
expect_success(run(program, "stress", preexec_fn=limit_address_space))

ranks = (weir, "run", "-n", "2", "--plain")
said = expect_success(run(*ranks, "--shared-heap", "--", "env", "NCCL_DEBUG=INFO", program, "ranks", preload=False))
assert said.count("shared heap of ") == 2, said
without = run(*ranks, "--", program, "ranks", preload=False)
assert without.returncode != 0, "the program reads through the kernel without a shared heap"

python = "import os; a = bytearray(1 << 24); a[5] = 7; pid = os.fork(); a[5] += 1; \
print(a[5], flush=True) if pid and not os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) else os._exit(a[5] - 8)"
assert expect_success(run(sys.executable, "-c", python)) == "8\n"

refused = run(program, "stress", preexec_fn=limit_files)
assert refused.returncode == 0, refused
assert "weir: no shared heap, the program uses an ordinary one: making it within ulimit -f and -v failed" in refused.stderr, refused
print("malloc in threads that fork, ranks that read in place, Python, and refusals: right")
