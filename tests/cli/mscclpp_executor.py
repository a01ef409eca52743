#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the execution plans of `weir plan --emit mscclpp-json` on a model of MSCCL++'s executor, with integers.

    mscclpp_executor.py WEIR

The model knows what execution_kernel.hpp of MSCCL++ 0.9.0 does, and nothing of weir. Each thread block has several
threads, which take turns at random and wait for each other only at a nop; an operation on data is spread over all of
them, differently for each operation. Port channels copy later, each in a thread of its own. Every GPU runs the plan
twice: before each run its input is new and its output is spoiled, after each run the output is compared with what the
collective defines and both are spoiled again. Neither run waits for another GPU.
"""
import json
import random
import subprocess
import sys

THREADS = 3  # of a block; also elements of a chunk
RUNS = 2
SPOILED = -(10**9)

TOPOLOGIES = [
    "(2 gpu mesh 100)",
    "(3 gpu mesh 50)",
    "(8 gpu nvswitch 300)",
    "(8 gpu mi250 50)",
    "2 x (4 gpu nvswitch 300, 4 nic 25) leaf",
    "3 x (2 gpu mesh 100, 1 nic 25) leaf",
    "6 x (1 gpu, 1 nic 25) leaf",
]
COLLECTIVES = ["allreduce", "allgather", "reducescatter", "alltoall"]
MOST = {"operations": 64, "channels": 16, "at once": 8, "spans": 10, "blocks": 64}


class Wrong(Exception):
    pass


def expect(condition, sentence):
    if not condition:
        raise Wrong(sentence)


class Buffers:
    """The memory of a GPU; in place, input and output are parts of one list."""

    def __init__(self, plan, rank, in_place):
        gpu = plan["gpus"][rank]
        sizes = {"i": gpu["input_chunks"] * THREADS, "o": gpu["output_chunks"] * THREADS}
        self.scratch = [SPOILED] * (gpu["scratch_chunks"] * THREADS)
        self.memory, self.first = [SPOILED] * (sizes["i"] + sizes["o"]), {"i": 0, "o": sizes["i"]}
        if in_place:
            small, large = sorted("io", key=lambda name: sizes[name])
            self.first = {large: 0, small: rank * sizes[small] if sizes[small] < sizes[large] else 0}
            self.memory = [SPOILED] * sizes[large]
        self.sizes = sizes

    def place(self, name, index):
        return (self.scratch, index) if name == "s" else (self.memory, self.first[name] + index)

    def get(self, name, index):
        memory, at = self.place(name, index)
        return memory[at]

    def set(self, name, index, value):
        memory, at = self.place(name, index)
        memory[at] = value

    def spoil(self):
        self.memory[:] = [SPOILED] * len(self.memory)


class Machine:
    def __init__(self, plan, in_place, seed):
        self.plan, self.random = plan, random.Random(seed)
        self.ranks = len(plan["gpus"])
        self.buffers = [Buffers(plan, rank, in_place) for rank in range(self.ranks)]
        self.peers = [{"memory": [], "port": []} for _ in range(self.ranks)]
        for rank, gpu in enumerate(plan["gpus"]):
            expect(gpu["id"] == rank, "GPUs are not in the order of their ids")
            for channel in gpu["channels"]:
                self.peers[rank][channel["channel_type"]] += channel["connected_to"]
        self.signals = {}  # that have arrived at (rank, type, channel)
        self.queues = {}  # of port channels
        self.semaphores = [[s["init_value"] for s in gpu["semaphores"]] for gpu in plan["gpus"]]

    def other_end(self, rank, kind, channel):
        peer = self.peers[rank][kind][channel]
        number = self.peers[rank][kind][:channel].count(peer)
        back = [c for c, other in enumerate(self.peers[peer][kind]) if other == rank]
        expect(number < len(back), f"GPU {peer} has too few channels to GPU {rank}")
        return (peer, kind, back[number])

    def signal(self, rank, kind, channel):
        end = self.other_end(rank, kind, channel)
        self.signals[end] = self.signals.get(end, 0) + 1

    # What follows are coroutines. They yield True after each step, and False where they cannot go on.

    def gpu(self, rank):
        """The stream of a GPU: one kernel after the other."""
        for run in range(RUNS):
            buffers = self.buffers[rank]
            buffers.spoil()
            for index in range(buffers.sizes["i"]):
                buffers.set("i", index, share(run, rank, index))
            blocks = self.plan["gpus"][rank]["threadblocks"]
            barriers = [[0] for _ in blocks]
            threads = [self.thread(rank, b, t, barriers[b]) for b in range(len(blocks)) for t in range(THREADS)]
            while threads:
                number = self.random.randrange(len(threads))
                try:
                    yield next(threads[number])
                except StopIteration:
                    threads.pop(number)
                    yield True
            for index in range(buffers.sizes["o"]):
                found, right = buffers.get("o", index), result(self.plan, run, rank, index)
                expect(found == right, f"run {run}: element {index} of GPU {rank} is {found}; expected {right}")
            buffers.spoil()

    def thread(self, rank, number, thread, arrived):
        block = self.plan["gpus"][rank]["threadblocks"][number]
        channels = {"memory": [], "port": []}
        remotes = {"memory": [], "port": []}
        for entry in block["channels"]:
            channels[entry["channel_type"]] += entry["channel_ids"]
        for entry in block["remote_buffer_refs"]:
            remotes[entry["access_channel_type"]] += entry["remote_buffer_ids"]
        nops = 0
        for step, operation in enumerate(block["ops"]):
            name, kind = operation["name"], operation.get("channel_type", "none")
            own = [channels[kind][c] for c in operation.get("channel_ids", [])]
            yield True
            if name == "nop":
                nops += 1
                arrived[0] += 1
                while arrived[0] < nops * THREADS:
                    yield False
            elif name in ("copy", "re", "put") and kind != "port":
                self.work(rank, operation, remotes.get(kind), (thread + step) % THREADS)
            # Thread t takes the t-th channel or semaphore; here one takes them all, not always the same one.
            elif thread != step % THREADS and name not in ("put", "pws"):
                continue
            elif thread != 0 and name in ("put", "pws"):
                continue
            elif name in ("put", "pws"):
                expect(kind == "port", f"{name} does not signal on memory channels")
                item = (name, rank, operation, remotes["port"])
                self.queues.setdefault((rank, own[0]), []).append(item)
            elif name == "signal":
                for channel in own:
                    if kind == "port":
                        self.queues.setdefault((rank, channel), []).append(("signal", rank, None, None))
                    else:
                        self.signal(rank, kind, channel)
            elif name == "wait":
                for channel in own:
                    while self.signals.get((rank, kind, channel), 0) == 0:
                        yield False
                    self.signals[(rank, kind, channel)] -= 1
            elif name == "flush":
                for channel in own[: len(operation.get("dst_buff", []))]:
                    while self.queues.get((rank, channel)):
                        yield False
            elif name == "sem_acquire":
                for semaphore in operation["semaphore_ids"]:
                    while self.semaphores[rank][semaphore] == 0:
                        yield False
                    self.semaphores[rank][semaphore] -= 1
            elif name == "sem_release":
                for semaphore in operation["semaphore_ids"]:
                    self.semaphores[rank][semaphore] += 1
            else:
                raise Wrong(f"the operation {name} is unknown")

    def work(self, rank, operation, remotes, thread):
        """The part of a thread: one element of each chunk."""
        def locate(span):
            if "buffer_id" not in span:
                return self.buffers[rank], span["type"]
            remote = self.plan["gpus"][rank]["remote_buffers"][remotes[span["buffer_id"]]]
            return self.buffers[remote["rank"]], remote["type"]

        sources, targets = operation["src_buff"], operation["dst_buff"]
        for chunk in range(sources[0]["size"]):
            values = []
            for span in sources:
                buffers, name = locate(span)
                values.append(buffers.get(name, (span["index"] + chunk) * THREADS + thread))
            expect(len(targets) == 1 and targets[0]["size"] == sources[0]["size"], "spans of different sizes")
            buffers, name = locate(targets[0])
            buffers.set(name, (targets[0]["index"] + chunk) * THREADS + thread, sum(values))

    def copier(self, key):
        """The host thread of a port channel."""
        rank, channel = key
        while True:
            while not self.queues.get(key):
                yield False
            name, _, operation, remotes = self.queues[key][0]
            if operation is not None:
                for thread in range(THREADS):
                    yield True
                    self.work(rank, operation, remotes, thread)
            if name != "put":
                self.signal(rank, "port", channel)
            self.queues[key].pop(0)
            yield True

    def run(self):
        gpus = [self.gpu(rank) for rank in range(self.ranks)]
        copiers = [
            self.copier((rank, channel))
            for rank in range(self.ranks)
            for channel in range(len(self.peers[rank]["port"]))
        ]
        idle = 0
        while gpus:
            everyone = gpus + copiers
            one = self.random.choice(everyone)
            try:
                idle = 0 if next(one) else idle + 1
            except StopIteration:
                gpus.remove(one)
                idle = 0
            expect(idle < 2000 * len(everyone), "deadlock")
        expect(not any(self.signals.values()), "there are signals for which nothing has waited")
        expect(all(not any(all_of) for all_of in self.semaphores), "a semaphore does not end as it begins")


def share(run, rank, index):
    return (rank + 1) * 1000 + index * 7 + run * 100000


def result(plan, run, rank, index):
    ranks, kind = len(plan["gpus"]), plan["collective"]
    block = plan["gpus"][rank]["output_chunks"] * THREADS
    if kind == "allreduce":
        return sum(share(run, r, index) for r in range(ranks))
    if kind == "reducescatter":
        return sum(share(run, r, rank * block + index) for r in range(ranks))
    block //= ranks
    source, part = divmod(index, block)
    return share(run, source, part if kind == "allgather" else rank * block + part)


def check_limits(plan):
    for gpu in plan["gpus"]:
        expect(len(gpu["threadblocks"]) <= MOST["blocks"], "too many thread blocks")
        for block in gpu["threadblocks"]:
            expect(len(block["ops"]) <= MOST["operations"], "too many operations")
            for entry in block["channels"]:
                expect(len(entry["channel_ids"]) <= MOST["channels"], "too many channels")
            for entry in block["remote_buffer_refs"]:
                expect(len(entry["remote_buffer_ids"]) <= MOST["channels"], "too many remote buffers")
            for operation in block["ops"]:
                expect(len(operation.get("channel_ids", [])) <= MOST["at once"], "too many channels at once")
                for key in ("src_buff", "dst_buff"):
                    expect(len(operation.get(key, [])) <= MOST["spans"], f"too many entries in {key}")


def notices(plan, name):
    """Whether a run shows that all operations of one kind are missing: the model would prove nothing otherwise."""
    less = json.loads(json.dumps(plan))
    for gpu in less["gpus"]:
        for block in gpu["threadblocks"]:
            block["ops"] = [operation for operation in block["ops"] if operation["name"] != name]
    for seed in range(20):
        try:
            Machine(less, False, seed).run()
        except Wrong:
            return True
    return False


def emitted(weir, topology, collective):
    command = [weir, "plan", topology, "--collective", collective, "--emit", "mscclpp-json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def check_model(weir):
    plans = [emitted(weir, "2 x (3 gpu mesh 100, 3 nic 25) leaf", name) for name in ("allreduce", "alltoall")]
    for name in ("nop", "put", "pws", "re", "signal", "wait", "flush", "sem_acquire", "sem_release"):
        expect(any(notices(plan, name) for plan in plans), f"nothing happens without {name}")


def main(weir):
    try:
        check_model(weir)
    except Wrong as wrong:
        print(f"the model of the executor: {wrong}")
        return 1
    for topology in TOPOLOGIES:
        for collective in COLLECTIVES:
            plan = emitted(weir, topology, collective)
            try:
                check_limits(plan)
                for seed in range(2):
                    Machine(plan, False, seed).run()
                    if collective != "alltoall":
                        Machine(plan, True, seed).run()
            except Wrong as wrong:
                print(f"{topology}, {collective}: {wrong}")
                return 1
            print(f"{topology}, {collective}: right")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
