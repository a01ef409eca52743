#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models go to Hugging Face's transformers and come from it: hugging_face_test.py WEIR_TRAIN PRINT_LOGITS PRINT_TOKENS.

Logits and losses on the held-out text must be the same on both sides, and so must tokens of texts. Ends with 77 (skipped) where transformers or torch is not installed
for this Python.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile

from matrix_test import some_text

SKIPPED = 77
TOLERANCE = 1e-4  # of logits and losses
SEQUENCES = 6
TEXT = "And God said, é\n\x00\x7f"

os.environ["HF_HUB_OFFLINE"] = "1"  # nothing here comes from the network
os.environ["CUDA_VISIBLE_DEVICES"] = ""
try:
  import tokenizers
  import torch
  import transformers
except ImportError as missing:
  print(f"{missing}: models cannot be compared with those of transformers (pip install transformers torch safetensors)")
  sys.exit(SKIPPED)


def train(program, *options):
  """Losses on the held-out text, by step."""
  with tempfile.NamedTemporaryFile(suffix=".jsonl") as metrics:
    command = [program, "--data", some_text().name, "--batch", "8", "--sample", "0", "--evaluate-every", "0", "--evaluation-sequences",
               f"{SEQUENCES}", "--metrics", metrics.name, *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, (command, run.stdout, run.stderr)
    lines = [json.loads(line) for line in open(metrics.name, encoding="utf-8")]
  return {line["step"]: line["held_out_loss"] for line in lines if "held_out_loss" in line}


def held_out(length):
  """[SEQUENCES, length + 1] tokens: those that weir-train evaluates (samples.h)."""
  with open(some_text().name, "rb") as file:
    text = file.read()
  text = text[len(text) - len(text) // 10:]
  limit = (len(text) - 1) // length
  begins = [number * limit // SEQUENCES * length for number in range(SEQUENCES)]
  return torch.tensor([list(text[begin:begin + length + 1]) for begin in begins])


def loss_of(model):
  tokens = held_out(model.config.max_position_embeddings)
  with torch.no_grad():
    logits = model(tokens[:, :-1]).logits
  return torch.nn.functional.cross_entropy(logits.reshape(-1, 256).double(), tokens[:, 1:].reshape(-1)).item()


def load(folder, kind=transformers.GPT2LMHeadModel):
  model, loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, attn_implementation="eager")
  wrong = {what: list(names) for what, names in loaded.items() if names}
  assert isinstance(model, kind) and not wrong, (type(model), wrong)
  return model.eval()


def check_logits(print_logits, folder, model):
  tokens = TEXT.encode()
  result = subprocess.run([print_logits, folder], input=tokens, capture_output=True, timeout=120, check=True)
  own = torch.tensor(json.loads(result.stdout)).reshape(len(tokens), 256)
  with torch.no_grad():
    theirs = model(torch.tensor([list(tokens)])).logits[0].float()
  off = (own - theirs).abs().max().item()
  assert off < TOLERANCE < theirs.abs().max().item(), (folder, off, theirs.abs().max().item())
  return off


def check_tokenizer(folder, length):
  tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
  tokens = tokenizer(TEXT)["input_ids"]
  assert tokens == list(TEXT.encode()), tokens
  assert tokenizer.decode(tokens) == TEXT
  assert tokenizer.model_max_length == length and len(tokenizer) == 256


def goes_out(program, print_logits, folder):
  cases = itertools.product((("tiny", transformers.GPT2LMHeadModel), ("llama-tiny", transformers.LlamaForCausalLM)),
                            (("--ranks", "2"), ("--ranks", "4", "--pipeline", "2", "--tensor", "2")))
  for number, ((preset, kind), options) in enumerate(cases):
    place = os.path.join(folder, f"out{number}")
    losses = train(program, *options, "--preset", preset, "--steps", "20", "--learning-rate", "0.01", "--export", place)
    model = load(place, kind)
    off = abs(loss_of(model) - losses[20])
    assert off < TOLERANCE, (options, off, losses)
    print(f"out, {preset} {' '.join(options)}: logits differ by at most {check_logits(print_logits, place, model):.1e}, losses by {off:.1e}")
    check_tokenizer(place, 64)
    tokens = torch.tensor([list(b"And ")])
    said = model.generate(tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=8, do_sample=False)
    assert said.shape == (1, 12), said


def gpt2(tied):
  return transformers.GPT2LMHeadModel(transformers.GPT2Config(
      vocab_size=256, n_positions=40, n_embd=48, n_layer=3, n_head=3, initializer_range=0.3, bos_token_id=None, eos_token_id=None,
      tie_word_embeddings=tied))


def llama(tied):
  return transformers.LlamaForCausalLM(transformers.LlamaConfig(
      vocab_size=256, max_position_embeddings=40, hidden_size=48, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
      intermediate_size=80, rms_norm_eps=1e-6, rope_theta=5000.0, initializer_range=0.2, bos_token_id=None, eos_token_id=None,
      tie_word_embeddings=tied))


def scaled_llama(tied):
  model = llama(tied)
  model.config.rope_parameters = {"rope_type": "llama3", "rope_theta": 5000.0, "factor": 8.0, "low_freq_factor": 0.2, "high_freq_factor": 1.5,
                                  "original_max_position_embeddings": 16}
  return transformers.LlamaForCausalLM(model.config)


def comes_in(program, print_logits, folder):
  kinds = ((False, torch.float32), (True, torch.float32), (False, torch.bfloat16), (False, torch.float16))
  cases = [*itertools.product((gpt2, llama), kinds), (scaled_llama, kinds[0])]
  for number, (make, (tied, kind)) in enumerate(cases):
    torch.manual_seed(number)
    model = make(tied).to(kind).eval()
    for values in model.parameters():  # biases and gains begin as 0 and 1
      if values.dim() == 1:
        values.data += 0.1 * torch.randn_like(values)
    place, after = os.path.join(folder, f"in{number}"), os.path.join(folder, f"after{number}")
    model.save_pretrained(place, **({"max_shard_size": "60KB"} if make is scaled_llama else {}))  # in several files
    model = load(place, type(model)).float()
    off = check_logits(print_logits, place, model)
    losses = train(program, "--ranks", "2", "--import", place, "--steps", "10", "--learning-rate", "0.01", "--export", after)
    assert abs(losses[0] - loss_of(model)) < TOLERANCE, (losses, loss_of(model))
    assert losses[10] < losses[0] - 0.1, losses
    assert abs(losses[10] - loss_of(load(after, type(model)))) < TOLERANCE, losses
    print(f"in, {make.__name__}, {'tied, ' if tied else ''}{kind}: logits differ by at most {off:.1e}; loss {losses[0]:.3f}, after 10 steps {losses[10]:.3f}")


def gpt2_tokenizer():
  tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
  tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
  tokenizer.decoder = tokenizers.decoders.ByteLevel()
  return tokenizer, tokenizers.trainers.BpeTrainer(vocab_size=1000, special_tokens=["<|endoftext|>"],
                                                   initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())


LLAMA3_WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
                r"\s+(?!\S)|\s+")


def llama3_tokenizer():
  tokenizer, trainer = gpt2_tokenizer()
  tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
      tokenizers.pre_tokenizers.Split(tokenizers.Regex(LLAMA3_WORDS), behavior="isolated"),
      tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
  trainer.special_tokens = ["<|begin_of_text|>"]
  return tokenizer, trainer


def llama2_tokenizer():
  tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
  tokenizer.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.Prepend("\u2581"),
                                                          tokenizers.normalizers.Replace(" ", "\u2581")])
  steps = tokenizers.decoders
  tokenizer.decoder = steps.Sequence([steps.Replace("\u2581", " "), steps.ByteFallback(), steps.Fuse(), steps.Strip(" ", 1, 0)])
  bytes_of_text = [f"<0x{byte:02X}>" for byte in range(256)]
  return tokenizer, tokenizers.trainers.BpeTrainer(vocab_size=1200, special_tokens=["<unk>", "<s>", "</s>", *bytes_of_text])


def as_files_have_them(path):
  """Tokens for bytes are ordinary ones in Llama 2's file; the trainer of tokenizers has no other way to make them."""
  with open(path, encoding="utf-8") as file:
    all = json.load(file)
  all["added_tokens"] = [token for token in all["added_tokens"] if not token["content"].startswith("<0x")]
  with open(path, "w", encoding="utf-8") as file:
    json.dump(all, file)


def encode(print_tokens, folder):
  """Tokens of texts, and the texts of these tokens."""
  with open(some_text().name, encoding="utf-8") as file:
    lines = file.read().split("\n")
  texts = [*lines[:300], "\n".join(lines[300:400]), " leading", "trailing  ", "tabs\t\tand\r\n\r\nlines\n\n\n  x", "I'll we'VE don't", "12345 67 8",
           "d\u00e9j\u00e0 vu \u4f60\u597d \U0001f600!", "a\u00a0b\u2003c\u0085d\x0be", "<|endoftext", "f(x) = {y: [1, 2]};", "\x00\x7f", "  "]
  for make in (gpt2_tokenizer, llama3_tokenizer, llama2_tokenizer):
    tokenizer, trainer = make()
    trainer.show_progress = False
    tokenizer.train_from_iterator(lines[:1500], trainer)
    path = os.path.join(folder, make.__name__ + ".json")
    tokenizer.save(path)
    as_files_have_them(path)
    tokenizer = tokenizers.Tokenizer.from_file(path)
    count = 0
    for text in texts:
      expected = tokenizer.encode(text, add_special_tokens=False).ids
      for options, wanted in (((), " ".join(map(str, expected))), (("--decode",), tokenizer.decode(expected, skip_special_tokens=True))):
        said = subprocess.run([print_tokens, path, *options], input=text.encode(), capture_output=True, timeout=60, check=True).stdout.decode()
        assert said == wanted, (make.__name__, text, said, wanted)
      count += len(expected)
    print(f"{make.__name__}: {count} tokens of {len(texts)} texts are the same, and so are their texts")


def main():
  program, print_logits, print_tokens = sys.argv[1:4]
  with tempfile.TemporaryDirectory() as folder:
    encode(print_tokens, folder)
    goes_out(program, print_logits, folder)
    comes_in(program, print_logits, folder)


if __name__ == "__main__":
  main()
