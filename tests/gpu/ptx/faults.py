# SPDX-License-Identifier: Apache-2.0
"""Faults that are planted into the text of PTX; each has to be found by a test."""

import re


class NoPlace(Exception):
  pass


def replaced(pattern, by, text):
  result, count = re.subn(pattern, by, text)
  if count == 0:
    raise NoPlace(f"there is nothing like {pattern}")
  return result


def without_barrier(text, at):
  """Removes the barrier number `at` of each kernel; what it says stays."""
  parts = re.split(r"(?=\.visible \.entry )", text)
  for i, part in enumerate(parts[1:], 1):
    barriers = list(re.finditer(r"bar\.red\.or\.pred\s+(%p\d+), 0, (%p\d+);", part))
    if len(barriers) > at:
      found = barriers[at]
      parts[i] = part[:found.start()] + f"mov.pred {found.group(1)}, {found.group(2)};" + part[found.end():]
  if "".join(parts) == text:
    raise NoPlace(f"no kernel has {at + 1} barriers")
  return "".join(parts)


def flag_first(text):
  """Stores each half of a packet as two words, the flag before the data."""
  def words(found):
    address, low, high = found.groups()
    halves = "".join(
        f"mov.b64 {{%data, %flag}}, {value}; st.relaxed.sys.global.u32 [{address}+{at + 4}], %flag; fence.acq_rel.sys; "
        f"st.relaxed.sys.global.u32 [{address}+{at}], %data; " for at, value in ((0, low), (8, high)))
    return "{ .reg .b32 %data; .reg .b32 %flag; " + halves + "}"
  return replaced(r"st\.relaxed\.sys\.global\.v2\.u64\s+\[(%rd\d+)\], \{(%rd\d+), (%rd\d+)\};", words, text)


def first_block(text):
  """Each block takes the work of the first one."""
  return replaced(r"mov\.u32\s+(%r\d+), %ctaid\.x;", r"mov.u32 \1, 0;", text)


def near_lane(text):
  """The first step of each sum over 16 lanes adds the value of a nearer lane."""
  return replaced(r"(shfl\.sync\.down\.b32\s+\S+ %r\d+,) 8,", r"\1 4,", text)


FAULTS = {
    "relaxed_release": lambda text: replaced(r"st\.release\.sys", "st.relaxed.sys", text),
    "relaxed_acquire": lambda text: replaced(r"ld\.acquire\.sys", "ld.relaxed.sys", text),
    "no_first_barrier": lambda text: without_barrier(text, 0),
    "no_second_barrier": lambda text: without_barrier(text, 1),
    "flag_first": flag_first,
    "first_block": first_block,
    "near_lane": near_lane,
}


def planted(name, text):
  return FAULTS[name](text)
