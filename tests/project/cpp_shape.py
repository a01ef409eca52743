# SPDX-License-Identifier: Apache-2.0
"""Finds functions and classes with their members in C++ by counting braces; no compiler needed.

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
class Class:
  name: str
  line: int
  bases: list = dataclasses.field(default_factory=list)  # names without namespaces and template arguments
  pure_virtuals: int = 0
  virtuals: int = 0  # that it declares itself, without the destructor and what only overrides
  members: int = 0  # data and functions that its definition lists


_TOKENS = re.compile(r'"[^"]*"|[A-Za-z_]\w*|::|->|\S', re.DOTALL)
_BRACE = re.compile(r"[{}]")
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


def _bases(head):
  """Names of the classes that a class's head derives from."""
  outer = _outer(_head_tokens(head))
  if ":" not in outer:
    return []
  bases, depth, name = [], 0, None
  for token in outer[outer.index(":") + 1:] + [","]:
    if token == "," and depth == 0:
      bases += [name] if name else []
    elif token in "<>":
      depth += 1 if token == "<" else -1
    elif depth == 0 and re.match(r"\w+$", token):
      name = token
  return bases


def _matches(text):
  """{index of a '{': index of the '}' that closes it}; those that nothing closes are left out."""
  closed, opened = {}, []
  for found in _BRACE.finditer(text):
    if found.group(0) == "{":
      opened.append(found.start())
    elif opened:
      closed[opened.pop()] = found.start()
  return closed


def _line(text, index):
  return text.count("\n", 0, index) + 1


_NO_MEMBER = re.compile(r"\s*(?:template\s*<[^;{]*>\s*)?(?:using|typedef|friend|static_assert|enum|class|struct|union)\b")


def _declarators(statement):
  """How many names a declaration of data makes: int a, b[2] = {1, 2};"""
  depth, names = 0, 1
  if "," not in statement:
    return names
  for at, character in enumerate(statement):
    if character in "(<[{":
      depth += 1
    elif character in ")]}" or (character == ">" and statement[at - 1] != "-"):
      depth -= 1
    elif character == "," and depth == 0:
      names += 1
  return names


def _count_declaration(owner, statement):
  """What ends in ';' in a class: data, or functions whose body is elsewhere."""
  if not statement.strip() or _NO_MEMBER.match(statement):
    return
  head = statement.split("=")[0]
  is_function = "(" in head and "()" in _outer(_head_tokens(head))
  owner.members += 1 if is_function else _declarators(statement)
  _count_virtual(owner, statement)


def _count_virtual(owner, statement):
  if re.search(r"\bvirtual\b", statement) and "~" not in statement and not re.search(r"\b(override|final)\b", statement):
    owner.virtuals += 1
    owner.pure_virtuals += bool(re.search(r"=\s*0\s*$", statement))


_DECLARATION = re.compile(r"[{};]|\b(?:public|private|protected)\s*:(?!:)")


class _Scanner:
  def __init__(self, text):
    self.text = text
    self.closed = _matches(text)
    self.functions = []
    self.classes = []

  def scan(self, begin, end, owner):
    """Reads declarations in [begin, end), the inside of a file, namespace or class."""
    head = begin  # where the current declaration began
    at = begin
    while True:
      found = _DECLARATION.search(self.text, at, end)
      if not found:
        return
      at = found.end()
      if found.group(0) == "{":
        kind, at = self._open(head, found.start(), end, owner)
        if kind in ("member", "initializer"):
          continue  # the declaration goes on after the braces
      elif found.group(0) == ";" and owner:
        _count_declaration(owner, self.text[head:found.start()])
      head = at

  def _open(self, head, brace, end, owner):
    close = min(self.closed.get(brace, len(self.text) - 1), end)
    kind, name = _classify(self.text[head:brace])
    if kind == "scope":
      self.scan(brace + 1, close, None)
    elif kind == "class":
      inner = Class(name, _line(self.text, brace), _bases(self.text[head:brace]))
      self.classes.append(inner)
      self.scan(brace + 1, close, inner)
    elif kind == "function":
      start = head + len(self.text[head:brace]) - len(self.text[head:brace].lstrip())
      self.functions.append(Function(name, _line(self.text, start), _line(self.text, close)))
      if owner and not _NO_MEMBER.match(self.text[head:brace]):
        owner.members += 1
        _count_virtual(owner, self.text[head:brace])
    return kind, close + 1


def shape(source):
  """(functions, classes) of a C or C++ text."""
  text = source_tree.without_directives(source_tree.without_comments(source))
  scanner = _Scanner(text)
  scanner.scan(0, len(text), None)
  return scanner.functions, scanner.classes
