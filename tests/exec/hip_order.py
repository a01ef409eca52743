# SPDX-License-Identifier: Apache-2.0
"""Reads from assembly for AMD's GPUs whether flags are loaded and stored for the whole system (hip_code.py).

MI200 and MI300 keep memory in caches that other GPUs do not look into. An access at system scope passes them by bits in the
instruction, a release writes back what is in them and waits until it is there, an acquire throws away what may be old. LLVM's
AMDGPU memory model says which instructions are needed.
"""

import re

# Bits of a load and of a store at system scope, and the instructions that begin a release and end an acquire.
SYSTEM = {
    "gfx90a": {"load": {"glc"}, "store": set(), "release": "buffer_wbl2", "acquire": "buffer_invl2"},
    "gfx942": {"load": {"sc0", "sc1"}, "store": {"sc0", "sc1"}, "release": "buffer_wbl2", "acquire": "buffer_inv"},
}
SYSTEM["gfx950"] = SYSTEM["gfx942"]
BITS = {"sc0", "sc1", "glc"}
WAITING_KERNELS = ("weir_lanes_bandwidth", "weir_lanes_packet", "weir_pairs")


def instructions(text):
  """The instructions of one kernel, each as its words."""
  lines = (line.split(";")[0].replace(",", " ").split() for line in text.splitlines())
  return [words for words in lines if words and not words[0].startswith(".") and not words[0].endswith(":")]


def bodies(text):
  """{kernel: its text}."""
  return dict(re.findall(r"^(\w+):[^\n]*@\1\n(.*?)^\s*\.section", text, re.M | re.S))


def access(words):
  """"load" or "store" where the instruction is one of memory that other GPUs may share."""
  found = re.match(r"(?:flat|global)_(load|store)_", words[0])
  return found.group(1) if found else None


def waits(words):
  return words[0] == "s_waitcnt" and "vmcnt(0)" in words


def released(code, at, needed):
  """What is wrong with the release that begins at `at`: it has to be waited for before the next store or barrier."""
  waited = False
  for words in code[at + 1:]:
    waited = waited or waits(words)
    if words[0] != "s_barrier" and access(words) != "store":
      continue
    if not waited:
      return f"{words[0]} does not wait for what {code[at][0]} writes back"
    if words[0] != "s_barrier" and not needed <= set(words):
      return f"{' '.join(words)} follows a release without {' '.join(sorted(needed))}"
    return None
  return None if waited else f"nothing waits for what {code[at][0]} writes back"  # code goes on further up


def acquired(code, at, needed):
  """What is wrong with the acquire that ends at `at`: a load that was waited for, or a barrier, comes before it."""
  waited = False
  for words in reversed(code[:at]):
    if words[0] == "s_barrier":
      return None
    waited = waited or waits(words)
    if access(words) == "load":
      if not needed <= set(words):
        return f"{' '.join(words)} precedes an acquire without {' '.join(sorted(needed))}"
      return None if waited else f"{code[at][0]} does not wait for {' '.join(words)}"
  return "an acquire that nothing precedes"


def complaints(architecture, kernel, text):
  """([what is wrong with the order of a kernel's accesses], accesses for the system, releases, acquires)."""
  system, code = SYSTEM[architecture], instructions(text)
  bad, accesses, releases, acquires = [], 0, 0, 0
  for at, words in enumerate(code):
    bits = BITS & set(words)
    kind = access(words)
    if words[0] == system["release"]:
      releases += 1
      bad.append(released(code, at, system["store"]))
    elif words[0] == system["acquire"]:
      acquires += 1
      bad.append(acquired(code, at, system["load"]))
    elif kind and bits:
      accesses += 1
      if bits != system[kind]:
        bad.append(f"{' '.join(words)} is not for the whole system: expected {' '.join(sorted(system[kind]))}")
    if words[0] in (system["release"], system["acquire"]) and bits != system["store"]:
      bad.append(f"{' '.join(words)} is not for the whole system")
  if kernel in WAITING_KERNELS and not (accesses and releases and acquires):
    bad.append(f"{accesses} accesses for the whole system, {releases} releases, {acquires} acquires; expected some of each")
  return [complaint for complaint in bad if complaint], accesses, releases, acquires
