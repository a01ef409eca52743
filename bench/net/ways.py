# SPDX-License-Identifier: Apache-2.0
"""Configurations of a program, as command-line options describe them."""


def way(text):
  """Converts "NAME:VARIABLE=VALUE,..." to (name, environment variables)."""
  name, _, words = text.partition(":")
  return name, dict(word.split("=", 1) for word in words.split(",") if word)
