# SPDX-License-Identifier: Apache-2.0
"""Ways to run a program, as options name them."""


def way(text):
  """"NAME:VARIABLE=VALUE,..." as (name, variables of the environment)"""
  name, _, words = text.partition(":")
  return name, dict(word.split("=", 1) for word in words.split(",") if word)
