#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of examples/cluster on this machine: cluster_test.py BUILD_FOLDER SOURCE_FOLDER. Slurm's commands are stand-ins, and
the pods of the manifest are processes that get what the manifest gives to them."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from commands import environment, free_port, run

SCONTROL = """#!/bin/sh
[ "$1 $2 $3" = "show hostnames node[0-1]" ] && echo 127.0.0.1
[ "$1" != requeue ] || echo "back into the queue: $2"
"""
# Two hosts of two ranks: half of what the file asks for.
SRUN = """#!/usr/bin/env bash
export SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS_PER_NODE=2
for ((rank = 0; rank < 4; ++rank)); do
  SLURM_PROCID=$rank SLURM_LOCALID=$((rank % 2)) NCCL_HOSTID=host$((rank / 2)) "$@" &
  ranks+=($!)
done
for rank in "${ranks[@]}"; do wait "$rank" || exit; done
"""


def rows(text):
  """The sizes of a table of nccl-tests."""
  return [int(size) for size in re.findall(r"^ +(\d+) +\d+ +float", text, re.MULTILINE)]


class Cluster(unittest.TestCase):
  build = source = None

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name
    self.files = os.path.join(self.source, "examples", "cluster")
    self.path = f"{self.folder}:{self.build}/bin:{os.environ['PATH']}"

  def stand_in(self, name, text):
    path = os.path.join(self.folder, name)
    with open(path, "w", encoding="utf-8") as file:
      file.write(text)
    os.chmod(path, 0o755)

  def test_the_hostfile_is_what_weir_writes(self):
    text = run([f"{self.files}/hostfile.sh", f"{self.files}/fabric.txt", "8"], env=environment(PATH=self.path))
    with open(f"{self.files}/hostfile", encoding="utf-8") as file:
      self.assertEqual(text, file.read())
    self.assertEqual(run([f"{self.files}/hostfile.sh"], status=2), "")

  def test_the_picture_of_the_readme_is_what_weir_draws(self):
    run([f"{self.source}/docs/images/draw.sh", f"{self.build}/bin", f"{self.folder}/drawn.svg"])
    with open(f"{self.folder}/drawn.svg", encoding="utf-8") as drawn, \
         open(f"{self.source}/docs/images/leaf-spine.svg", encoding="utf-8") as committed:
      self.assertEqual(drawn.read(), committed.read(), "stale: docs/images/draw.sh draws it")

  def test_the_sbatch_file_runs_both_steps(self):
    self.stand_in("scontrol", SCONTROL)
    self.stand_in("srun", SRUN)
    job = environment(PATH=self.path, SLURM_JOB_NODELIST="node[0-1]", SLURM_JOB_ID=str(free_port() % 10000 + 10000), STEPS="2",
                      PRESET="tiny", LARGEST="64K", OMP_NUM_THREADS="1")
    if not os.path.exists(f"{self.build}/bin/weir-train"):
      self.stand_in("weir-train", "#!/bin/sh\n[ $SLURM_PROCID != 0 ] || echo \'     2 held out\'\n")
    text = run(["bash", f"{self.files}/train.sbatch", f"{self.build}/bin"], env=job)
    self.assertEqual(rows(text), [1 << power for power in range(10, 17, 2)])
    self.assertIn("# Out of bounds values : 0 OK", text)
    self.assertRegex(text, r"(?m)^ +2 .*held out")

  def test_a_job_that_was_warned_goes_back_into_the_queue(self):
    self.stand_in("scontrol", SCONTROL)
    self.stand_in("srun", SRUN)
    self.stand_in("all_reduce_perf", "#!/bin/sh\n")
    for code, checkpoints, requeued in ((138, "kept", True), (138, "", False), (1, "kept", False)):
      self.stand_in("weir-train", f'#!/bin/sh\necho "$@" | grep -q -e "--checkpoints kept" || [ "{checkpoints}" = "" ] || exit 2\nexit {code}\n')
      job = environment(PATH=self.path, SLURM_JOB_NODELIST="node[0-1]", SLURM_JOB_ID="77", CHECKPOINTS=checkpoints)
      text = run(["bash", f"{self.files}/train.sbatch"], env=job, status=code)
      self.assertEqual("back into the queue: 77" in text, requeued, (code, checkpoints, text))

  def test_the_pods_of_the_manifest_sum(self):
    with open(f"{self.files}/job.yaml", encoding="utf-8") as file:
      manifest = file.read()
    command = re.search(r'command: \["/bin/sh", "-c"\]\n +args: \["(.*)"\]', manifest).group(1)
    values = dict(re.findall(r'name: (\w+), value: "(.*?)"', manifest))
    pods = int(re.search(r"completions: (\d+)", manifest).group(1))
    self.assertEqual(values["WORLD_SIZE"], str(pods))
    values.update(NCCL_COMM_ID=f"127.0.0.1:{free_port()}", WEIR_SECRET="of the test")
    del values["WEIR_PORTS"]  # pods have addresses of their own
    ranks = [subprocess.Popen(["/bin/sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment(PATH=self.path, JOB_COMPLETION_INDEX=str(pod), NCCL_HOSTID=f"weir-{pod}", **values))
             for pod in range(pods)]
    texts = [rank.communicate(timeout=120)[0] for rank in ranks]
    self.assertEqual([rank.returncode for rank in ranks], [0] * pods, texts)
    self.assertEqual(rows(texts[0]), [1 << power for power in range(10, 25, 2)])


if __name__ == "__main__":
  Cluster.build, Cluster.source = (os.path.abspath(path) for path in sys.argv[1:3])
  unittest.main(argv=sys.argv[:1])
