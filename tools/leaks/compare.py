#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `pktmalloc run --leak-check`, LeakSanitizer and valgrind find lost in real programs, and their time.

    compare.py BUILD [PROGRAM ...]

Each program runs a few times alone and under each of the three, in a new folder; a row has the objects that are
lost, with what hangs from them, and the least processor time, as a multiple of the program's own. Those that are not
installed are left out.
"""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

LSAN = "liblsan.so.0"
ROUNDS = 3
PATIENCE = 300  # seconds

# Preloaded, LeakSanitizer crashes in programs whose first call is sigaction: so it begins before.
SETUP = r"""
awk 'BEGIN { for (i = 0; i < 500000; i++) print i * 7919 % 500009 }' > numbers
awk '{ print $1 % 100 }' numbers | head -30000 > a; tac a > b
{ echo 'begin;'; echo 'create table t(a, b);'; for i in $(seq 100000); do echo "insert into t values($i, 'row $i');"; done
  echo 'commit; create index i on t(b); select count(*), sum(a) from t where b like "%7%";'; } > t.sql
{ echo '['; for i in $(seq 100000); do echo "{\"n\": $i, \"s\": \"text $i\"},"; done; echo '{}]'; } > t.json
{ echo '#include <stdio.h>'; for i in $(seq 400); do echo "int f$i(int a) { return a * $i + printf(\"%d\", a); }"; done; } > t.c
{ echo '#include <map>'; echo '#include <string>'; for i in $(seq 30); do echo "std::map<int, std::string> m$i;"; done; } > t.cpp
gcc -g -c t.c -o t.o; ar rc t.a t.o
git init -q repository
echo 'void __lsan_init(void); __attribute__((constructor)) static void begin(void) { __lsan_init(); }' > begin.c
gcc -shared -fPIC begin.c -o begin.so
cd repository; for i in $(seq 50); do seq $((i * 100)) > f; git add f; git -c user.name=a -c user.email=a@b commit -qm $i; done
"""

# By name: the command, for a shell.
PROGRAMS = {
    "sqlite3": "sqlite3 :memory: < t.sql",
    "perl": "perl -e 'my %h; $h{$_ % 9999} .= $_ for 1..2000000; print scalar(keys %h)'",
    "python3": "PYTHONMALLOC=malloc /usr/bin/python3 -c 'import json; print(len(json.load(open(\"t.json\"))))'",
    "tclsh": "echo 'for {set i 0} {$i < 500000} {incr i} {dict set d $i [expr $i * 2]}; puts [dict size $d]' | tclsh",
    "mawk": "mawk '{ a[$1 % 1000] += $1 } END { for (k in a) s += a[k]; print s }' numbers",
    "jq": "jq 'map(.n) | add' t.json",
    "git": "git -C repository log -p | tail -1",
    "cc1": "gcc -O2 -S t.c -o t.s",
    "cc1plus": "g++ -fsyntax-only t.cpp",
    "as": "as t.s -o u.o",
    "ld": "ld -r t.o u.o --allow-multiple-definition -o v.o",
    "objdump": "objdump -d t.o | tail -1",
    "readelf": "readelf -a --wide t.o | tail -1",
    "make": "printf 'all: x y\\nx:\\n\\t@echo x\\ny: x\\n\\t@echo y\\n' > m.mk; make -f m.mk",
    "cmake": "printf 'foreach(i RANGE 100000)\\nset(v${i} ${i})\\nendforeach()\\n' > t.cmake; cmake -P t.cmake",
    "sort": "sort -n numbers | tail -1",
    "grep": "grep -E '(1|2)+3.*7$' numbers | tail -1",
    "diff": "diff -u a b | tail -1",
    "tar": "tar cf t.tar /usr/share/doc 2> /dev/null; tar tf t.tar | tail -1",
    "xz": "xz -kf numbers",
    "openssl": "openssl genrsa 4096 2> /dev/null | openssl rsa -text -noout | head -1",
    "curl": "curl -s file://$PWD/t.json | tail -c 5",
    "groff": "echo '.TH A 1\\n.SH B\\ntext' | groff -man -T ascii | head -1",
    "gdb": "gdb -batch -ex 'info functions f1' t.o 2>&1 | tail -1",
    "clang-format": "clang-format t.cpp | tail -1",
    "vim": "vim -es -u NONE -c 'r a' -c '%s/1/one/g' -c 'w! c' -c 'q!'",
    "bc": "echo '2^100000 % 977' | bc",
    "file": "file t.o t.json t.tar",
    "node": "node -e 'console.log(JSON.parse(require(\"fs\").readFileSync(\"t.json\")).length)'",
    "redis-server": "echo shutdown | (sleep 0.3; redis-cli -s $PWD/r -p 0 > /dev/null) & redis-server --port 0 "
                    "--unixsocket $PWD/r --save '' --daemonize no > /dev/null; wait",
}


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(folder, command, variables):
    before = processor_seconds()
    done = subprocess.run(["timeout", str(PATIENCE), "sh", "-c", command], cwd=folder, env=os.environ | variables,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", check=False)
    return processor_seconds() - before, done.stdout + done.stderr


def least(rounds, folder, command, variables=None):
    runs = [run(folder, command, variables or {}) for _ in range(rounds)]
    return min(seconds for seconds, _ in runs), runs[-1][1]


def total(pattern, text):
    """Of all that match; None if none does."""
    return sum(int(found.replace(",", "")) for found in re.findall(pattern, text))


def under_us(build, command):
    return f"{build}/pktmalloc run --leak-check=0 sh -c {quoted(command)}"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def row(build, name, command, folder):
    alone, _ = least(ROUNDS, folder, command)
    ours, us = least(ROUNDS, folder, under_us(build, command))
    lsan, sanitizer = least(ROUNDS, folder, command, {"LD_PRELOAD": f"{LSAN} {folder}/begin.so", "LSAN_OPTIONS": "exitcode=0"})
    log = pathlib.Path(folder) / "valgrind"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    grind, _ = least(1, folder, f"valgrind --trace-children=yes --leak-check=full --log-file={log}/%p sh -c "
                        + quoted(command))
    told = "".join(path.read_text(errors="replace") for path in log.iterdir())
    blocks = total(r"(?:definitely|indirectly) lost: [\d,]+ bytes in ([\d,]+)", told)
    (pathlib.Path(folder) / f"{name}.txt").write_text(us + sanitizer + told)
    return (name, total(r"\n([\d,]+) objects? (?:is|are) lost", us), total(r"leaked in (\d+) allocation", sanitizer), blocks,
            f"{alone:.2f} s", f"{ours / alone:.2f}", f"{lsan / alone:.2f}", f"{grind / alone:.1f}")


def main(build, *names):
    build = pathlib.Path(build).resolve()
    folder = tempfile.mkdtemp(prefix="pktmalloc-leaks-")
    subprocess.run(["bash", "-ec", SETUP], cwd=folder, check=True)
    print("| program | pktmalloc | LeakSanitizer | valgrind | alone | pktmalloc | LeakSanitizer | valgrind |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in names or PROGRAMS:
        known = shutil.which(name) or name in ("cc1", "cc1plus")
        if known:
            print("| " + " | ".join(str(cell) for cell in row(build, name, PROGRAMS[name], folder)) + " |", flush=True)
    print(f"what they said is in {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:])
