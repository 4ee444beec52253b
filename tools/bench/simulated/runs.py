# SPDX-License-Identifier: MIT
"""The short runs that are simulated. Each is a program of tools/bench/programs or of the system with
an amount of work of a few million references: valgrind tells the simulator a million or two a
second, instructions included.

A run is named as the row of bench.py whose program it is (tools/bench/catalogue.py), so that
--against finds the times of the same. The same name does not mean the same amount."""
import shlex
from dataclasses import dataclass

from experiment import Experiment, Row


@dataclass
class Run(Experiment):
    @property
    def name(self):
        return self.rows[0].name


def run(command, name, **more):
    return Run(name.split()[0], command, [Row(name)], **more)


OWN = [
    run("w1_packets shared_ptr_new 3000", "W1 shared_ptr(new)"),
    run("w1_packets make_shared 4000", "W1 make_shared"),
    run("w3_rationals new_delete 20", "W3 rationals"),
    run("w4_exchange 1 2 60000", "W4 1 thread"),
    run("w4_exchange --touch 1 2 30000", "W4 1 thread, touched"),
    run("w4_exchange 2 1 40000", "W4 2 threads"),
    run("w4_exchange --touch 2 1 30000", "W4 2 threads, touched"),
    run("w5_ring unique_ptr 64 4000", "W5 unique_ptr 64 B"),
    run("w6_larson 1 1000 8 1000 40000", "W6 larson, 1 thread"),
    run("w6_larson 4 500 8 1000 40000", "W6 larson, 4 threads"),
    run("w6_alloctest 1 50000 80000", "W6 alloc-test"),
    run("w6_mstress 4 2 300", "W6 mstress, 4 threads"),
    run("w6_rptest 4 1 500", "W6 rptest, 4 threads"),
    run("w6_cfrac 2000000000000003", "W6 cfrac"),
    run("w6_espresso 2 20", "W6 espresso"),
    run("mixed 4 4 3000", "mixed sizes"),
]

ORDERS = """
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER, note TEXT);
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 1000)
INSERT INTO purchase SELECT i, i * 7919 % 101, printf('order %d: ring %.*c', i, i % 60, 'x')
FROM number;
CREATE INDEX by_customer ON purchase (customer, note);
SELECT count(*), max(length(notes)) FROM (
  SELECT customer, group_concat(upper(note)) AS notes FROM purchase GROUP BY customer);
SELECT sum(json_extract(value, '$.id')) FROM json_each((
  SELECT json_group_array(json_object('id', id, 'note', note)) FROM purchase WHERE id <= 300));
"""
# python3 starts without the packages beside its own library. ruby is left out: its timer keeps it from
# ever ending under valgrind.
REAL = [
    run(f"sqlite3 -batch :memory: {shlex.quote(ORDERS)}", "W6 sqlite3"),
    run("/usr/bin/python3 -S {real}/inventory.py 400", "W6 python3",
        environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    run("lua5.4 {real}/trees.lua 1000", "W6 lua"),
    run("perl {real}/words.pl 700", "W6 perl", environment={"PERL_HASH_SEED": "0"}),
]


def chosen(texts):
    """Those in whose name one of the texts occurs; all of them when there is no text."""
    return [each for each in OWN + REAL
            if not texts or any(text.lower() in each.name.lower() for text in texts)]
