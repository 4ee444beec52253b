#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A warehouse in Python: objects, dicts, lists, strings, JSON there and back.

Run as `inventory.py [PART]`; PART is a divisor of the parts and orders. Run with
PYTHONMALLOC=malloc, or Python's own allocator serves nearly everything, and with PYTHONHASHSEED=0,
or the dicts collide differently in each run. Prints one line that is the same in every run.
"""
import json
import random
import sys
from collections import defaultdict

PART = int(sys.argv[1]) if len(sys.argv) > 1 else 1
PARTS, ORDERS, ROUNDS = 8_000 // PART, 20_000 // PART, 3
WORDS = "bolt nut washer gear shaft bearing spring valve pump filter hose clamp".split()


class Part:
    def __init__(self, number, name, price):
        self.number, self.name, self.price = number, name, price
        self.stock = defaultdict(int)  # shelf -> how many

    def as_record(self):
        return {"number": self.number, "name": self.name, "price": self.price,
                "stock": dict(self.stock)}


def make_parts(random_numbers):
    parts = {}
    for index in range(PARTS):
        number = f"{WORDS[index % len(WORDS)][:3].upper()}-{index:06d}"
        name = " ".join(random_numbers.choices(WORDS, k=3))
        part = parts[number] = Part(number, name, random_numbers.randrange(1, 10_000) / 100)
        for _ in range(4):
            part.stock[f"shelf {random_numbers.randrange(500)}"] += random_numbers.randrange(1, 50)
    return parts


def make_orders(parts, random_numbers):
    numbers = list(parts)

    def make_line(_):
        return random_numbers.choice(numbers), random_numbers.randrange(1, 5)

    return [{"order": index, "lines": list(map(make_line, range(random_numbers.randrange(1, 8))))}
            for index in range(ORDERS)]


def fill(orders, parts):
    """What the orders cost, and the parts that ran out."""
    turnover, missing = 0.0, set()
    for order in orders:
        for number, count in order["lines"]:
            part = parts[number]
            shelf = max(part.stock, key=lambda name: (part.stock[name], name), default=None)
            if shelf is None or part.stock[shelf] < count:
                missing.add(number)
                continue
            part.stock[shelf] -= count
            turnover += part.price * count
    return turnover, missing


def count_words(parts):
    uses = defaultdict(list)
    for part in parts.values():
        for word in part.name.title().split():
            uses[word].append(part.number)
    return {word: sorted(numbers, reverse=True) for word, numbers in uses.items()}


def main():
    random_numbers = random.Random(20)
    turnover, characters, listed, missing = 0.0, 0, 0, set()
    for _ in range(ROUNDS):
        parts = make_parts(random_numbers)
        orders = json.loads(json.dumps(make_orders(parts, random_numbers)))
        amount, missing = fill(orders, parts)
        turnover += amount
        listed += sum(map(len, count_words(parts).values()))
        text = json.dumps([part.as_record() for part in parts.values()], indent=1, sort_keys=True)
        characters += sum(len(line.strip()) for line in text.split("\n"))
        assert len(json.loads(text)) == PARTS
    print(f"turnover {turnover:.2f}, {len(missing)} missing, {listed} listed, "
          f"{characters} characters")


if __name__ == "__main__":
    main()
