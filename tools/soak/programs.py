# SPDX-License-Identifier: MIT
"""Programs: what the soak and tests/real_test.cpp run from start to end, each the same in every run.

A program is a command of which everything it writes is compared, after `tidy` has taken out what
differs from run to run anyway (times). `needs` are the executables without which it is skipped.
"""
import itertools
import pathlib
import re
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
REAL = HERE.parent / "bench" / "real"
ROOT = HERE.parents[1]
PYTHON = "/usr/bin/python3"  # a python3 in PATH may be a script that looks for another


def as_it_is(text):
    return text


@dataclass
class Program:
    name: str
    needs: list
    commands: list  # one a round, then again from the first
    tidy: object = as_it_is
    is_long: bool = False  # of more than a few seconds
    expected: dict = field(default_factory=dict)  # number of the command -> behaviour without

    def number(self, turn):
        return turn % len(self.commands)

    def behaviour(self, run):
        return tuple(self.tidy(part) if isinstance(part, str) else part for part in run.behaviour())


def script(text):
    return [["bash", "-euc", text]]


# What Python tests of itself: the interpreter, data types, text, files, processes, threads, C
# extensions. Eight modules a turn, short ones first.
MODULES = """
    test_dict test_json test_list test_zlib test_memoryview test_bisect test_array test_base64
    test_ast test_asyncio test_bigmem test_binascii test_bool test_buffer test_builtin
    test_bytes test_bz2 test_capi test_class test_codecs test_collections test_compile
    test_complex test_concurrent_futures test_configparser test_contextlib test_copy
    test_coroutines test_csv test_ctypes test_datetime test_dbm test_decimal test_deque
    test_descr test_difflib test_dis test_email test_enum test_exceptions test_fileio test_float
    test_fork1 test_format test_fractions test_frozen test_functools test_gc test_generators
    test_glob test_grammar test_gzip test_hashlib test_heapq test_hmac test_html test_inspect
    test_int test_io test_itertools test_long test_lzma test_mailbox test_marshal test_math
    test_memoryio test_mmap test_multiprocessing_fork test_multiprocessing_spawn test_operator
    test_os test_pathlib test_pickle test_posix test_pprint test_queue test_random test_re
    test_regrtest test_resource test_sched test_select test_set test_shelve test_shutil
    test_signal test_slice test_socket test_sort test_sqlite3 test_ssl test_statistics test_str
    test_strftime test_string test_struct test_subprocess test_sys test_tarfile test_tempfile
    test_textwrap test_thread test_threading test_threadsignals test_time test_tokenize
    test_traceback test_tuple test_typing test_unicode test_unicodedata test_urllib
    test_userdict test_uuid test_weakref test_xml_etree test_xml_etree_c test_zipfile
""".split()


def python_tests():
    modules = iter(MODULES)
    while group := list(itertools.islice(modules, 8)):
        yield [PYTHON, "-m", "test", "--timeout", "600", *group]


def python_result(text):
    """Which modules passed, failed and were skipped; the rest of the report is times and loads."""
    lines = text[text.rfind("== Tests result"):].splitlines() if "== Tests result" in text else []
    return "\n".join(line for line in lines if not re.search(r"[Dd]uration|slowest|\d (sec|min)|"
                                                             r"^- test_", line))


def without_launcher(text):
    """Debian's launcher complains of a test of the memory that is free."""
    return re.sub(r"^/usr/bin/chromium: .*\n", "", text, flags=re.M)


COMPRESSION = """
import bz2, hashlib, lzma, zlib
data = b"".join(hashlib.sha256(str(i).encode()).digest() * 3 for i in range(3000))
for module in (zlib, bz2, lzma):
    packed = module.compress(data)
    assert module.decompress(packed) == data
    print(module.__name__, hashlib.sha256(packed).hexdigest())
"""

THREADS = """
import queue, threading
q, results = queue.Queue(100), []
def work():
    while (n := q.get()) is not None: results.append("y" * (n % 2000))
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for n in range(20000): q.put(n)
for t in threads: q.put(None)
for t in threads: t.join()
print(len(results), sum(map(len, results)))
"""

PROCESSES = """
import multiprocessing, os, subprocess, sys
def work(n): return sum(len("z" * (i % 777)) for i in range(n))
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(pool.map(work, range(0, 20000, 1000)))
    for i in range(10):
        done = subprocess.run([sys.executable, "-c", f"print('child', {i})"], capture_output=True)
        print(done.stdout.decode(), done.stderr.decode(), done.returncode)
    for i in range(20):
        pid = os.fork()
        if pid == 0:
            list(range(100000))
            os._exit(i)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""

GIT = """
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z
git init -q -b main .
for commit in $(seq 150); do
  echo "commit refs/heads/main"; echo "committer a <a@b> $((1700000000 + commit)) +0000"
  echo "data <<E"; echo "number $commit"; echo E
  for file in $(seq 0 7 63); do
    echo "M 644 inline folder$((file % 5))/file$(((file + commit) % 64))"; echo "data <<E"
    seq -f "line %g of $((commit % 9))" $((file + 1)) $((file + commit * 3)); echo E
  done
done | git fast-import --quiet
git reset -q --hard
git log --stat | sha1sum
git log -p -M | sha1sum
git -c gc.auto=0 -c pack.threads=2 -c pack.window=40 gc -q --aggressive
git fsck --full 2>/dev/null
for file in folder0/*; do git blame "$file"; done | sha1sum
git shortlog -s HEAD
git grep -c 77 | sha1sum
git clone -q . copy && git -C copy diff HEAD~20 | sha1sum
git rev-parse HEAD
"""

# The engine itself; objects name their sources alone, so they are the same in every folder.
GCC = f"""
for source in {ROOT}/sizeclass/*/*.cpp; do
  g++ -std=c++20 -O2 -g0 -I{ROOT} -DPKTMALLOC_DEBUG=0 -fno-exceptions -fPIC -c "$source" &
  wait $!
done
g++ -std=c++20 -O1 -g0 -c {REAL}/templates.cpp
gcc -O3 -flto -g0 -shared -fPIC -o all.so heap.o cache.o memory.o
sha1sum *.o
"""

NODE = """
const crypto = require('crypto'), zlib = require('zlib');
let chain = Buffer.alloc(1000);
const objects = [];
for (let i = 0; i < 60000; ++i) {
  objects.push({i, text: 'x'.repeat(i % 300), list: Array.from({length: i % 9}, (_, n) => n)});
  if (i % 100 == 0) {
    chain = Buffer.concat([chain.subarray(0, i % 5000), crypto.createHash('sha256').update(chain).digest(),
                           Buffer.alloc(i % 3000, i)]);
  }
}
const text = JSON.stringify(objects);
for (const level of [1, 6, 9]) {
  const packed = zlib.deflateSync(text, {level});
  console.log(level, packed.length, zlib.inflateSync(packed).equals(Buffer.from(text)));
}
console.log(crypto.createHash('sha256').update(chain).digest('hex'));
const {Worker} = require('worker_threads');
let waiting = 4;
for (let n = 0; n < 4; ++n) {
  new Worker('const {parentPort: p, workerData: n} = require("worker_threads");' +
             'const m = new Map(); for (let i = 0; i < 50000; ++i) m.set("k" + i, [i, n]);' +
             'p.postMessage(Buffer.alloc(10000 + n))', {eval: true, workerData: n})
    .on('message', b => { waiting -= b.length / b.length; if (waiting == 0) console.log('workers done'); });
}
"""

PHP = """
mt_srand(7);
$m = [];
for ($i = 0; $i < 200000; ++$i) {
  $k = 'key' . ($i * 7919 % 20011);
  $m[$k] = ($m[$k] ?? '') . str_repeat(chr(97 + $i % 26), $i % 40);
  if (strlen($m[$k]) > 2000) unset($m[$k]);
}
ksort($m);
echo count($m), ' ', md5(serialize($m)), ' ', md5(json_encode($m)), PHP_EOL;
echo strlen(preg_replace('/(a+)(b+)/', '$2-$1', implode('|', $m))), PHP_EOL;
"""

PIPES = """
seq 400000 | awk '{ print ($1 * 7919) % 1000003, "line", $1 }' > lines
sort --parallel=2 -S 2M -n lines | md5sum
sort -u -k3 lines | wc -l
tar --mtime=@0 --owner=0 --group=0 -cf - lines | gzip -n -9 | tee lines.tgz | md5sum
tar xzf lines.tgz -O | md5sum
printf 'all: %s\\n' "$(seq -s ' ' -f 'out%g' 60)" > Makefile
printf 'out%%:\\n\\t@echo $@ | tr o O > $@\\n' >> Makefile
make -j2 -s all && cat out* | sort | md5sum
declare -A m; for i in $(seq 20000); do m[$i]=$((i * i)); done; echo ${m[19999]}
for i in $(seq 100); do (exit $((i % 3))) || true; done
grep -E '(12|34)+5' lines | tail -n 3
sed -n 's/line \\([0-9]*\\)7$/\\1/p' lines | md5sum
"""

PROGRAMS = [
    Program("python3's tests", [PYTHON], list(python_tests()), python_result),
    Program("python3, objects", [PYTHON], [[PYTHON, str(REAL / "inventory.py")]]),
    *(Program(f"python3, {name}", [PYTHON], [[PYTHON, "-c", text]])
      for name, text in (("compression", COMPRESSION), ("threads", THREADS), ("processes", PROCESSES))),
    Program("perl", ["perl"], [["perl", str(REAL / "words.pl")]]),
    Program("ruby", ["ruby"], [["ruby", "--disable-gems", str(REAL / "trees.rb")]]),
    Program("lua", ["lua5.4"], [["lua5.4", str(REAL / "trees.lua")]]),
    Program("node", ["node"], [["node", "-e", NODE]]),
    # Its own malloc, PartitionAlloc, comes before ours, which has to stand beside it idly.
    Program("chromium", ["chromium"],
            [["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
              "--user-data-dir=profile", "--log-level=3", "--dump-dom",
              f"file://{HERE}/page.html"]],
            without_launcher, is_long=True),
    Program("php", ["php"], [["php", "-d", "memory_limit=-1", "-r", PHP]]),
    Program("git", ["git"], script(GIT)),
    Program("gcc", ["g++"], script(GCC), is_long=True),
    Program("sqlite3", ["sqlite3"],
            [["sqlite3", "-batch", base, f".read {REAL / 'orders.sql'}"]
             for base in (":memory:", "file.db")]),
    Program("ghostscript", ["gs"],
            script(f"gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=ppmraw -r100 -sOutputFile=page%d.ppm "
                   f"{REAL}/pages.ps && sha1sum *.ppm")),
    Program("make, sort, tar, gzip, bash", ["make", "sort", "tar", "gzip", "awk"], script(PIPES)),
]
