#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What translate.py makes of small kernels, and what it refuses."""

import unittest

import faults
import ptx_code
import ptx_text
import translate

KERNEL = """
.visible .entry small(
	.param .align 8 .b8 small_param_0[24]
)
.maxntid 512, 1, 1
{
	.reg .pred 	%p<3>;
	.reg .b64 	%rd<4>;
	.shared .align 8 .b8 words[20];

	ld.param.u64 	%rd1, [small_param_0+8];   // a comment; with a semicolon
	bar.red.or.pred 	%p2, 0, %p1;
	@!%p2 bra 	$L__BB0_2;
	st.release.sys.global.u64 [%rd1+16], %rd2;
	st.relaxed.sys.global.v2.u64 [%rd1], {%rd2, %rd3};

$L__BB0_2:
	ret;
}
"""


class Text(unittest.TestCase):
  """ptx_text.py."""

  def setUp(self):
    self.kernel, = ptx_text.kernels(KERNEL)

  def test_reads_what_a_kernel_has(self):
    self.assertEqual((self.kernel.name, self.kernel.argument_bytes), ("small", 24))
    self.assertEqual(self.kernel.registers, [("pred", "%p1"), ("pred", "%p2"), ("b64", "%rd1"), ("b64", "%rd2"), ("b64", "%rd3")])
    self.assertEqual((self.kernel.shared, self.kernel.shared_bytes), ({"words": 0}, 32))

  def test_reads_guards_labels_and_vectors(self):
    self.assertIn(("do", "!%p2", "bra", ["$L__BB0_2"]), self.kernel.statements)
    self.assertIn(("label", "$L__BB0_2"), self.kernel.statements)
    self.assertIn(("do", None, "st.relaxed.sys.global.v2.u64", ["[%rd1]", "{%rd2, %rd3}"]), self.kernel.statements)


class Code(unittest.TestCase):
  """ptx_code.py and translate.py."""

  def test_orders_reach_the_machine(self):
    text = translate.translate(KERNEL)
    self.assertIn("t.store<Order::release, Space::global>(at, given);", text)
    self.assertIn("t.barrier(as<bool>(v_p1))", text)
    self.assertIn("if (!as<bool>(v_p2)) { goto label_L__BB0_2; }", text)
    self.assertIn("small_argument_bytes = 24", text)

  def test_instructions_are_counted_until_code_may_leave(self):
    self.assertEqual(translate.translate(KERNEL).count("t.count(3);"), 1)

  def test_refuses_what_it_does_not_know(self):
    for line in ("tcgen05.mma %rd1;", "mul.hi.u64 %rd1, %rd2, %rd3;", "bar.sync 1;", "add.s64 %rd1, %rd2, elsewhere;"):
      with self.assertRaises(ptx_code.Unknown, msg=line):
        translate.translate(KERNEL.replace("\tret;", f"\t{line}\n\tret;"))
    with self.assertRaises(ptx_code.Unknown):
      translate.translate(KERNEL, only=["another"])


  def test_functions_are_called_with_values(self):
    text = translate.translate("""
.func  (.param .b64 func_retval0) twice(
	.param .b64 twice_param_0
)
{
	.reg .b64 	%fd<3>;
	ld.param.f64 	%fd1, [twice_param_0];
	add.rn.f64 	%fd2, %fd1, %fd1;
	st.param.f64 	[func_retval0], %fd2;
	ret;
}
""" + KERNEL.replace("\tret;", """
	{ // callseq 0, 0
	.param .b64 param0;
	st.param.f64 	[param0], %rd1;
	.param .b64 retval0;
	call.uni (retval0),
	twice,
	(
	param0
	);
	ld.param.f64 	%rd2, [retval0];
	}
	ret;"""))
    self.assertIn("uint64_t code_of_twice(Thread& t, uint64_t twice_param_0) {", text)
    self.assertIn("put(v_fd1, as<double>(twice_param_0));", text)
    self.assertIn("return func_retval0;", text)
    self.assertIn("retval0 = code_of_twice(t, param0);", text)
    self.assertIn("put(v_rd2, as<double>(retval0));", text)
    self.assertNotIn("twice_argument_bytes", text, "it cannot be launched")

  def test_comparisons_that_are_true_for_nan(self):
    for name, said in (("geu", "!(as<float>(v_rd1) < as<float>(v_rd2))"), ("num", "!(as<float>(v_rd1) != as<float>(v_rd1) || ")):
      self.assertIn(said, translate.translate(KERNEL.replace("\tret;", f"\tsetp.{name}.f32 %p1, %rd1, %rd2;\n\tret;")))


class Faults(unittest.TestCase):
  """faults.py."""

  def test_each_changes_the_text(self):
    self.assertIn("st.relaxed.sys.global.u64 [%rd1+16]", faults.planted("relaxed_release", KERNEL))
    self.assertIn("mov.pred %p2, %p1;", faults.planted("no_first_barrier", KERNEL))
    self.assertIn("[%rd1+4], %flag; fence.acq_rel.sys; st.relaxed.sys.global.u32 [%rd1+0], %data;", faults.planted("flag_first", KERNEL))
    translate.translate(faults.planted("flag_first", KERNEL))

  def test_says_where_there_is_no_place_for_one(self):
    for name in ("relaxed_acquire", "no_second_barrier"):
      with self.assertRaises(faults.NoPlace, msg=name):
        faults.planted(name, KERNEL)


if __name__ == "__main__":
  unittest.main()
