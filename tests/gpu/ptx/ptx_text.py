# SPDX-License-Identifier: Apache-2.0
"""Reads the text of PTX as far as nvcc writes it for our kernels: kernels, their memory, and their statements in order."""

import re


class Kernel:
  """One .entry: its name, the bytes of its only argument, {shared variable: offset}, and its statements. Or one .func, which kernels
  call: its parameters and what it returns are `locals`, as are the parameters of calls."""

  def __init__(self, name, body, argument_bytes=0, parameters=(), result=None):
    self.name = name
    self.argument = f"{name}_param_0" if argument_bytes else None
    self.argument_bytes = argument_bytes
    self.parameters = list(parameters)
    self.result = result
    self.locals = {*self.parameters, *([result] if result else [])}
    self.shared = {}
    self.shared_bytes = 0
    self.registers = []  # (type, name), those of nested scopes without scope: nvcc numbers registers, and we name ours apart
    self.statements = []  # ("label", name), ("open",), ("close",), ("declare", type, name), ("do", guard, opcode, operands)
    for statement in split_statements(body):
      self._take(statement)

  def _take(self, text):
    if text in ("{", "}"):
      self.statements.append(("open",) if text == "{" else ("close",))
      return
    if text.endswith(":"):
      self.statements.append(("label", text[:-1]))
      return
    found = re.fullmatch(r"\.reg \.(\w+) (%\w+)<(\d+)>", text)
    if found:
      self.registers += [(found.group(1), f"{found.group(2)}{number}") for number in range(1, int(found.group(3)))]
      return
    found = re.fullmatch(r"\.reg \.(\w+) (.*)", text)
    if found:
      self.statements += [("declare", found.group(1), name.strip()) for name in found.group(2).split(",")]
      return
    found = re.fullmatch(r"\.param \.(\w+) (\w+)", text)
    if found:
      self.locals.add(found.group(2))
      self.statements.append(("declare", found.group(1), found.group(2)))
      return
    found = re.fullmatch(r"\.shared \.align \d+ \.\w(\d+) ([\w$]+)(?:\[(\d+)\])?", text)
    if found:
      self.shared[found.group(2)] = self.shared_bytes
      self.shared_bytes += (int(found.group(1)) // 8 * int(found.group(3) or 1) + 15) // 16 * 16
      return
    if text.startswith("."):
      return  # .pragma and the like
    found = re.fullmatch(r"(?:@(!?%\w+) )?(\S+)(?: (.*))?", text)
    self.statements.append(("do", found.group(1), found.group(2), operands(found.group(3) or "")))


def operands(text):
  """Splits at commas outside of braces, brackets and parentheses."""
  return [part.strip() for part in re.findall(r"(?:\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,])+", text)]


def split_statements(body):
  """Statements without comments and semicolons; labels end with a colon, and braces that are scopes stand alone."""
  body = re.sub(r"//[^\n]*", "", body)
  for part in body.split(";"):
    text = " ".join(part.split())
    while text:
      label = re.match(r"(\$\w+:)\s*", text)
      if text[0] in "{}":
        yield text[0]
        text = text[1:].strip()
      elif label:
        yield label.group(1)
        text = text[label.end():]
      else:
        yield text
        break


def kernels(text):
  for part in re.split(r"(?=\.visible \.entry )", text)[1:]:
    name = re.match(r"\.visible \.entry (\w+)", part).group(1)
    size = int(re.search(r"_param_0\[(\d+)\]", part).group(1))
    yield Kernel(name, body_of(part), argument_bytes=size)


def body_of(part):
  """Between the first brace and the one that ends it."""
  begin, depth = part.index("{"), 0
  for at in range(begin, len(part)):
    depth += {"{": 1, "}": -1}.get(part[at], 0)
    if depth == 0:
      return part[begin + 1:at]
  raise ValueError("a brace is not closed")


def functions(text):
  """Those that are defined: of 64 bits each are their parameters and what they return."""
  for found in re.finditer(r"\.func\s*\(\.param \.b64 (\w+)\) (\w+)\(([^)]*)\)\s*(?=\{)", text):
    yield Kernel(found.group(2), body_of(text[found.end():]), parameters=re.findall(r"\.param \.b64 (\w+)", found.group(3)),
                 result=found.group(1))
