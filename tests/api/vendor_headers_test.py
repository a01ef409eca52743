#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our interface against that of NVIDIA's newest library: vendor_headers_test.py SOURCE_FOLDER LIBRARY FOLDER

Fetches the Python package nvidia-nccl-cu13 into FOLDER, by pip, and keeps its headers and the list of its names there. Compares
with ours: exported names; integer constants; names of structs and enums, sizes, and the places of their fields; values of enums;
types of functions.

Ends with 0 if nothing is missing or different, with 1 if something is, and with 77 (skipped) and the reason where no package can
be had, and where the newest package is newer than our headers: then it says what is new. (WEIR_NCCL_PACKAGE=VERSION asks for
another version.)
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

SKIPPED = 77
PACKAGE = "nvidia-nccl-cu13"
SECONDS = 200  # for the index to answer, and for a package of 300 MB

# Types of the toolkit that NVIDIA's headers need.
TOOLKIT = {
    "cuda_runtime.h": "#include <stddef.h>\n#define CUDART_VERSION 13000\ntypedef struct CUstream_st* cudaStream_t;\n"
                      "typedef struct CUevent_st* cudaEvent_t;\n",
    "cuda.h": "#define CUDA_VERSION 13000\ntypedef enum { WEIR_A_PLACE } CUmemLocationType;\n",
    "cuda_fp16.h": "", "cuda_bf16.h": "", "cuda_fp8.h": "",
}
# Theirs, for kernels only: weir's windows and tables of windows are its own.
UNSEEN = {"ncclWindow_vidmem", "ncclSegmentWindow", "ncclDevCommWindowTable", "ncclGinSignalOp_t", "ncclNetDeviceType",
          "ncclNetDeviceHandle_v7_t", "ncclGinOptFlags", "ncclCftSmem"}
# Macros about compilers and about the networks that kernels use.
UNSEEN_MACROS = re.compile(r"NCCL_(DEVICE_|HOST_DEVICE_|IF_CONSTEXPR|EXTERN_C|IR_EXTERN_C|NET_|GIN_(HAS|PROXY|GPI|GDAKI|EFA_GDA|BACKEND)"
                           r"|CFT_BARRIER|OS_)|NCCL_H_|\w+_INITIALIZER$|NCCL_VERSION$|NCCL_(SUFFIX|CONFIG_UNDEF_PTR|COMM_NULL)$")
# The linker's.
UNSEEN_SYMBOLS = {"__bss_start", "_edata", "_end"}


class Skip(Exception):
  """Why there is nothing to compare with."""


class DoesNotCompile(Exception):
  """What the compiler says."""


def run(command, **options):
  try:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, **options)
  except (OSError, subprocess.TimeoutExpired) as error:
    raise Skip(f"{command[0]} did not answer: {error}") from error


def pip(*arguments):
  return run([sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15",
              *arguments])


def newest():
  """The version that the index lists first."""
  asked = os.environ.get("WEIR_NCCL_PACKAGE")
  if asked:
    return asked
  said = pip("index", "versions", PACKAGE)
  found = re.search(re.escape(PACKAGE) + r" \(([\d.]+)\)", said.stdout)
  if not found:
    raise Skip(f"no index of packages answers for {PACKAGE}: {(said.stderr.strip().splitlines() or ['it says nothing'])[-1]}")
  return found.group(1)


def names_of(library):
  done = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True)
  return {line.split()[-1] for line in done.stdout.splitlines()} - UNSEEN_SYMBOLS


def fetch(version, folder):
  """The folder with include/ and names.json of that version, fetched where it is not there yet."""
  kept = os.path.join(folder, version)
  if os.path.exists(os.path.join(kept, "names.json")):
    return kept
  with tempfile.TemporaryDirectory(dir=folder) as place:
    said = pip("download", "--no-deps", "--only-binary", ":all:", "-d", place, f"{PACKAGE}=={version}")
    wheels = glob.glob(os.path.join(place, "*.whl"))
    if said.returncode != 0 or not wheels:
      raise Skip(f"{PACKAGE} {version} cannot be had: {(said.stderr.strip().splitlines() or ['pip says nothing'])[-1]}")
    new = os.path.join(place, "new")
    with zipfile.ZipFile(wheels[0]) as wheel:
      for name in wheel.namelist():
        if name.startswith("nvidia/nccl/include/") or name.endswith("/libnccl.so.2"):
          wheel.extract(name, place)
    os.rename(os.path.join(place, "nvidia/nccl/include"), os.path.join(place, "include"))
    os.mkdir(new)
    os.rename(os.path.join(place, "include"), os.path.join(new, "include"))
    with open(os.path.join(new, "names.json"), "w", encoding="utf-8") as file:
      json.dump(sorted(names_of(os.path.join(place, "nvidia/nccl/lib/libnccl.so.2"))), file)
    shutil.rmtree(kept, ignore_errors=True)
    os.rename(new, kept)
  return kept


class Headers:
  """What the headers of a folder declare for C."""

  def __init__(self, include, header, defines=()):
    self._includes = f'#include <nccl.h>\n#include "{header}"\n'
    with tempfile.TemporaryDirectory() as folder:
      for name, text in TOOLKIT.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
          file.write(text)
      self._flags = ["-std=gnu11", "-w", *(f"-D{define}" for define in defines), "-I", include, "-I", folder]
      self._source = os.path.join(folder, "all.c")
      self._write(self._includes)
      self.functions = self._functions(os.path.join(folder, "functions"))
      self.structs, self.enums = self._types(os.path.join(folder, "all.o"))
      self.macros = self._macros(os.path.join(folder, "macros"))

  def _write(self, text):
    with open(self._source, "w", encoding="utf-8") as file:
      file.write(text)

  def _compile(self, *flags):
    done = subprocess.run(["gcc", *self._flags, *flags, self._source], capture_output=True, text=True, check=False)
    if done.returncode != 0:
      raise DoesNotCompile("\n".join(done.stderr.splitlines()[:10]))
    return done.stdout

  def _functions(self, path):
    """{name: its type}, as the compiler writes it."""
    self._compile("-fsyntax-only", "-aux-info", path)
    found = {}
    with open(path, encoding="utf-8") as file:
      for line in file:
        match = re.match(r"/\* .* \*/ (extern|static) (.*?[ *])(p?nccl\w+) (\(.*\));", line)
        if match:
          arguments = match.group(4).replace("(/* ??? */)", "(void)")
          if match.group(1) == "static":  # of a definition, with the names of its arguments
            arguments = re.sub(r"([ *])\w+(?=[,)])", r"\1", arguments)
          found[match.group(3)] = re.sub(r"\s+(?=[,)]|\s)", "", match.group(2) + arguments)
    return found

  def _types(self, path):
    """({struct: {field: place, '': size}}, {value of an enum: number}), from what debuggers read."""
    self._compile("-c", "-g", "-fno-eliminate-unused-debug-types", "-o", path)
    text = subprocess.run(["readelf", "--debug-dump=info", "-W", path], check=True, capture_output=True, text=True).stdout
    structs, enums, typedefs, of = {}, {}, {}, {}
    for depth, at, tag, values in entries(text):
      of[depth] = at, tag, values
      if tag == "typedef" and "type" in values:
        typedefs[values["type"]] = values["name"]
      if tag == "structure_type" and "byte_size" in values:
        structs[at] = values.get("name"), {"": int(values["byte_size"], 0)}
      if tag == "member" and of[depth - 1][0] in structs and "name" in values:
        structs[of[depth - 1][0]][1][values["name"]] = int(values.get("data_member_location", "0"), 0)
      if tag == "enumerator":
        enums[values["name"]] = int(values["const_value"], 0) % 2**32
    named = {}
    for at, (name, fields) in structs.items():
      name = name or typedefs.get(at)
      if name:
        named[re.sub(r"_v\d+$", "", name)] = fields  # the tag of a struct changes with its version
    return named, enums

  def _macros(self, path):
    """{name: number} of the macros that are whole numbers."""
    names = [name for name in re.findall(r"^#define (NCCL_\w+) .", self._compile("-E", "-dM"), re.M)
             if not UNSEEN_MACROS.match(name)]
    body = "".join(f'  printf("{name} %lld\\n", (long long)({name}));\n' for name in names)
    self._write(self._includes + '#include <stdio.h>\nint main(void) {\n' + body + "  return 0;\n}\n")
    self._compile("-o", path)
    lines = subprocess.run([path], check=True, capture_output=True, text=True).stdout.split("\n")
    return {name: int(number) for name, number in (line.split() for line in lines if line)}


def entries(text):
  """(depth, place, tag, {attribute: value}) of what readelf prints."""
  depth = at = tag = None
  values = {}
  for line in text.split("\n"):
    head = re.match(r" <(\w+)><(\w+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)", line)
    if head:
      if tag:
        yield depth, at, tag, values
      depth, at, tag, values = int(head.group(1), 16), head.group(2), head.group(3), {}
      continue
    attribute = re.match(r"\s+<\w+>\s+DW_AT_(\w+)\s*: (?:\((?:[^()]|\([^)]*\))*\):? ?)*(.*)", line)
    if attribute:
      values[attribute.group(1)] = re.sub(r"^<0x(\w+)>.*", r"\1", attribute.group(2).strip())
  if tag:
    yield depth, at, tag, values


def differences(theirs, ours, their_names, our_names):
  """Sentences."""
  if len(theirs.structs) < 20 or len(theirs.functions) < 150 or len(theirs.enums) < 60 or len(theirs.macros) < 20:
    yield (f"too little was read of their headers: {len(theirs.structs)} structs, {len(theirs.functions)} functions, "
           f"{len(theirs.enums)} values of enums, {len(theirs.macros)} macros")
  for name in sorted(their_names - our_names):
    yield f"our library does not export {name}"
  for kind, them, us in (("macro", theirs.macros, ours.macros), ("value of an enum", theirs.enums, ours.enums),
                         ("function", theirs.functions, ours.functions)):
    for name, value in sorted(them.items()):
      if name in us and us[name] != value:
        yield f"the {kind} {name} is {value}; ours is {us[name]}"
      elif name not in us and re.match(r"p?nccl|NCCL", name) and not is_unseen(name):
        yield f"we do not have the {kind} {name}: {value}"
  for name, fields in sorted(theirs.structs.items()):
    if name not in ours.structs:
      if name.startswith("nccl") and name not in UNSEEN:
        yield f"we do not have the struct {name}"
      continue
    for field, place in fields.items():
      own = ours.structs[name].get(field)
      if own != place:
        yield f"{name}{'.' + field if field else ''} is {'at' if field else 'of'} {place} bytes; ours: {own}"


def is_unseen(name):
  return bool(re.match(r"NCCL_NET_DEVICE_|ncclGinSignal(Inc|Add)$|ncclGinOptFlags", name))


def code(version):
  numbers = [int(part) for part in version.split(".")[:3]]
  return numbers[0] * 10000 + numbers[1] * 100 + numbers[2]


def main():
  source, library, folder = sys.argv[1:]
  os.makedirs(folder, exist_ok=True)
  try:
    version = newest()
    theirs = fetch(version, folder)
  except Skip as why:
    print(f"skipped: {why}")
    return SKIPPED
  ours = Headers(os.path.join(source, "include"), "nccl_device.h", ["WEIR_NO_CUDA"])
  own = ours.macros["NCCL_VERSION_CODE"]
  try:
    declared = Headers(os.path.join(theirs, "include"), "nccl_device/host.h")  # theirs for kernels do not compile as C
  except DoesNotCompile as why:
    print(f"{'skipped: ' if code(version) > own else ''}the headers of {PACKAGE} {version} do not compile here: {why}")
    return SKIPPED if code(version) > own else 1
  with open(os.path.join(theirs, "names.json"), encoding="utf-8") as file:
    found = list(differences(declared, ours, set(json.load(file)), names_of(library)))
  print(f"{PACKAGE} {version} against our NCCL_VERSION_CODE {own}: {len(found)} differences")
  print("\n".join(found))
  if code(version) > own:
    print(f"skipped: NCCL {version} is newer than include/nccl.h; the lines above are what is new there")
    return SKIPPED
  return 1 if found else 0


if __name__ == "__main__":
  sys.exit(main())
