#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds names to the language of the field: words.py ROOT.

Refuses the words that weir once had for things which NCCL, UCX and MPI have words for, and says what each became. Refuses
names of classes and files whose last word is neither ordinary vocabulary (ordinary_words.txt beside this file) nor
explained in docs/glossary.md. Refuses one name for two classes that headers of the library define. CHANGELOG.md and
docs/glossary.md may say everything.
"""

import functools
import os
import re
import sys

import source_tree

GLOSSARY = "docs/glossary.md"
ORDINARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ordinary_words.txt")
EXEMPT = ("CHANGELOG.md", GLOSSARY, "LICENSE", "tests/project/words.py", "tests/project/checkers_test.py")
TEXTS = source_tree.CPP_SUFFIXES + source_tree.SCRIPT_SUFFIXES + (".md", ".txt")

# Words that ordinary English has no use for here: refused in names, comments, texts and sentences alike.
ANYWHERE = {
    "door": "listener; in sentences that users read: its address",
    "seat": "PeerInfo",
    "roster": "PeerTable",
    "strand": "queue pair",
    "farewell": "fin (of a connection) or drain (of a plan)",
    "goodbye": "fin (of a connection) or drain (of a plan)",
    "turnstile": "TicketOrder",
    "inbox": "ring pool (of a segment) or receiver (of messages)",
    "outbox": "sender (of messages)",
    "tally": "counters",
    "landing": "window",
    "lend": "register (memory with a transport)",
    "lent": "registered (memory)",
    "patience": "timeout, or grace",
}

# Words that mean something else in English or in other folders: refused in names of C++ below these folders.
IN_NAMES = {
    "home": (("src", "transports", "algorithms", "bench"), "segment"),
    "card": (("src", "transports", "algorithms", "bench"), "address (of a transport) or adapter"),
    "guest": (("src", "transports"), "connection"),
    "circle": (("src", "transports"), "job key"),
    "mail": (("src", "transports", "python", "bench/reference"), "inline message or tagged message"),
    "gatherings": (("src",), "bootstrap all-gathers"),
    "turn": (("src", "transports"), "staging step, pass filter, ticket or round"),
    "cut": (("src/core",), "segmentation"),
    "insist": (("src", "transports"), "poll_until"),
    "advice": (("src", "topology"), "tuning result (of a plugin) or diagnosis (of the doctor)"),
    "visits": (("src/exec", "src/core"), "direct access"),
    "visitor": (("src/exec", "src/core", "src/base"), "user (of a buffer) or connection"),
}

# Whole names of classes.
CLASSES = {
    "Watch": (("src/core",), "ActivityRegistry"),
    "Connected": (("src/core",), "Resources"),
    "Together": (("src/core",), "GroupLaunch"),
    "Island": (("src/core",), "GpuPeerAccess"),
    "Resident": (("src/core",), "DeviceCollectives"),
    "Parts": (("src/core", "src/exec"), "Dependencies"),
    "Exchange": (("src/exec",), "ShmCollectives"),
    "Line": (("transports", "python"), "SetupConnection, ControlConnection or TaskQueue"),
}

# The library's folders: a name stands for one class in all of their headers, but for mirrors and ABIs of others
# (*_abi.h): include/weir shows the planner's ideas once more, as values of a stable layout.
ONE_NAME = ("src", "transports", "algorithms", "topology")
# The part that each transport plays for itself, and the frames of two wires.
SAME_ROLE = {"ChannelContext", "Rail", "Hello", "Offer", "Answer", "MessageHead"}

# Beginnings of file names.
FILES = {"own_": "local_", "known_": "rate_cache, or what keeps it", "found_": "select_, or what chooses it"}

_TOKEN = re.compile(r"[A-Za-z_]\w*")
# Names of NCCL's interface, which are not ours to choose.
_FOREIGN = re.compile(r"p?nccl[A-Z]|NCCL_")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CLASS = re.compile(r"^(?:class|struct|enum class) (?:alignas\([^)]*\) )?([A-Z]\w*)\s*(?:final\s*)?(?::[^;{]*)?\{", re.M)


def parts(name):
  """The words of an identifier, in small letters."""
  return [part.lower() for part in _PART.findall(name)]


def singulars(word):
  """The word, and what it may be the plural of."""
  yield word
  for ending, instead in (("s", ""), ("es", ""), ("ies", "y")):
    if word.endswith(ending):
      yield word[:-len(ending)] + instead


def is_below(path, folders):
  return path.startswith(tuple(folder + "/" for folder in folders))


@functools.lru_cache(maxsize=None)  # a tree repeats its words a hundred times
def suspects(token):
  """The words of a token that may not stand somewhere; the token itself if it is such a class."""
  words = [word for part in parts(token) for word in singulars(part) if word in ANYWHERE or word in IN_NAMES]
  return (*words, token) if token in CLASSES else tuple(words)


def refusals(path, token, is_name):
  """(word, what it became) of each word of a token that may not stand there."""
  for word in suspects(token):
    if word in ANYWHERE:
      yield word, ANYWHERE[word]
      continue
    folders, became = IN_NAMES[word] if word in IN_NAMES else CLASSES[word]
    if is_name and is_below(path, folders):
      yield word, became


def check_text(path, text):
  if not any(suspects(token) for token in set(_TOKEN.findall(text))):
    return
  names = source_tree.without_comments(text) if path.endswith(source_tree.CPP_SUFFIXES) else ""
  at, line = 0, 1
  for found in _TOKEN.finditer(text):
    if not suspects(found.group(0)) or _FOREIGN.match(found.group(0)):
      continue
    is_name = names[found.start():found.end()] == found.group(0)
    for word, became in refusals(path, found.group(0), is_name):
      line += text.count("\n", at, found.start())
      at = found.start()
      yield f"{path}:{line}: '{word}' in {found.group(0)}; say {became}"


def check_path(path):
  stem = os.path.basename(path).split(".")[0]
  for word, became in refusals(path, stem, path.endswith(source_tree.CPP_SUFFIXES)):
    yield f"{path}:1: '{word}' in the file's name; say {became}"
  for begin, became in FILES.items():
    if stem.startswith(begin) and path.startswith("src/"):
      yield f"{path}:1: the file's name begins with {begin}; say {became}"


def explained(root):
  """Words of the first column of the glossary's tables."""
  rows = re.findall(r"^\|([^|]+)\|[^|]+\|[^|]+\|$", source_tree.read(root, GLOSSARY), re.M)
  return {word for cell in rows for name in _TOKEN.findall(cell) for word in parts(name)}


def check_head(known, place, name):
  """The last word of a name has to be known."""
  words = parts(re.sub(r"(_test|_inl)$", "", name.replace("-", "_")))
  if words and not any(word in known for word in singulars(words[-1])):
    yield f"{place}: '{words[-1]}' of {name} is not in {GLOSSARY}; explain it there, or take an ordinary word"


def header_classes(text):
  """(name, line) of each class that a header defines for others."""
  bare = source_tree.without_comments(text)
  return [(found.group(1), bare.count("\n", 0, found.start()) + 1) for found in _CLASS.finditer(bare)]


def check_names(path, headers, known):
  """The file's name and the classes that a header defines for others."""
  if path.startswith("tests/") or not path.endswith(source_tree.CPP_SUFFIXES):
    return
  yield from check_head(known, f"{path}:1", os.path.basename(path).split(".")[0])
  for name, line in headers.get(path, ()):
    yield from check_head(known, f"{path}:{line}", name)


def check_one_name(headers):
  """A class of the library's headers whose name another one has."""
  first = {}
  for path, names in headers.items():
    if not is_below(path, ONE_NAME) or path.endswith("_abi.h"):
      continue
    for name, line in names:
      if name not in SAME_ROLE and name in first:
        yield f"{path}:{line}: {name} is also a class at {first[name]}; one name for one thing"
      first.setdefault(name, f"{path}:{line}")


def check(root, ordinary=ORDINARY):
  """All breaches as 'file:line: sentence'."""
  with open(ordinary, encoding="utf-8") as file:
    known = {word for line in file if not line.startswith("#") for word in line.split()} | explained(root)
  texts = {path: source_tree.read(root, path) for path in source_tree.source_files(root, TEXTS)}
  headers = {path: header_classes(text) for path, text in texts.items() if path.endswith(".h")}
  breaches = list(check_one_name(headers))
  for path, text in texts.items():
    if path not in EXEMPT:
      breaches += [*check_path(path), *check_text(path, text), *check_names(path, headers, known)]
  return breaches


def main():
  breaches = check(sys.argv[1] if len(sys.argv) > 1 else ".")
  print("\n".join(breaches) if breaches else "names are in the field's language")
  return 1 if breaches else 0


if __name__ == "__main__":
  sys.exit(main())
