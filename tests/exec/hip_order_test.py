#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hip_order.py has to notice each fault that is planted into a short piece of assembly as clang writes it."""

import unittest

import hip_order

GOOD = """
\tglobal_load_dwordx2 v[0:1], v2, s[4:5] sc0 sc1
\ts_waitcnt vmcnt(0)
\tbuffer_inv sc0 sc1
\tflat_load_dwordx4 v[4:7], v[2:3]
\ts_waitcnt vmcnt(0) lgkmcnt(0)
\tflat_store_dwordx4 v[8:9], v[4:7]
\tbuffer_wbl2 sc0 sc1
\ts_waitcnt vmcnt(0)
\ts_barrier
\tbuffer_inv sc0 sc1
\tbuffer_wbl2 sc0 sc1
\t;;#ASMSTART
\ts_waitcnt vmcnt(0)
\t;;#ASMEND
.LBB0_1:                                ; in Loop: Header=BB0_2
\tflat_store_dwordx2 v[8:9], v[0:1] offset:8 sc0 sc1
"""


def wrong(text, kernel="weir_pairs"):
  return hip_order.complaints("gfx942", kernel, text)[0]


class Order(unittest.TestCase):
  """One planted fault per test."""

  def planted(self, before, after, says):
    self.assertIn(before, GOOD)
    self.assertIn(says, "; ".join(wrong(GOOD.replace(before, after))))

  def test_accepts_what_is_right(self):
    self.assertEqual(wrong(GOOD), [])

  def test_finds_a_store_that_stays_in_a_cache(self):
    self.planted("offset:8 sc0 sc1", "offset:8", "follows a release without sc0 sc1")

  def test_finds_a_store_for_one_device_only(self):
    self.planted("offset:8 sc0 sc1", "offset:8 sc1", "is not for the whole system")

  def test_finds_a_load_from_a_cache(self):
    self.planted("s[4:5] sc0 sc1", "s[4:5]", "precedes an acquire without sc0 sc1")

  def test_finds_a_release_of_one_device_only(self):
    self.planted("buffer_wbl2 sc0 sc1", "buffer_wbl2 sc1", "is not for the whole system")

  def test_finds_a_store_that_does_not_wait(self):
    self.planted(";;#ASMSTART\n\ts_waitcnt vmcnt(0)\n", ";\n", "flat_store_dwordx2 does not wait for what buffer_wbl2")

  def test_finds_a_barrier_that_does_not_wait(self):
    self.planted("s_waitcnt vmcnt(0)\n\ts_barrier", "s_waitcnt lgkmcnt(0)\n\ts_barrier", "s_barrier does not wait")

  def test_finds_an_acquire_that_does_not_wait(self):
    self.planted("s[4:5] sc0 sc1\n\ts_waitcnt vmcnt(0)", "s[4:5] sc0 sc1", "buffer_inv does not wait")

  def test_finds_a_kernel_without_order(self):
    self.assertIn("expected some of each", wrong("\tflat_load_dword v0, v[2:3]")[0])
    self.assertEqual(wrong("\tflat_load_dword v0, v[2:3]", "weir_transfer"), [])


if __name__ == "__main__":
  unittest.main()
