# SPDX-License-Identifier: Apache-2.0
"""Finds functions, classes and interfaces in C++ by counting braces; no compiler needed.

It reads what Google style writes. What it does not see: functions made by macros, lambdas in initialisers.
"""

import dataclasses
import re

import source_tree


@dataclasses.dataclass
class Function:
  name: str
  first_line: int
  last_line: int

  @property
  def lines(self):
    return self.last_line - self.first_line + 1


@dataclasses.dataclass
class Interface:
  name: str
  line: int
  pure_virtuals: int = 0


_TOKENS = re.compile(r'"[^"]*"|[A-Za-z_]\w*|::|->|\S', re.DOTALL)
_TEMPLATE_WORDS = ("template",)


def _head_tokens(head):
  """Tokens of a declaration's head, without template<...>, alignas(...) and [[attributes]]."""
  head = re.sub(r"\[\[.*?\]\]", lambda m: re.sub(r"[^\n]", " ", m.group(0)), head, flags=re.DOTALL)
  head = re.sub(r"\b(?:alignas|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", " ", head)
  head = re.sub(r"\boperator\s*(?:\(\s*\)|\[\s*\]|[^\s\w(]+|\"[^\"]*\"\s*\w+)", " operator_symbol ", head)
  tokens = _TOKENS.findall(head)
  out = []
  at = 0
  while at < len(tokens):
    if tokens[at] in _TEMPLATE_WORDS and at + 1 < len(tokens) and tokens[at + 1] == "<":
      depth, at = 0, at + 1
      while at < len(tokens):
        depth += {"<": 1, ">": -1}.get(tokens[at], 0)
        at += 1
        if depth == 0:
          break
      continue
    out.append(tokens[at])
    at += 1
  return out


def _outer(tokens):
  """Tokens outside of any parentheses; each parenthesised group becomes one '()'."""
  out, depth = [], 0
  for token in tokens:
    if token in "([":
      depth += 1
      if depth == 1 and token == "(":
        out.append("()")
    elif token in ")]":
      depth -= 1
    elif depth == 0:
      out.append(token)
  return out


def _qualified_name(tokens):
  """The name at the end of the tokens, with the classes it is qualified by."""
  first = len(tokens) - 1
  while first >= 2 and tokens[first - 1] == "::":
    first -= 2
  return "".join(tokens[first:]).replace("operator_symbol", "operator")


def _classify(head):
  """What the '{' after this head opens: ('scope'|'class'|'function'|'initializer'|'member', name)."""
  if head.count("(") > head.count(")"):
    return "initializer", ""  # an argument or a default value
  outer = _outer(_head_tokens(head))
  if "namespace" in outer or (outer[:1] == ["extern"] and outer[-1:] and outer[-1].startswith('"')):
    return "scope", ""
  if "enum" in outer:
    return "initializer", ""
  called = outer.index("()") if "()" in outer else -1
  if called > 0 and "=" not in outer[:called]:
    if ":" in outer[called:] and re.match(r"^(\w+|>)$", outer[-1]) and outer[-1] not in ("const", "noexcept", "override"):
      return "member", ""  # Foo() : a_{1}, ...: the brace belongs to a member's initialiser
    return "function", _qualified_name(outer[:called])
  for keyword in ("class", "struct", "union"):
    if keyword in outer and "=" not in outer:
      words = [w for w in outer[outer.index(keyword) + 1:] if re.match(r"^\w+$", w) and w != "final"]
      return "class", words[0] if words else keyword
  return "initializer", ""


def _match(text, start):
  """Index of the '}' that closes the '{' at start."""
  depth = 0
  for found in re.finditer(r"[{}]", text[start:]):
    depth += 1 if found.group(0) == "{" else -1
    if depth == 0:
      return start + found.start()
  return len(text) - 1


def _line(text, index):
  return text.count("\n", 0, index) + 1


def _count_pure(interface, statement):
  if re.search(r"\bvirtual\b", statement) and re.search(r"=\s*0\s*$", statement) and "~" not in statement:
    interface.pure_virtuals += 1


class _Scanner:
  def __init__(self, text):
    self.text = text
    self.functions = []
    self.interfaces = []

  def scan(self, begin, end, interface):
    """Reads declarations in [begin, end), the inside of a file, namespace or class."""
    head = begin  # where the current declaration began
    at = begin
    while True:
      found = re.compile(r"[{};]|\b(?:public|private|protected)\s*:(?!:)").search(self.text, at, end)
      if not found:
        return
      at = found.end()
      if found.group(0) == "{":
        kind, at = self._open(head, found.start(), end)
        if kind in ("member", "initializer"):
          continue  # the declaration goes on after the braces
      elif found.group(0) == ";" and interface:
        _count_pure(interface, self.text[head:found.start()])
      head = at

  def _open(self, head, brace, end):
    close = min(_match(self.text, brace), end)
    kind, name = _classify(self.text[head:brace])
    if kind == "scope":
      self.scan(brace + 1, close, None)
    elif kind == "class":
      inner = Interface(name, _line(self.text, brace))
      self.interfaces.append(inner)
      self.scan(brace + 1, close, inner)
    elif kind == "function":
      start = head + len(self.text[head:brace]) - len(self.text[head:brace].lstrip())
      self.functions.append(Function(name, _line(self.text, start), _line(self.text, close)))
    return kind, close + 1


def shape(source):
  """(functions, classes) of a C or C++ text."""
  text = source_tree.without_directives(source_tree.without_comments(source))
  scanner = _Scanner(text)
  scanner.scan(0, len(text), None)
  return scanner.functions, scanner.interfaces
