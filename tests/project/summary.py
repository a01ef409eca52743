#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of ctest comes to: summary.py JUNIT_FILE.

Prints how many tests were skipped, the end of what each failed test said, the names of those, and last 'N passed, N failed'. A
program of GoogleTest that runs several cases in one process counts as that many. A test that could not run, for want of its
program or of the test that it depends on, has failed. Ends with 0 if something ran and nothing failed.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

LAST = 3000  # characters of a failed test's output


def cases(text, verdict):
  """The number that GoogleTest prints for a verdict, over all its runs in the text."""
  return sum(int(number) for number in re.findall(rf"^\[  {verdict}  \] (\d+) tests?[.,]", text, re.M))


def count(root):
  """(passed, skipped, names of what failed) of the root element of a JUnit file."""
  passed, skipped, failed = 0, 0, []
  for test in root.iter("testcase"):
    name, status, text = test.get("name"), test.get("status"), test.findtext("system-out") or ""
    if status == "run":
      passed += max(1, cases(text, "PASSED"))
    elif status == "fail":
      passed += cases(text, "PASSED")
      parts = sorted(set(re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", text, re.M)))
      if not parts:  # a case has ended the process
        parts = re.findall(r"^\[ RUN      \] ([\w/]+\.[\w/]+)", text, re.M)[-1:]
      failed += [part if part in name else f"{name}: {part}" for part in parts] or [name]
    elif status == "notrun" and not any(why.get("message", "").startswith("SKIP_") for why in test.iter("skipped")):
      failed.append(f"{name}: {text.strip() or 'did not run'}")
    else:
      skipped += 1
  return passed, skipped, failed


def said(root):
  """The last lines that each failed test has printed, each after '  | '."""
  for test in root.iter("testcase"):
    if test.get("status") == "fail":
      yield f"  | {test.get('name')}, {float(test.get('time') or 0):.1f} s:"
      text = (test.findtext("system-out") or "").rstrip()
      yield from (f"  | {line}" for line in text[-LAST:].splitlines())


def main():
  lines = []
  try:
    root = ElementTree.parse(sys.argv[1]).getroot()
    passed, skipped, failed = count(root)
    lines = list(said(root))
  except ElementTree.ParseError:  # ctest has ended before it wrote the file
    passed, skipped, failed = 0, 0, []
  if passed + len(failed) == 0:
    failed = ["no test has run"]
  if skipped:
    print(f"{skipped} skipped (each says why: ctest -V)")
  for line in lines:
    print(line)
  for name in failed:
    print(f"failed: {name}")
  print(f"{passed} passed, {len(failed)} failed")
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
