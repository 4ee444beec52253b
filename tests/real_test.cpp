// SPDX-License-Identifier: MIT
// Real programs say and do the same with the library as without.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "tests/program.h"
#include "tests/skip.h"
#include "tests/temporary_folder.h"

namespace {

// Runs the command twice, each in a new folder.
void check_same(const std::vector<std::string>& command,
                const std::map<std::string, std::string>& environment = {}) {
  TemporaryFolder with;
  TemporaryFolder without;
  Program alone(command);
  Program preloaded(command);
  preloaded.preloaded().in(with.path());
  alone.in(without.path());
  for (const auto& [name, value] : environment) {
    alone.with(name, value);
    preloaded.with(name, value);
  }
  const Outcome expected = alone.run();
  const Outcome outcome = preloaded.run();
  INFO(command.back());
  INFO("without: " << expected);
  INFO("with: " << outcome);
  if (expected.status != 0) leave_out(command[0] + " fails here without the library, too");
  CHECK(outcome.status == expected.status);
  CHECK(outcome.signal == expected.signal);
  CHECK(outcome.out == expected.out);
  CHECK(outcome.err == expected.err);
  CHECK(!(expected.out + expected.err).empty());
}

void check_same_script(const std::string& script) { check_same({"bash", "-euc", script}); }

// A new interpreter of the system; a python3 in PATH may be a script that looks for another.
const char kPython[] = "/usr/bin/python3";

const char kObjects[] = R"script(
import json, random, re
random.seed(7)
d = {f"key{i}": [random.random() for _ in range(i % 30)] for i in range(5000)}
text = json.dumps(d)
assert json.loads(text) == d
print(len(text), len(re.findall(r"key\d+", text)), hash(tuple(sorted(d)[:10])) is not None)
parts = ["x" * random.randrange(3000) for _ in range(5000)]
random.shuffle(parts)
print(len("".join(parts)), sorted(map(len, parts))[::500])
)script";

const char kCompression[] = R"script(
import bz2, hashlib, lzma, zlib
data = b"".join(hashlib.sha256(str(i).encode()).digest() * 3 for i in range(3000))
for module in (zlib, bz2, lzma):
    packed = module.compress(data)
    assert module.decompress(packed) == data
    print(module.__name__, hashlib.sha256(packed).hexdigest())
)script";

const char kThreads[] = R"script(
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
)script";

const char kProcesses[] = R"script(
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
)script";

const char kSql[] = R"script(
CREATE TABLE packets(id INTEGER PRIMARY KEY, source TEXT, bytes INTEGER, payload BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO packets SELECT i, 'host' || (i * 7919 % 113), i * 31 % 1500, zeroblob(i % 700) FROM n;
CREATE INDEX by_source ON packets(source, bytes);
SELECT source, count(*), sum(bytes), max(length(payload)) FROM packets GROUP BY source ORDER BY 1;
DELETE FROM packets WHERE bytes < 300;
UPDATE packets SET payload = zeroblob(2000) WHERE id % 10 = 0;
VACUUM;
SELECT count(*), sum(length(payload)) FROM packets;
SELECT a.source, count(*) FROM packets a JOIN packets b ON a.bytes = b.bytes AND a.id < b.id
  WHERE a.source < 'host11' GROUP BY 1 ORDER BY 1;
PRAGMA integrity_check;
)script";

const char kStl[] = R"script(#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
template <typename... T> struct All { std::variant<T...> v; std::vector<std::map<std::string, T...>> m; };
int main() {
  std::map<std::string, std::vector<int>> m;
  for (int i = 0; i < 1000; ++i) m[std::to_string(i % 37)].push_back(i);
  std::unordered_map<std::string, std::size_t> sizes;
  for (const auto& [k, v] : m) sizes[k] = v.size();
  All<int> all;
  all.v = static_cast<int>(sizes.size());
  std::cout << std::regex_match("abc", std::regex("[a-c]+")) << std::get<int>(all.v) << "\n";
}
)script";

const char kC[] = R"script(#include <stdio.h>
int main(void) { return printf("%d\n", 42) == 0; }
)script";

const char kGit[] = R"script(
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_DATE=2024-01-01T00:00:00Z GIT_COMMITTER_DATE=2024-01-01T00:00:00Z
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q -b main .
for i in $(seq 200); do seq $i $((i * 3)) > file$i; done
git add . && git commit -q -m first
for i in $(seq 0 7 199); do echo more >> file$((i + 1)); done
git commit -q -a -m second
git log --stat
git -c gc.auto=0 -c pack.threads=2 gc -q
git fsck --full 2>/dev/null
git log -p | sha1sum
git rev-parse HEAD
git grep -c 77 | sort | head -20
)script";

const char kPerl[] = R"script(
use strict;
my (%h, $x);
$x = 7;
for my $i (1 .. 50000) {
  $x = ($x * 1103515245 + 12345) % 2147483648;
  $h{"k" . ($x % 5000)} .= "v" x ($x % 40);
}
print join(",", map { length $h{$_} } sort keys %h), "\n";
my $text = join "\n", map { $h{$_} } sort keys %h;
$text =~ s/(v{5})(v+)/$2-$1/g;
print length($text), "\n";
$| = 1;
for my $i (1 .. 10) {
  my $pid = fork;
  if (!$pid) { my @a = (1 .. 10000); exit $i; }
  waitpid $pid, 0;
  print $? >> 8, "\n";
}
my @sorted = sort { $a <=> $b } map { $_ * 7919 % 10007 } 1 .. 10006;
print "@sorted[0..20]\n";
)script";

// The server's own threads, a child that saves, and memory that is given back on flush.
const char kRedis[] = R"script(
redis-server --port 0 --unixsocket "$PWD/socket" --dir "$PWD" --save "" --io-threads 2 \
  --enable-debug-command yes > log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
cli="redis-cli -s socket"
until [ "$($cli ping 2>/dev/null)" = PONG ]; do sleep 0.05; done
redis-benchmark -s socket -q -n 5000 -c 20 -P 5 -t set,get,lpush,lrange_100,hset > benchmark.log
tr '\r' '\n' < benchmark.log | grep -c 'requests per second'
$cli flushall
$cli debug populate 20000 key 300
$cli dbsize
$cli debug digest
$cli save
$cli bgsave > saving
until $cli info persistence | grep 'bgsave_in_progress:0' > saved; do sleep 0.05; done
$cli info persistence | grep 'rdb_last_bgsave_status'
$cli debug reload
$cli debug digest
$cli shutdown nosave
status=0
wait $server || status=$?
trap - EXIT
echo "ended with $status"
)script";

const char kPipelines[] = R"script(
seq 200000 | awk '{ print ($1 * 7919) % 1000003, "line", $1 }' > lines
sort -n -k1 lines | md5sum
sort -R --random-source=/dev/zero lines | sort -u | wc -l
sort --parallel=2 -S 1M -k3 lines | md5sum
mkdir files && for i in $(seq 100); do head -n $((i * 10)) lines > files/$i; done
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - files | gzip -n -9 > files.tgz
md5sum < files.tgz
rm -r files && tar xzf files.tgz && cat files/* | md5sum
printf 'all: %s\n' "$(seq -s ' ' -f 'out%g' 60)" > Makefile
printf 'out%%:\n\t@echo $@ | tr o O > $@\n' >> Makefile
make -j2 -s all && cat out* | sort | md5sum
a=(); for i in $(seq 3000); do a+=("$i$i"); done; echo ${#a[@]} ${a[2999]}
declare -A m; for i in $(seq 2000); do m[$i]=$((i * i)); done; echo ${m[1999]}
for i in $(seq 30); do (exit $((i % 3))) || echo $?; done
grep -E '(12|34)+5' lines | cut -d' ' -f3 | tail -n 3
sed -n 's/line \([0-9]*\)7$/\1/p' lines | md5sum
)script";

}  // namespace

TEST_CASE("python computes the same") {
  skip_without({kPython});
  for (const char* script : {kObjects, kCompression, kThreads, kProcesses}) {
    check_same({kPython, "-c", script});
  }
}

TEST_CASE("python computes the same when all its objects come from malloc") {
  skip_without({kPython});
  for (const char* script : {kObjects, kCompression, kThreads, kProcesses}) {
    check_same({kPython, "-c", script}, {{"PYTHONMALLOC", "malloc"}});
  }
}

TEST_CASE("python passes its own tests") {
  skip_without({kPython});
  if (Program({kPython, "-c", "import test.test_json, test.libregrtest"}).run().status != 0)
    skip("the package python3 test is not installed");
  for (const std::string how : {"default", "malloc"}) {
    TemporaryFolder folder;
    const Outcome outcome = Program({kPython, "-m", "test", "test_json", "test_dict", "test_list",
                                     "test_zlib", "test_memoryview"})
                                .preloaded()
                                .in(folder.path())
                                .with("PYTHONMALLOC", how)
                                .run();
    INFO(outcome);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("sqlite3 answers the same") {
  skip_without({"sqlite3"});
  check_same({"sqlite3", "file.db", kSql});
  check_same({"sqlite3", ":memory:", kSql});
}

TEST_CASE("git makes the same repository") {
  skip_without({"git"});
  check_same_script(kGit);
}

TEST_CASE("compilers write identical object files", "[.long]") {
  skip_without({"gcc", "g++"});
  TemporaryFolder folder;
  folder.write("stl.cpp", kStl);
  folder.write("c.c", kC);
  const std::string& from = folder.path();
  check_same_script("g++ -std=c++20 -O1 -g0 -c " + from + "/stl.cpp -o stl.o && sha1sum stl.o");
  check_same_script("gcc -O2 -g -fdebug-prefix-map=$PWD=. -c " + from +
                    "/c.c -o c.o && sha1sum c.o && gcc c.o -o c && ./c");
}

TEST_CASE("perl computes the same") {
  skip_without({"perl"});
  check_same({"perl", "-e", kPerl});
}

TEST_CASE("redis-server answers on a socket and shuts down cleanly") {
  skip_without({"redis-server", "redis-cli", "redis-benchmark"});
  check_same_script(kRedis);
}

TEST_CASE("make, tar, gzip, sort and bash pipelines give the same") {
  skip_without({"make", "tar", "gzip", "sort", "awk"});
  check_same_script(kPipelines);
}
