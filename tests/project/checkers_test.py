# SPDX-License-Identifier: Apache-2.0
"""Breaches put into a toy tree must be found, with the right file and line: python3 -m unittest checkers_test."""

import concurrent.futures
import json
import os
import subprocess
import tempfile
import unittest
import unittest.mock

import ahead
import arrows
import budgets
import compatibility
import cpp_shape
import documents
import floors
import headers
import passed
import source_tree
import sources
import summary
import test_map
import words

DOCUMENT = """# How it is built
## Floors
| floor | folder | may include |
|---|---|---|
| - | `include` | nothing |
| 0 | `src/base` | - |
| 1 | `src/drivers` | base |
| 2 | `algorithms` | base, ir |
| 1 | `algorithms/ir` | base |
| 5 | `src/core` | everything below |
| 7 | `bench`, `trainer` | nothing |
| - | `tests` | anything |
## More
| 9 | `not/a/floor` | nothing |
"""

LICENSE = "SPDX-License-Identifier: Apache-2.0"


class ToyTree(unittest.TestCase):
  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.root = folder.name
    cache = unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=os.path.join(self.root, ".cache"))
    cache.start()
    self.addCleanup(cache.stop)
    self.write("docs/architecture.md", DOCUMENT)

  def write(self, path, text):
    full = os.path.join(self.root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as file:
      file.write(text)


class Floors(ToyTree):
  def setUp(self):
    super().setUp()
    for header in ("include/weir/stream.h", "src/base/log.h", "src/core/group.h", "algorithms/ir/plan.h",
                   "algorithms/ring.h", "bench/perf/options.h"):
      self.write(header, "#pragma once\n")

  def test_what_goes_down_is_allowed(self):
    self.write("algorithms/ring.cc", '#include "algorithms/ring.h"\n#include <vector>\n#include "weir/stream.h"\n'
               '#include "algorithms/ir/plan.h"\n#include "src/base/log.h"\n')
    self.write("src/core/group.cc", '#include "algorithms/ring.h"\n#include "src/base/log.h"\n')
    self.write("bench/perf/main.cc", '#include "options.h"\n#include "weir/stream.h"\n')
    self.write("tests/core/group_test.cc", '#include "src/core/group.h"\n')
    self.write("src/drivers/cuda.cc", "#include <cuda_runtime.h>\n#include <infiniband/verbs.h>\n")
    self.assertEqual(floors.check(self.root), [])

  def test_an_include_that_goes_up_is_named_with_its_line(self):
    self.write("algorithms/ir/plan.cc", '// A plan.\n\n#include "algorithms/ring.h"\n')
    self.assertEqual(floors.check(self.root), [
        "algorithms/ir/plan.cc:3: algorithms/ir may not include algorithms/ring.h; besides its own files it may "
        "include include, src/base"])

  def test_base_may_not_see_the_core_whatever_the_spelling(self):
    self.write("src/base/log.cc", '  #  include   "../core/group.h"\n')
    self.assertEqual([breach.split(": ")[0] for breach in floors.check(self.root)], ["src/base/log.cc:1"])

  def test_first_users_see_only_public_headers(self):
    self.write("bench/perf/main.cc", '#include <vector>\n#include "src/base/log.h"\n')
    self.assertEqual([breach.split(": ")[0] for breach in floors.check(self.root)], ["bench/perf/main.cc:2"])

  def test_a_row_may_grant_one_header_of_a_folder(self):
    self.write("docs/architecture.md", DOCUMENT.replace("| `bench`, `trainer` | nothing |", "| `bench`, `trainer` | `src/base/log.h` |"))
    self.write("src/base/text.h", "#pragma once\n")
    self.write("bench/perf/main.cc", '#include "src/base/log.h"\n#include "src/base/text.h"\n')
    self.assertEqual(floors.check(self.root), ["bench/perf/main.cc:2: bench may not include src/base/text.h; besides its own files it "
                                               "may include include, src/base/log.h"])
    self.write("docs/architecture.md", DOCUMENT.replace("| base, ir |", "| base, src/core/group.h |"))
    self.assertRegex(floors.check(self.root)[0], r"^docs/architecture.md:8: algorithms on floor 2 may not include src/core on floor 5")

  def test_vendor_headers_stay_below(self):
    self.write("src/core/group.cc", "/* one\n   two */\n#include <cuda_runtime.h>\n#include <ucp/api/ucp.h>\n"
               "#include <hip/hip_runtime.h>\n#include <infiniband/verbs.h>\n#include <uchar.h>\n")
    self.assertEqual([breach.split(": ")[0] for breach in floors.check(self.root)],
                     [f"src/core/group.cc:{line}" for line in (3, 4, 5, 6)])

  def test_what_is_commented_out_is_not_included(self):
    self.write("src/base/log.cc", '// #include "src/core/group.h"\n/*\n#include "src/core/group.h"\n*/\n'
               'const char* text = "#include <cuda.h>";\n')
    self.assertEqual(floors.check(self.root), [])

  def test_a_folder_outside_of_the_table_is_named(self):
    self.write("src/misc/helpers.h", "")
    self.assertEqual(floors.check(self.root), ["src/misc/helpers.h:1: lies in no folder of the table in "
                                               "docs/architecture.md"])

  def test_a_table_with_an_unknown_name_is_refused_with_its_line(self):
    self.write("docs/architecture.md", DOCUMENT.replace("base, ir", "base, moon"))
    self.assertRegex(floors.check(self.root)[0], r"^docs/architecture.md:8: 'moon' is no folder of the table")

  def test_a_document_without_a_table_is_refused(self):
    self.write("docs/architecture.md", "# Nothing\n")
    self.assertEqual(floors.check(self.root), ["docs/architecture.md:1: there is no table under '## Floors'"])

  def test_a_grant_that_does_not_go_down_is_refused(self):
    self.write("docs/architecture.md", DOCUMENT.replace("| base, ir |", "| base, core |"))
    self.assertRegex(floors.check(self.root)[0], r"^docs/architecture.md:8: algorithms on floor 2 may not include src/core on floor 5")

  def test_a_name_that_two_folders_have_is_refused(self):
    self.write("docs/architecture.md", DOCUMENT.replace("| 1 | `algorithms/ir` | base |", "| 1 | `algorithms/ir`, `src/ir` | base |"))
    self.assertRegex(floors.check(self.root)[0], r"^docs/architecture.md:8: 'ir' may be algorithms/ir or src/ir;")


class Arrows(ToyTree):
  def test_pairs_of_folders_are_counted_once(self):
    self.write("src/core/call/place.h", "")
    self.write("src/core/call/operation.h", '#include "src/core/call/place.h"\n')
    self.write("src/core/group/group.h", '#include "src/core/call/place.h"\n#include "src/core/call/operation.h"\n')
    self.write("src/core/group/gpu/group.cc", '#include "src/core/group/group.h"\n#include "src/core/call/place.h"\n')
    found = arrows.arrows_of(self.root, "src/core")
    self.assertEqual(found, {"call": {}, "group": {"call": 2}})
    self.assertEqual(arrows.circle_in(found), [])

  def test_a_circle_is_named(self):
    self.assertEqual(arrows.circle_in({"a": {"b": 1}, "b": {"c": 1, "d": 2}, "d": {"b": 1}}), ["b", "d"])


class Budgets(ToyTree):
  def breaches(self, many_virtuals=(), many_members=()):
    return budgets.check(self.root, dict(many_virtuals), dict(many_members))[0]

  def test_a_file_may_have_600_lines_and_not_601(self):
    self.write("src/base/fits.cc", "int a;\n" * 600)
    self.write("src/base/grows.cc", "int a;\n" * 601)
    self.assertEqual(self.breaches(), ["src/base/grows.cc:601: the file has 601 lines; at most 600"])

  def test_a_function_may_have_60_lines_and_not_61(self):
    self.write("src/base/a.cc", "namespace weir {\nint fits() {\n" + "  f();\n" * 58 + "}\n\n"
               "Result<int> Group::grows(\n    int x) const {\n" + "  if (x) { f(); }\n" * 58 + "}\n}\n")
    self.assertEqual(self.breaches(), ["src/base/a.cc:63: function Group::grows has 61 lines; at most 60"])

  def test_a_python_function_is_held_to_the_same(self):
    self.write("bench/compare/a.py", "\ndef grows():\n" + "  f()\n" * 60)
    self.assertEqual(self.breaches(), ["bench/compare/a.py:2: function grows has 61 lines; at most 60"])

  def test_a_table_is_no_function(self):
    self.write("src/base/a.cc", "constexpr Option kTable[] = {\n" + "  {1, 2},\n" * 100 + "};\n")
    self.assertEqual(self.breaches(), [])

  def test_an_interface_may_have_8_virtuals_and_not_9(self):
    nine = "".join(f"  virtual Result<int> f{i}(int a = 0) = 0;\n" for i in range(9))
    eight = "".join(f"  virtual int f{i}() const = 0;\n" for i in range(8))
    self.write("src/base/a.h", "class Fits {\n public:\n  virtual ~Fits() = default;\n" + eight + "};\n"
               "template <typename T>\nclass Grows : public Base<T> {\n public:\n" + nine + "};\n")
    self.assertEqual(self.breaches(), ["src/base/a.h:14: Grows has 9 virtual functions, those of its bases included; at most 8"])

  def test_virtuals_of_bases_count_and_those_with_a_body(self):
    six = "".join(f"  virtual int f{i}() {{ return {i}; }}\n" for i in range(6))
    self.write("src/base/a.h", "class A {\n public:\n  virtual ~A() = default;\n" + six + "};\n")
    self.write("src/base/b.h", '#include "src/base/a.h"\n'
               "class B : public A {\n  int f0() override;\n  virtual int g() = 0;\n  virtual void h();\n};\n"
               "class C : public weir::B {\n  virtual void i() = 0;\n};\nclass D final : public C {\n  void i() override;\n};\n")
    self.assertEqual(self.breaches(), ["src/base/b.h:7: C has 9 virtual functions, those of its bases included; at most 8"])
    self.assertEqual(self.breaches({"src/base/b.h C": 9}), [])

  def test_a_base_whose_name_others_have_too_is_the_nearest_one(self):
    nine = "".join(f"  virtual int f{i}() = 0;\n" for i in range(8))
    self.write("src/base/a.h", "class Unit {\n" + nine + "};\n")
    self.write("src/core/a.h", "class Unit {\n  virtual int f() = 0;\n};\n")
    self.write("src/core/b.h", '#include "src/core/a.h"\nclass Small : public Unit {\n  virtual int g() = 0;\n};\n')
    self.write("src/core/c.h", '#include "src/base/a.h"\nclass Wide : public Unit {\n  virtual int g() = 0;\n};\n')
    self.assertEqual([breach.split(": ")[0] for breach in self.breaches()], ["src/core/c.h:2"])

  def test_a_class_may_have_60_members_and_not_61(self):
    functions = "".join(f"  int f{i}(int a, int b) const;\n" for i in range(30)) + "  int g() { return 1; }\n"
    self.write("src/base/a.h", "class Fits {\n public:\n" + functions + " private:\n  std::map<int, int> a_, b_{{1, 2}};\n" +
               "".join(f"  int c{i}_ = 0;\n" for i in range(27)) + "};\n"
               "struct Grows {\n  using A = int;\n  enum class B { c, d };\n  struct E {\n    int f, g;\n  };\n  friend class H;\n" +
               "".join(f"  int a{i}[2] = {{1, 2}};\n" for i in range(61)) + "};\n")
    self.assertEqual(self.breaches(), ["src/base/a.h:64: Grows has 61 members; at most 60"])

  def test_what_is_allowed_more_may_only_shrink(self):
    self.write("src/base/a.h", "struct Grown {\n" + "".join(f"  int a{i};\n" for i in range(62)) + "};\n")
    self.assertEqual(self.breaches((), {"src/base/a.h Grown": 62}), [])
    self.assertEqual(self.breaches((), {"src/base/a.h Grown": 61}), ["src/base/a.h:1: Grown has 62 members; at most 61"])
    self.assertEqual(self.breaches((), {"src/base/a.h Grown": 63}),
                     ["src/base/a.h:1: Grown has 62 members; tests/project/budgets.py still allows 63: lower that"])
    self.assertEqual(self.breaches({"src/base/b.h Gone": 9}, {"src/base/a.h Grown": 62}),
                     ["tests/project/budgets.py:1: allows more for src/base/b.h Gone, which is not there"])

  def test_goto_is_found_but_not_in_words(self):
    self.write("src/base/a.cc", '// goto\nconst char* s = "goto";\nvoid f() {\n  goto out;\nout:\n  return;\n}\n')
    self.assertEqual(self.breaches(), ["src/base/a.cc:4: goto; return early, or make a function of it"])

  def test_function_like_macros_live_in_few_places(self):
    self.write("src/base/log.h", "#define WEIR_WARN(...) warn(__VA_ARGS__)\n")
    self.write("src/base/a.h", "#define WEIR_TRY(x) \\\n  do_it(x)\n#define FIVE 5\n#  define MAX(a, b) 0\n")
    self.assertEqual([breach.split(": ")[0] for breach in self.breaches()], ["src/base/a.h:4"])


class Shape(unittest.TestCase):
  """The parser behind the budgets sees the functions that are there, and only those."""

  def functions(self, text):
    return [(f.name, f.first_line, f.last_line) for f in cpp_shape.shape(text)[0]]

  def test_constructors_operators_and_templates(self):
    self.assertEqual(self.functions("A::A() : b_{1}, c_(2), d_{3} {\n}\n"), [("A::A", 1, 2)])
    self.assertEqual(self.functions("A::A()\n    : b_(1) {\n}\n"), [("A::A", 1, 3)])
    self.assertEqual(self.functions("A::A(B b)\n    : b_(b), c_(make(b, {.d = 1})) {\n}\nvoid f() {\n}\n"),
                     [("A::A", 1, 3), ("f", 4, 5)])
    self.assertEqual(self.functions("void f(const A& a = {}) {\n}\n"), [("f", 1, 2)])
    self.assertEqual(self.functions("A& A::operator=(const A& o) {\n  return *this;\n}\n"), [("A::operator", 1, 3)])
    self.assertEqual(self.functions("template <typename T = int>\nauto f(T x) -> B<T> {\n}\n"), [("f", 1, 3)])
    self.assertEqual(self.functions("bool operator()(int a) const {\n}\n"), [("operator", 1, 2)])

  def test_what_is_not_a_function(self):
    self.assertEqual(self.functions("const A a{1, 2};\nenum class B : int { c, d };\nint e[] = {1};\n"), [])
    self.assertEqual(self.functions("class A final : public B {\n  int c = 0;\n  int d{1};\n};\n"), [])

  def test_methods_in_classes_in_namespaces(self):
    text = 'extern "C" {\nnamespace a::b {\nstruct C {\n int f() const { return 1; }\n private:\n  int g() {\n  }\n};\n}\n}\n'
    self.assertEqual(self.functions(text), [("f", 4, 4), ("g", 6, 7)])

  def test_braces_in_text_and_in_the_other_branch_do_not_count(self):
    text = "void f() {\n  char a = '{';\n  auto b = \"}{{\"; auto c = R\"(}}})\";\n  int d = 1'000'000;\n}\nvoid g() {\n}\n"
    self.assertEqual(self.functions(text), [("f", 1, 5), ("g", 6, 7)])
    text = "#if A\nvoid f() {\n#else\nvoid f(int) {\n#endif\n}\nvoid g() {\n}\n"
    self.assertEqual(self.functions(text), [("f", 2, 6), ("g", 7, 8)])

  def test_blanking_keeps_every_line(self):
    text = 'a; // x\n/* y\n z */ "s\\"t" R"--(\n)" )--" \'\\\'\'\n'
    self.assertEqual(source_tree.without_comments(text).count("\n"), text.count("\n"))


class Headers(ToyTree):
  def test_a_header_that_leans_on_others_is_named(self):
    self.write("include/weir/good.h", "#pragma once\n#include <string>\nstd::string name();\n")
    self.write("src/base/leans.h", "#pragma once\nstd::string name();\n")
    complaints, count = headers.check(self.root)
    self.assertEqual(count, 2)
    self.assertEqual([c.split("\n")[0] for c in complaints], ["src/base/leans.h:1: does not compile alone as C++ (a text that has to follow another header is an .inc)"])

  def test_what_is_compiled_ahead_is_no_help_to_who_does_not_include_it(self):
    self.write("src/base/has.h", "#pragma once\n#include <memory>\n#include <string>\nstd::unique_ptr<std::string> name();\n")
    for name in ("passes", "too", "again"):
      self.write(f"src/base/{name}.h", '#pragma once\n#include "src/base/has.h"\nstd::string other();\n')
    self.write("src/base/leans.h", "#pragma once\n#include <cstdint>\n#if A\n#include <string>\n#endif\nstd::string name();\n")
    complaints, count = headers.check(self.root)
    self.assertEqual((count, [c.split(":")[0] for c in complaints]), (5, ["src/base/leans.h"]))

  def test_what_several_include_is_compiled_ahead_for_them(self):
    names = [f"src/base/{name}.h" for name in ("a", "b", "c", "d")]
    for name in names[:3]:
      self.write(name, "#pragma once\n#include <memory>\n")
    self.write(names[3], "#pragma once\n#include <cstdint>\n")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
      made = ahead.Ahead(self.root, folder, "c++", names, pool)
      self.assertEqual(made.taken, dict.fromkeys(names[:3], "memory"))
      self.assertTrue(os.path.exists(made.options(names[0])[1] + ".gch"))
      self.assertEqual(made.options(names[3]), [])

  def test_what_saves_most_is_compiled_ahead(self):
    users = {"small": ["a", "b", "c", "d"], "large": ["a", "b", "c"], "alone": ["d"]}
    weights = {"small": 10, "large": 30, "alone": 100}
    self.assertEqual(ahead.most_worth(users, weights), ["large"])
    self.assertEqual(ahead.most_worth({**users, "small": ["d", "e", "f"]}, weights), ["large", "small"])

  def test_a_c_header_is_tried_as_c(self):
    self.write("include/nccl.h", "#pragma once\nbool is_c();\n")
    complaints, count = headers.check(self.root)
    self.assertEqual(count, 2)
    self.assertEqual([c.split("\n")[0] for c in complaints], ["include/nccl.h:1: does not compile alone as C (a text that has to follow another header is an .inc)"])

  def test_a_header_that_its_source_includes_first_is_left_to_the_build(self):
    self.write("src/base/a.h", "#pragma once\nint f();\n")
    self.write("src/base/a.cc", '// A.\n#include "src/base/a.h"\n')
    self.write("src/base/b.h", "#pragma once\nint g();\n")
    self.write("src/base/b.cc", '#include <string>\n#include "src/base/b.h"\n')
    self.assertEqual([header for header, _ in headers.jobs(self.root, "c++", "cc")], ["src/base/b.h"])


class WhatPassed(ToyTree):
  def file(self, *options):
    return passed.Passed(self.root).file_of("src/base/a.cc", ["c++", *options])

  def test_is_known_until_something_that_it_reads_changes(self):
    self.write("src/base/deep.h", "int f();\n")
    self.write("src/base/a.h", '#pragma once\n#ifdef F\n#include "src/base/deep.h"\n#endif\n')
    self.write("src/base/a.cc", '#include "a.h"\n#include <string>\n')
    before = self.file()
    self.write("src/base/other.h", "int g();\n")
    self.assertEqual(self.file(), before)
    self.assertNotEqual(self.file("-O3"), before)
    self.write("src/base/deep.h", "int f(int);\n")
    self.assertNotEqual(self.file(), before)

  def test_is_not_compiled_again(self):
    self.write("src/base/a.h", "#pragma once\nint f();\n")
    self.write("src/base/leans.h", "#pragma once\nstd::string f();\n")
    passed.version("c++")
    with unittest.mock.patch("subprocess.run", wraps=subprocess.run) as run:
      for compiled in (2, 1):
        before = run.call_count
        complaints, count = headers.check(self.root)
        self.assertEqual((len(complaints), count), (1, 2))
        self.assertEqual(run.call_count - before, compiled)


class Sources(ToyTree):
  def check(self):
    """As if each source of the tree was compiled to build/."""
    build = os.path.join(self.root, "build")
    command = f"ccache /usr/bin/c++ -DWEIR_NUMBER=1 -O2 -fPIC -Wall -Werror -std=c++20 -I{self.root}"
    entries = [{"file": os.path.join(self.root, file), "directory": build, "command": f"{command} -o a.o -c {file}"}
               for file in source_tree.source_files(self.root, (".cc",))]
    entries.append({"file": os.path.join(build, "made.cc"), "directory": build, "command": f"{command} -c made.cc"})
    self.write("build/compile_commands.json", json.dumps(entries))
    complaints, count = sources.check(build, self.root, 2)
    return [complaint.split("\n")[0] for complaint in complaints], count

  def test_a_source_that_leans_on_others_is_named(self):
    self.write("src/base/has.cc", "#include <string>\nstd::string name() { return std::to_string(WEIR_NUMBER); }\n")
    self.write("src/base/leans.cc", "std::string other() { return std::string(); }\n")
    self.write("src/base/warns.cc", "void f() { int unused = WEIR_NUMBER; }\n")
    self.assertEqual(self.check(), (["src/base/leans.cc:1: does not compile by itself", "src/base/warns.cc:1: does not compile by itself"], 3))

  def test_a_source_is_no_help_to_its_header(self):
    self.write("src/base/leans.h", "#pragma once\nstd::string name();\n")
    self.write("src/base/leans.cc", '#include "src/base/leans.h"\n#include <string>\nstd::string name() { return {}; }\n')
    self.assertEqual(self.check(), (["src/base/leans.cc:1: does not compile by itself"], 1))


class Documents(ToyTree):
  def setUp(self):
    super().setUp()
    self.write("README.md", "# Toy\n")
    self.write("docs/README.md", "[how](architecture.md)\n")

  def test_a_tree_in_order(self):
    self.write("docs/more.md", "[up](../README.md#toy), [out](https://example.org/x)\n")
    self.write("docs/README.md", "[how](architecture.md)\n[more](more.md)\n")
    self.assertEqual(documents.check(self.root), [])

  def test_each_folder_of_pages_has_an_index(self):
    self.write("docs/lab/speed.md", "# Speed\n")
    self.assertEqual(documents.check(self.root), ["docs/lab/README.md:1: does not list speed.md"])
    self.write("docs/lab/size.md", "# Size\n")
    self.write("docs/lab/README.md", "[speed](speed.md)\n")
    self.assertEqual(documents.check(self.root), ["docs/lab/README.md:1: does not list size.md"])
    self.write("docs/lab/README.md", "[speed](speed.md) [size](size.md)\n")
    self.assertEqual(documents.check(self.root), [])

  def test_troubles_name_tests_that_are_there(self):
    self.write("docs/README.md", "[how](architecture.md) [trouble](troubleshooting.md)\n")
    self.write("tests/a_test.cc", f"// {LICENSE}\nTEST(A, B) {{}}\nTEST_F(C, D) {{}}\n")
    self.write("docs/troubleshooting.md", "| symptom | sentence | cause | test |\n|---|---|---|---|\n"
               "| a | b | c | `A.B`, `C.D` |\n| a | b | c | `A.C` |\n| a | b | c | none |\n")
    complaints = documents.check(self.root)
    self.assertEqual(complaints, ["docs/troubleshooting.md:4: there is no test A.C",
                                  "docs/troubleshooting.md:5: the row names no test"])

  def test_a_source_names_its_license_at_once_or_behind_its_interpreter(self):
    self.write("src/base/a.cc", f"// {LICENSE}\nint a;\n")
    self.write("cmake/a.py", f"#!/usr/bin/env python3\n# {LICENSE}\n")
    self.write("src/base/b.cc", f"int a;\nint b;\n// {LICENSE}\n")
    self.assertEqual(documents.check(self.root),
                     [f"src/base/b.cc:1: has no line '{LICENSE}'; expected it first, or behind '#!'"])

  def test_what_has_gone_stale_is_named_with_its_line(self):
    self.write("README.md", "# Toy\n[gone](docs/gone.md)\n")
    with open(os.path.join(self.root, "docs", "architecture.md"), encoding="utf-8") as file:
      first = file.read().rstrip("\n") + "\n"
    tables = first.count("\n")
    self.write("docs/architecture.md", first + "## The tree\n| `src/gone` | what |\n## The way of one call\n"
               "| `A::gone` | `src/base/a.cc` | x |\n| `b` | `src/base/a.cc` | x |\n| `c` | `src/c.cc` | x |\n")
    self.write("docs/more.md", "")
    self.write("src/base/a.cc", f"// {LICENSE}\nint a;\nint b;  // TODO: c\n")
    self.write("cmake/a.sh", f"# {LICENSE}\nif true; then\n")
    complaints = documents.check(self.root)
    self.assertEqual([complaint.split(": ")[0] for complaint in complaints],
                     ["README.md:2", "docs/README.md:1", *(f"docs/architecture.md:{tables + line}" for line in (2, 4, 6)), "src/base/a.cc:3", "cmake/a.sh:1", "cmake/a.sh:3"])


class TestMap(ToyTree):
  def test_the_contract_ends_with_tests_that_are_there(self):
    self.write("tests/base/a_test.cc", "")
    self.write("tests/api/b_test.py", "")
    self.write("src/base/a.h", f"// {LICENSE}\n/// What a is.\n/// Tests: tests/base/a_test.cc, tests/api/b_test.py\n#pragma once\nint a();\n")
    self.write("src/base/data.h", f"// {LICENSE}\n/// Data (plain).\n#pragma once\nstruct Data {{\n  int a = 0;  ///< of f()\n}};\n"
               "static_assert(sizeof(Data) == 4);\n")
    self.write("tests/base/helper.h", f"// {LICENSE}\nint b();\n")
    self.assertEqual(test_map.check(self.root), [])

  def test_a_header_without_its_line_or_with_a_wrong_one_is_named(self):
    self.write("tests/base/a_test.cc", "")
    self.write("src/base/a.h", f"// {LICENSE}\n/// What a is.\n///\n/// More.\n#pragma once\nint a();\n")
    self.write("src/base/b.h", f"// {LICENSE}\n/// Tests: tests/base/a_test.cc, tests/base/b_test.cc\n#pragma once\nint b();\n")
    self.write("src/base/c.h", f"// {LICENSE}\n/// Tests: tests/base/a_test.cc\n/// What c is.\n#pragma once\nint c();\n")
    self.write("src/base/d.h", f"// {LICENSE}\n#pragma once\n/// Tests: tests/base/a_test.cc\nint d();\n")
    self.write("include/weir/e.h", f"// {LICENSE}\n/// Tests: src/base/a.h\n#pragma once\nint e();\n")
    self.assertEqual([complaint.split(": ")[0] for complaint in test_map.check(self.root)],
                     ["include/weir/e.h:2", "src/base/a.h:4", "src/base/b.h:2", "src/base/c.h:2", "src/base/d.h:1"])
    self.assertIn("there is no test tests/base/b_test.cc", test_map.check(self.root)[2])


COMPATIBILITY = """# Compatibility
## Symbols
| symbol | since | state | remark | tested by |
|---|---|---|---|---|
| `ncclInit` | 2.0 | implemented | | [api/x_test.cc](../tests/api/x_test.cc) |
| `ncclGrow` | 2.29.2 | refused | use ncclInit | [api/x_test.cc](../tests/api/x_test.cc) |
| `ncclDump` | rccl | implemented | | [api/x_test.cc](../tests/api/x_test.cc) |
## Fields of ncclConfig_t
| field | state | remark |
|---|---|---|
| `size` | implemented | |
| `netName` | without effect | there is one network |
## Variables of the environment
| variable | state | remark |
|---|---|---|
| `NCCL_DEBUG` | honoured | |
| `NCCL_CONF_FILE` | honoured | |
| `NCCL_NVLS` | without meaning | |
| `NCCL_ENV_PLUGIN` | honoured | |
"""


class Compatibility(ToyTree):
  def setUp(self):
    super().setUp()
    self.write(compatibility.NAMES, "# all\nncclInit 2.0\nncclGrow 2.29.2\n_Z8ncclDumpP8ncclComm rccl !\n")
    self.write(compatibility.HEADER, "typedef struct ncclConfig_v23100 {\n  size_t size; /* int old; */\n"
               "#ifdef NEW\n  const char* netName;\n#endif\n} ncclConfig_t;\n")
    self.write(compatibility.OPTIONS, 'OptionRow{"NCCL_DEBUG", 1},\nOptionRow{\n  "WEIR_SLOTS", 1},\n// OptionRow{"NCCL_OLD"\n')
    self.write(compatibility.VARIABLES, '"NCCL_DEBUG", "NCCL_CONF_FILE", "NCCL_NVLS",\n')
    self.write("src/api/refused.cc", 'return refuse("ncclGrow", "use ncclInit");\n')
    self.write("tests/api/x_test.cc", "ncclInit(); ncclGrow(); ncclDump();\n")

  def complaints(self, before="", after=""):
    assert not before or before in COMPATIBILITY
    self.write(compatibility.PAGE, COMPATIBILITY.replace(before, after) if before else COMPATIBILITY)
    return compatibility.check(self.root)

  def test_a_true_page(self):
    self.assertEqual(self.complaints(), [])

  def test_rows_that_are_missing_too_many_or_double(self):
    row = "| `ncclInit` | 2.0 | implemented | | [api/x_test.cc](../tests/api/x_test.cc) |\n"
    self.assertEqual(self.complaints(row), ["docs/compatibility.md:1: has no row for ncclInit of src/api/names.txt"])
    self.assertEqual(self.complaints(row, row + row), ["docs/compatibility.md:6: ncclInit has a second row"])
    self.assertIn("docs/compatibility.md:12: netname is not in ncclConfig_t (include/nccl.h)",
                  self.complaints("`netName`", "`netname`"))
    self.assertIn("docs/compatibility.md:1: has no row for NCCL_NVLS of src/base/options.cc or src/base/nccl_variables.h",
                  self.complaints("| `NCCL_NVLS` | without meaning | |\n"))

  def test_versions_and_states(self):
    self.assertEqual(self.complaints("`ncclInit` | 2.0", "`ncclInit` | 2.1"),
                     ["docs/compatibility.md:5: ncclInit is there since 2.0, says src/api/names.txt, not 2.1"])
    self.assertEqual(self.complaints("2.29.2 | refused", "2.29.2 | implemented"),
                     ["docs/compatibility.md:6: src/api refuses ncclGrow, and the row says that it is implemented"])
    self.assertEqual(len(self.complaints("use ncclInit", "")), 1)
    self.assertEqual(len(self.complaints("| size | implemented".replace("size", "`size`"), "| `size` | refused")), 2)
    self.assertEqual(self.complaints("`NCCL_NVLS` | without meaning", "`NCCL_NVLS` | honoured"),
                     ["docs/compatibility.md:18: NCCL_NVLS is 'honoured'; by src/base/options.cc it is without meaning"])
    self.assertEqual(len(self.complaints("`NCCL_DEBUG` | honoured", "`NCCL_DEBUG` | without meaning")), 1)

  def test_the_tests_that_are_named(self):
    self.write("tests/api/x_test.cc", "ncclInitAll(); ncclGrow(); ncclDump();\n")
    self.assertEqual(self.complaints(), ["docs/compatibility.md:5: tests/api/x_test.cc does not mention ncclInit"])
    os.remove(os.path.join(self.root, "tests/api/x_test.cc"))
    self.assertEqual(len(self.complaints()), 3)
    self.assertIn("there is no file", self.complaints()[0])


class Summary(unittest.TestCase):
  """Lines as GoogleTest of Debian 12 and CTest 3.25 write them."""

  def root(self, *tests):
    root = summary.ElementTree.Element("testsuite")
    for name, status, output, *skipped in tests:
      test = summary.ElementTree.SubElement(root, "testcase", name=name, status=status)
      for message in skipped:
        summary.ElementTree.SubElement(test, "skipped", message=message)
      summary.ElementTree.SubElement(test, "system-out").text = output
    return root

  def count(self, *tests):
    return summary.count(self.root(*tests))

  def test_a_program_of_several_cases_counts_as_that_many(self):
    self.assertEqual(self.count(("ir_test", "run", "[==========] 27 tests ran. (1 ms total)\n[  PASSED  ] 27 tests.\n"),
                                ("Listener.Opens", "run", "[  PASSED  ] 1 test.\n"), ("project.floors", "run", "")), (29, 0, []))

  def test_failed_cases_are_named(self):
    output = "[  FAILED  ] Verify.Sums (0 ms)\n[  PASSED  ] 25 tests.\n[  FAILED  ] 2 tests, listed below:\n" \
             "[  FAILED  ] Verify.Sums\n[  FAILED  ] All/Draw.Text/3\n"
    self.assertEqual(self.count(("ir_test", "fail", output)), (25, 0, ["ir_test: All/Draw.Text/3", "ir_test: Verify.Sums"]))

  def test_one_case_that_fails_has_its_own_name(self):
    output = "[  PASSED  ] 0 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Listener.Opens\n"
    self.assertEqual(self.count(("Listener.Opens", "fail", output)), (0, 0, ["Listener.Opens"]))

  def test_a_program_that_dies_or_hangs_has_failed(self):
    self.assertEqual(self.count(("ir_test", "fail", "")), (0, 0, ["ir_test"]))
    output = "[ RUN      ] Verify.Sums\n[       OK ] Verify.Sums (0 ms)\n[ RUN      ] Draw.Text\nSegmentation fault\n"
    self.assertEqual(self.count(("ir_test", "fail", output)), (0, 0, ["ir_test: Draw.Text"]))

  def test_what_failed_tests_said_last_is_shown(self):
    root = self.root(("a", "run", "right\n"), ("b", "fail", "x" * summary.LAST + "\n2 ranks\nnot 3\n"))
    self.assertEqual(list(summary.said(root))[0], "  | b, 0.0 s:")
    self.assertEqual(list(summary.said(root))[2:], ["  | 2 ranks", "  | not 3"])
    self.assertEqual(sum(len(line) - 4 for line in list(summary.said(root))[1:]), summary.LAST - 2)  # without the line ends

  def test_what_is_skipped_neither_passed_nor_failed(self):
    self.assertEqual(self.count(("rdma.ucx", "notrun", "", "SKIP_RETURN_CODE=77"), ("Limits.Names", "disabled", "Disabled")),
                     (0, 2, []))

  def test_what_cannot_run_has_failed(self):
    self.assertEqual(self.count(("trainer.avx2", "notrun", "Unable to find executable: x", "Unable to find executable")),
                     (0, 0, ["trainer.avx2: Unable to find executable: x"]))
    self.assertEqual(self.count(("rdma.ucx", "notrun", "")), (0, 0, ["rdma.ucx: did not run"]))


class Words(ToyTree):
  def setUp(self):
    super().setUp()
    self.write("docs/glossary.md", "| weir | NCCL | meaning |\n|---|---|---|\n| queue pair | QP | a connection |\n")
    self.write("words.txt", "# Ordinary.\ngroup log\n")

  def breaches(self):
    found = words.check(self.root, os.path.join(self.root, "words.txt"))
    return [breach for breach in found if not breach.startswith("docs/architecture.md")]

  def test_old_words_are_refused_in_names_comments_and_texts(self):
    self.write("src/base/log.cc", "int a;\nint open_door();\n// A seat.\nstruct Mailbox {};\nint ncclOpenDoor();  // of NCCL\n")
    self.write("docs/page.md", "Both strands.\n")
    self.assertEqual(self.breaches(), [
        "docs/page.md:1: 'strand' in strands; say queue pair",
        "src/base/log.cc:2: 'door' in open_door; say listener; in sentences that users read: its address",
        "src/base/log.cc:3: 'seat' in seat; say PeerInfo"])

  def test_words_with_another_meaning_are_refused_where_they_are_names(self):
    self.write("src/core/log.cc", "int turns_;  // They take turns at home.\nconst char* text = \"home\";\nclass Watch;\n")
    self.write("trainer/log.cc", "int turns_;\nclass Watch;\n")
    self.assertEqual([breach.split("; ")[0] for breach in self.breaches()],
                     ["src/core/log.cc:1: 'turn' in turns_", "src/core/log.cc:3: 'Watch' in Watch"])

  def test_one_name_stands_for_one_class(self):
    self.write("src/core/log.h", "class Log {\n};\nclass Group {\n};\nclass Hello {\n};\n")
    self.write("algorithms/log.h", "// Log.\nenum class Log {\n};\nclass Group;\nstruct Hello {\n};\n")
    self.write("src/drivers/log_abi.h", "struct Group {\n};\n")
    self.write("trainer/log.h", "struct Group {\n};\n")
    self.write("docs/glossary.md", "| weir | NCCL | meaning |\n|---|---|---|\n| abi, hello | - | a word |\n")
    self.assertEqual(self.breaches(),
                     ["src/core/log.h:1: Log is also a class at algorithms/log.h:2; one name for one thing"])

  def test_names_of_files_are_names(self):
    self.write("src/core/own_log.cc", "")
    self.write("src/core/turn_log.cc", "")
    self.assertEqual([breach.split("; ")[0] for breach in self.breaches()],
                     ["src/core/own_log.cc:1: the file's name begins with own_",
                      "src/core/turn_log.cc:1: 'turn' in the file's name"])

  def test_the_last_word_of_a_class_or_file_is_ordinary_or_explained(self):
    self.write("src/core/group.h", "class QueuePairs {\n};\nstruct OpenGroup : Log {\n};\nclass Moon {\n};\nclass Later;\n")
    self.write("src/core/moon_group.cc", "class Moon {\n};\n")
    self.write("src/core/group_moons.cc", "")
    self.assertEqual([breach.split("; ")[0] for breach in self.breaches()],
                     ["src/core/group.h:5: 'moon' of Moon is not in docs/glossary.md",
                      "src/core/group_moons.cc:1: 'moons' of group_moons is not in docs/glossary.md"])

  def test_the_changelog_may_say_everything(self):
    self.write("CHANGELOG.md", "The door is a listener now.\n")
    self.assertEqual(self.breaches(), [])


if __name__ == "__main__":
  unittest.main()
