#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `weir topo --html` in a browser: page_test.py WEIR.

Opens it in Chromium without a screen: nothing is complained about on the console, network and hosts are there and
painted, pointing at a line or a box tells its facts and dims the rest, buttons change the host that is shown. Ends with
77 (skipped) where there is no Chromium that works.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
CLUSTER = "(2 numa, 8 gpu nvswitch 450 pcie 64, 8 nic 50) + (8 gpu cube 25, 4 nic 12.5) leaf 2:1 spine 2"
MI250 = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machines", "mi250_16.xml")

# Runs behind the page's own script and leaves what it saw in the document.
LOOK = """<script>{
const seen = {};
const over = element => element.dispatchEvent(new PointerEvent('pointerover', {bubbles: true, clientX: 90, clientY: 90}));
const facts = () => document.getElementById('facts').textContent;
seen.pictures = document.querySelectorAll('svg').length;
seen.shown = [...document.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 100).length;
seen.tips = document.querySelectorAll('svg title').length;
seen.before = facts();
const wire = [...document.querySelectorAll('.wire')].find(one => /NVLink|xGMI/.test(one.dataset.facts));
over(wire);
seen.wire = facts();
seen.picked = wire.ownerSVGElement.classList.contains('picked');
seen.ends = [wire.dataset.a, wire.dataset.b].map(
    n => wire.ownerSVGElement.querySelector(`.box[data-box="${n}"]`).classList.contains('on'));
const far = [...wire.ownerSVGElement.querySelectorAll('.wire')].find(one => !one.classList.contains('on'));
seen.dimmed = far ? Number(getComputedStyle(far).opacity) : -1;
const box = [...document.querySelectorAll('.box')].find(one => /^GPU 0/.test(one.dataset.facts));
over(box.querySelector('rect'));
seen.box = facts();
seen.joined = box.ownerSVGElement.querySelectorAll('.wire.on').length;
over(document.body);
seen.after = facts();
seen.left = document.querySelectorAll('.on, .picked').length;
const buttons = [...document.querySelectorAll('nav button')];
seen.buttons = buttons.map(button => {
  button.click();
  return [...document.querySelectorAll('[data-class]')].filter(sheet => !sheet.hidden).map(sheet => sheet.dataset.class);
});
const result = document.createElement('pre');
result.id = 'seen';
result.textContent = JSON.stringify(seen);
document.body.append(result);
}</script></body>"""


class Browser:
  """Chromium with a folder of its own, which goes with the test."""

  def __init__(self, program, folder):
    self.program, self.folder = program, folder

  def run(self, page, *arguments):
    """Opens the text of a page; what is written to both outputs."""
    path = os.path.join(self.folder, "page.html")
    with open(path, "w", encoding="utf-8") as file:
      file.write(page)
    command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               "--window-size=1400,1000", "--enable-logging=stderr",
               f"--user-data-dir={os.path.join(self.folder, 'profile')}", *arguments, "file://" + path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}"
    return done.stdout, done.stderr

  def look(self, page):
    dom, log = self.run(page.replace("</body>", LOOK), "--dump-dom")
    found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    assert found, f"the script did not reach its end:\n{log[-2000:]}"
    text = found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text)

  def picture(self, page):
    """The bytes of a picture of a page, and what was said on the console."""
    path = os.path.join(self.folder, "picture.png")
    _, log = self.run(page, f"--screenshot={path}")
    with open(path, "rb") as file:
      return file.read(), [line for line in log.splitlines() if "CONSOLE" in line]


def page_of(weir, machine):
  done = subprocess.run([weir, "topo", "--html", machine], capture_output=True, text=True, timeout=60, check=False)
  assert done.returncode == 0, done.stderr
  return done.stdout


def check(name, page, browser, blank, pictures, words, joined):
  picture, console = browser.picture(page)
  assert not console, f"{name}: the console says {console}"
  assert len(picture) > 5 * len(blank), f"{name}: a picture of {len(picture)} bytes, of nothing {len(blank)}"
  seen = browser.look(page)
  print(f"{name}: {json.dumps(seen)}")
  assert seen["pictures"] == pictures[0] and seen["shown"] == pictures[1], f"{name}: pictures of network and hosts"
  assert seen["tips"] == 0 and seen["before"] == "" and seen["after"] == "" and seen["left"] == 0, name
  assert words[0] in seen["wire"] and "GB/s" in seen["wire"], f"{name}: facts of a line"
  assert seen["picked"] and seen["ends"] == [True, True], f"{name}: a line and its ends stand out"
  assert 0 < seen["dimmed"] < 0.5, f"{name}: the others step back"
  assert words[1] in seen["box"] and seen["joined"] == joined, f"{name}: facts of a GPU and what it is joined to"
  return seen


def main():
  program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
  if program is None:
    print("there is no Chromium here")
    sys.exit(SKIPPED)
  with tempfile.TemporaryDirectory() as folder:
    browser = Browser(program, folder)
    try:
      blank, _ = browser.picture("<!DOCTYPE html><title>nothing</title>")
    except (AssertionError, OSError, subprocess.TimeoutExpired) as why:
      print(f"Chromium cannot show an empty page here: {why}")
      sys.exit(SKIPPED)
    # The network and one of two hosts, which buttons choose.
    seen = check("cluster", page_of(sys.argv[1], CLUSTER), browser, blank, (3, 2), ("NVLink", "GPU 0"), 2)
    assert seen["buttons"] == [["0"], ["1"]], "each button shows its host alone"
    # A GPU's PCIe link and, on the ring, its links to three others.
    seen = check("MI250", page_of(sys.argv[1], MI250), browser, blank, (1, 1), ("xGMI", "gfx90a"), 4)
    assert seen["buttons"] == [], "one host needs no button"


if __name__ == "__main__":
  main()
