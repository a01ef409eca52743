# SPDX-License-Identifier: Apache-2.0
"""Generates tokens of a model with vLLM and prints them: generate.py FOLDER [OPTION=VALUE ...] (options of vllm.LLM, values JSON).

Prints a line of JSON: the tokens of each prompt, the classes of the workers' communicators, and tokens/s. With node_rank=1 it has the
workers of the second host, as `vllm serve --headless` does, and prints nothing.
"""

import json
import sys
import time

PROMPTS, LENGTH = 4, 32


def communicators(worker):
  """Called in each worker: the class of the first communicator between several ranks."""
  from vllm.distributed.parallel_state import get_pp_group, get_tp_group
  return next((f"{type(group.device_communicator).__module__}.{type(group.device_communicator).__name__}"
               for group in (get_tp_group(), get_pp_group()) if group.device_communicator is not None), "none")


def follow(arguments):
  """The workers of another host than the first one, until they are killed."""
  from vllm.engine.arg_utils import EngineArgs
  from vllm.v1.executor.multiproc_executor import MultiprocExecutor
  config = EngineArgs(**arguments).create_engine_config(headless=True)
  MultiprocExecutor(config, monitor_workers=False).start_worker_monitor(inline=True)


def main():
  options = {name: json.loads(value) for name, value in (word.split("=", 1) for word in sys.argv[2:])}
  arguments = {"model": sys.argv[1], "skip_tokenizer_init": True, "dtype": "bfloat16", "max_model_len": 256, "max_num_seqs": 8, "seed": 1,
               "kv_cache_memory_bytes": 64 << 20, **options}
  if arguments.get("node_rank"):
    follow(arguments)
    return
  from vllm import LLM, SamplingParams
  model = LLM(**arguments)
  prompts = [{"prompt_token_ids": [3 + (7 * prompt + 11 * place) % 500 for place in range(5 + prompt)]} for prompt in range(PROMPTS)]
  sampling = SamplingParams(temperature=0, max_tokens=LENGTH, ignore_eos=True, detokenize=False)
  begin = time.perf_counter()
  outputs = model.generate(prompts, sampling, use_tqdm=False)
  taken = time.perf_counter() - begin
  classes = model.collective_rpc(communicators)
  print(json.dumps({"tokens": [list(output.outputs[0].token_ids) for output in outputs], "communicators": classes,
                    "tokens_per_s": PROMPTS * LENGTH / taken}), flush=True)


if __name__ == "__main__":
  main()
