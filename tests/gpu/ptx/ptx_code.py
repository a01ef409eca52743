# SPDX-License-Identifier: Apache-2.0
"""Translates one instruction of PTX to a statement of C++ (values.h, thread.h). Ends the program at an instruction that it does not
know, so that none is translated by guess."""

import re

TYPES = {"pred": "bool", "f32": "float", "f64": "double"}
for bits in (8, 16, 32, 64):
  TYPES.update({f"u{bits}": f"uint{bits}_t", f"b{bits}": f"uint{bits}_t", f"s{bits}": f"int{bits}_t"})
SPECIAL = {"%tid.x": "t.thread()", "%ntid.x": "t.threads()", "%ctaid.x": "t.block()", "%nctaid.x": "t.blocks()"}
SIGNS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "div": "/", "rem": "%"}
# Of comparisons that are true if an operand is NaN, their opposites.
UNORDERED = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
ORDERS = ("relaxed", "acquire", "release")


class Unknown(Exception):
  pass


def name_of(register):
  return register.replace("%", "v_").replace("$", "label_")


def unsigned(kind):
  return "u" + kind[1:] if kind[0] == "s" else kind


class Writer:
  """Writes the instructions of one kernel."""

  def __init__(self, kernel):
    self.kernel = kernel
    self.sites = 0

  def value(self, operand, kind):
    """An operand as a C++ expression of the type `kind` of PTX."""
    if operand in SPECIAL:
      return SPECIAL[operand]
    if operand.startswith("%"):
      return f"as<{TYPES[kind]}>({name_of(operand)})"
    if re.fullmatch(r"0f[0-9A-Fa-f]{8}", operand):
      return f"as<float>(uint32_t{{0x{operand[2:]}}})"
    if re.fullmatch(r"0d[0-9A-Fa-f]{16}", operand):
      return f"as<double>(uint64_t{{0x{operand[2:]}}})"
    if re.fullmatch(r"-?\d+", operand):
      return f"static_cast<{TYPES[kind]}>({operand}{'ull' if int(operand) >= 2**63 else 'll'})"
    if re.fullmatch(r"0x[0-9A-Fa-f]+U?", operand):
      return f"static_cast<{TYPES[kind]}>({operand.rstrip('U')}ull)"
    if operand == self.kernel.argument:
      return "t.argument()"
    if operand in self.kernel.shared:
      return f"uint64_t{{{self.kernel.shared[operand]}}}"
    raise Unknown(f"operand {operand}")

  def address(self, text, space):
    found = re.fullmatch(r"\[([^+\]]+)(?:\+(-?\d+))?\]", text)
    base = self.value(found.group(1), "b32" if found.group(1).startswith("%r") and space == "shared" and
                      not found.group(1).startswith("%rd") else "u64")
    inner = f"{base} + ({found.group(2) or 0})"
    return f"t.shared({inner})" if space == "shared" else inner

  def put(self, register, expression, kind):
    return f"put({name_of(register)}, static_cast<{TYPES[kind]}>({expression}));"

  def instruction(self, opcode, a):
    words = opcode.split(".")
    handler = getattr(self, f"do_{words[0]}", None)
    if handler is None:
      raise Unknown(f"instruction {opcode}")
    return handler(words, a)

  # Control.

  def do_ret(self, words, a):
    return f"return {self.kernel.result};" if self.kernel.result else "return;"

  def do_call(self, words, a):
    """call.uni (result), function, (parameters)"""
    result, given = (one.strip("() ") for one in (a[0], a[2]))
    return f"{result} = code_of_{a[1]}({', '.join(['t', *(one.strip() for one in given.split(','))])});"

  def do_bra(self, words, a):
    return f"goto {name_of(a[0])};"

  def do_nanosleep(self, words, a):
    return "t.pause();"

  def do_bar(self, words, a):
    if words[1:] != ["red", "or", "pred"] or a[1] != "0":
      raise Unknown(".".join(words))
    return f"put({name_of(a[0])}, t.barrier({self.value(a[2], 'pred')}));"

  def do_fence(self, words, a):
    return "t.fence();"

  do_membar = do_fence

  def do_shfl(self, words, a):
    """shfl.sync.MODE.b32 d|p, value, lane, bounds, members"""
    target = a[0].split("|")
    call = f"t.shuffle(Shuffle::{words[2]}, {', '.join(self.value(one, 'u32') for one in a[1:])})"
    text = f"const Shuffled said = {call}; put({name_of(target[0])}, said.value);"
    if len(target) > 1:
      text += f" put({name_of(target[1])}, said.valid);"
    return text

  # Memory.

  def transfer(self, words, a):
    loads = words[0] == "ld"
    space = next((word for word in words if word in ("param", "shared", "global")), "generic")
    count = next((int(word[1]) for word in words if word in ("v2", "v4")), 1)
    order = next((word for word in words if word in ORDERS), "weak")
    values, where = (a[0], a[1]) if loads else (a[1], a[0])
    items = [item.strip() for item in values.strip("{}").split(",")] if count > 1 else [values]
    kind = TYPES[words[-1]]
    if space == "param" and where.strip("[]") in self.kernel.locals:
      name = where.strip("[]")
      return f"put({name_of(values)}, as<{kind}>({name}));" if loads else f"put({name}, {self.value(values, words[-1])});"
    text = f"const uint64_t at = {self.address(where, space)};"
    if space == "param":
      return text + "".join(f" put({name_of(item)}, argument_at<{kind}>(at + {i} * sizeof({kind})));" for i, item in enumerate(items))
    if loads:
      text += f" {kind} got[{count}]; t.load<Order::{order}, Space::{space}>(at, got);"
      return text + "".join(f" put({name_of(item)}, got[{i}]);" for i, item in enumerate(items))
    listed = ", ".join(self.value(item, words[-1]) for item in items)
    return text + f" const {kind} given[] = {{{listed}}}; t.store<Order::{order}, Space::{space}>(at, given);"

  do_ld = do_st = transfer

  def do_cvta(self, words, a):
    return self.put(a[0], self.value(a[1], words[-1]), words[-1])

  # Values.

  def do_mov(self, words, a):
    kind = words[-1]
    if a[0].startswith("{"):
      items = [item.strip() for item in a[0].strip("{}").split(",")]
      width = int(kind[1:]) // len(items)
      return f"const uint64_t whole = {self.value(a[1], kind)};" + "".join(
          f" {self.put(item, f'whole >> {width * i}', f'u{width}')}" for i, item in enumerate(items) if item != "_")
    if a[1].startswith("{"):
      items = [item.strip() for item in a[1].strip("{}").split(",")]
      width = int(kind[1:]) // len(items)
      return self.put(a[0], " | ".join(f"uint64_t{{{self.value(item, f'u{width}')}}} << {width * i}" for i, item in enumerate(items)), kind)
    return self.put(a[0], self.value(a[1], kind), kind)

  def two(self, words, a):
    kind = words[-1] if words[-1][0] == "f" else unsigned(words[-1]) if words[0] in ("add", "sub") else words[-1]
    if words[0] in ("div", "rem") and kind[0] in "us":
      return self.put(a[0], f"divide<{str(words[0] == 'rem').lower()}>({self.value(a[1], kind)}, {self.value(a[2], kind)})", kind)
    return self.put(a[0], f"{self.value(a[1], kind)} {SIGNS[words[0]]} {self.value(a[2], kind)}", kind)

  do_add = do_sub = do_and = do_or = do_xor = do_div = do_rem = two

  def extreme(self, words, a):
    kind = words[-1]
    return self.put(a[0], f"{words[0]}imum({self.value(a[1], kind)}, {self.value(a[2], kind)})", kind)

  do_min = do_max = extreme

  def do_not(self, words, a):
    return self.put(a[0], ("!" if words[-1] == "pred" else "~") + self.value(a[1], words[-1]), words[-1])

  def do_neg(self, words, a):
    return self.put(a[0], "-" + self.value(a[1], words[-1]), words[-1])

  def do_abs(self, words, a):
    return self.put(a[0], f"std::abs({self.value(a[1], words[-1])})", words[-1])

  def do_mul(self, words, a):
    kind = words[-1]
    if words[1] == "wide":
      wide = kind[0] + str(2 * int(kind[1:]))
      return self.put(a[0], f"{TYPES[wide]}{{{self.value(a[1], kind)}}} * {TYPES[wide]}{{{self.value(a[2], kind)}}}", wide)
    if kind[0] == "f":
      return self.put(a[0], f"{self.value(a[1], kind)} * {self.value(a[2], kind)}", kind)
    if words[1] != "lo":
      raise Unknown(".".join(words))
    kind = unsigned(kind)
    return self.put(a[0], f"uint64_t{{{self.value(a[1], kind)}}} * uint64_t{{{self.value(a[2], kind)}}}", kind)

  def do_mad(self, words, a):
    if words[1] != "lo":
      raise Unknown(".".join(words))
    x, y, z = (f"uint64_t{{{self.value(one, unsigned(words[-1]))}}}" for one in a[1:])
    return self.put(a[0], f"{x} * {y} + {z}", unsigned(words[-1]))

  def do_fma(self, words, a):
    called = {"rn": "multiply_add", "rm": "multiply_add_down"}[words[1]]
    return self.put(a[0], f"{called}({', '.join(self.value(one, words[-1]) for one in a[1:])})", words[-1])

  def do_shl(self, words, a):
    return self.put(a[0], f"shift_left<{TYPES[words[-1]]}>({self.value(a[1], words[-1])}, {self.value(a[2], 'u32')})", words[-1])

  def do_shr(self, words, a):
    return self.put(a[0], f"shift_right<{TYPES[words[-1]]}>({self.value(a[1], words[-1])}, {self.value(a[2], 'u32')})", words[-1])

  def do_selp(self, words, a):
    kind = words[-1]
    return self.put(a[0], f"{self.value(a[3], 'pred')} ? {self.value(a[1], kind)} : {self.value(a[2], kind)}", kind)

  def do_setp(self, words, a):
    x, y = self.value(a[1], words[-1]), self.value(a[2], words[-1])
    if words[1] in ("nan", "num"):
      return f"put({name_of(a[0])}, {'!' if words[1] == 'num' else ''}({x} != {x} || {y} != {y}));"
    if words[1] in UNORDERED:
      return f"put({name_of(a[0])}, !({x} {COMPARISONS[UNORDERED[words[1]]]} {y}));"
    return f"put({name_of(a[0])}, {x} {COMPARISONS[words[1]]} {y});"

  def do_cvt(self, words, a):
    to, of = words[-2], words[-1]
    form = words[1:-2]
    if (to, of) == ("f32", "f16"):
      return f"put({name_of(a[0])}, from_half({self.value(a[1], 'u16')}));"
    if (to, of) == ("f16", "f32") and form == ["rn"]:
      return f"put({name_of(a[0])}, to_half({self.value(a[1], 'f32')}));"
    if (to, of) == ("f32", "f32") and form == ["sat"]:
      return self.put(a[0], f"saturate({self.value(a[1], of)})", to)
    if (to, of) == ("f64", "f32") and not form or (to, of) == ("f32", "f64") and form == ["rn"]:
      return self.put(a[0], self.value(a[1], of), to)
    if to[0] in "sf" and of == "f64" and form == ["rzi"]:
      return self.put(a[0], f"std::trunc({self.value(a[1], of)})", to)
    if of[0] in "us" and (to[0] in "us" and not form or to[0] == "f" and form == ["rn"]):
      return self.put(a[0], self.value(a[1], of), to)
    raise Unknown(".".join(words))

  def do_prmt(self, words, a):
    return self.put(a[0], f"permute({', '.join(self.value(one, 'u32') for one in a[1:])})", "u32")

  def do_bfi(self, words, a):
    if words[-1] != "b64":
      raise Unknown(".".join(words))
    listed = [self.value(one, "b64") for one in a[1:3]] + [self.value(one, "u32") for one in a[3:]]
    return self.put(a[0], f"insert_bits({', '.join(listed)})", "b64")

  def do_bfe(self, words, a):
    return self.put(a[0], f"extract_bits<{TYPES[words[-1]]}>({self.value(a[1], words[-1])}, {self.value(a[2], 'u32')}, {self.value(a[3], 'u32')})", words[-1])

  def do_popc(self, words, a):
    return self.put(a[0], f"__builtin_popcountll({self.value(a[1], words[-1])})", "u32")

  def unary(self, words, a):
    called = {"rcp": "reciprocal", "sqrt": "square_root", "ex2": "power_of_two"}[words[0]]
    return self.put(a[0], f"{called}({self.value(a[1], words[-1])})", words[-1])

  do_rcp = do_sqrt = do_ex2 = unary
