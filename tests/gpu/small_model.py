# SPDX-License-Identifier: Apache-2.0
"""A transformer so small that its training is quick on any device, and text for it that needs no file."""


def make(torch, width=64, layers=2, heads=4, words=64, length=32):
  """The same weights in every process: the caller seeds."""
  nn = torch.nn

  class Block(nn.Module):
    """One layer: attention, then two linear ones, each added to what came in."""

    def __init__(self):
      super().__init__()
      self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
      self.mixed, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
      self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
      batch, count, _ = x.shape
      parts = self.mixed(self.norm1(x)).reshape(batch, count, 3, heads, width // heads)
      queries, keys, values = parts.permute(2, 0, 3, 1, 4)
      scores = queries @ keys.transpose(-1, -2) / (width // heads)**0.5
      later = torch.ones(count, count, dtype=torch.bool, device=x.device).triu(1)
      seen = torch.softmax(scores.masked_fill(later, float("-inf")), -1) @ values
      x = x + self.mix(seen.transpose(1, 2).reshape(batch, count, width))
      return x + self.narrow(nn.functional.gelu(self.widen(self.norm2(x))))

  class Model(nn.Module):
    """Word numbers in, for each place a number per word that may follow out."""

    def __init__(self):
      super().__init__()
      self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
      self.blocks = nn.ModuleList(Block() for _ in range(layers))
      self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, tokens):
      x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
      for block in self.blocks:
        x = block(x)
      return self.head(self.norm(x))

  return Model()


def batch(torch, step, rank, count=8, words=64, length=32):
  """(tokens, what follows each): sequences that go on by one of four steps, so that there is something to learn."""
  generator = torch.Generator().manual_seed(step * 100 + rank)
  first = torch.randint(0, words, (count, 1), generator=generator)
  stride = torch.randint(1, 5, (count, 1), generator=generator)
  sequence = (first + stride * torch.arange(length + 1)) % words
  return sequence[:, :-1], sequence[:, 1:]


def loss_of(torch, model, tokens, following):
  scores = model(tokens)
  return torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), following.reshape(-1))
