# SPDX-License-Identifier: MIT
"""Databases: servers that are asked in one session, open through the whole soak, and that bring a
benchmark along: its clients come and go."""
import glob
import os
import signal
import subprocess
import threading

from run import environment
from server import CLIENT_SECONDS, Failed, Server

# Of the newest version that is installed; not in PATH.
POSTGRES = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/usr/lib/postgresql/bin")
MARK = "end of the turn"


class Database(Server):
    """`session()` is the command of a client that reads statements and answers each at once."""
    client = None

    def session(self):
        raise NotImplementedError

    def ask(self, statements):
        if self.client is None:
            self.client = subprocess.Popen(self.session(), env=environment(None), text=True,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT)
        late = threading.Timer(CLIENT_SECONDS, self.client.kill)
        late.start()
        try:
            self.client.stdin.write(f"{statements}\nSELECT '{MARK}';\n")
            self.client.stdin.flush()
            answers = []
            while (line := self.client.stdout.readline()) != f"{MARK}\n":
                if not line:
                    raise Failed(f"{self.name} ended the session: {answers[-3:]}; {self.log()}")
                answers.append(line)
            return "".join(answers)
        finally:
            late.cancel()

    def end(self):
        if self.client is not None:
            self.client.kill()
            self.client.communicate()
        return super().end()


class Postgres(Database):
    name, user, stop_signal = "postgres", "postgres", signal.SIGINT
    socket_name = ".s.PGSQL.5432"
    needs = [f"{POSTGRES}/{program}" for program in ("postgres", "initdb", "psql", "pgbench")]

    # A procedure with arrays and exceptions, text, hashes, sorts, JSON, windows, cursors.
    STATEMENTS = """
        CREATE TABLE words AS SELECT n, md5(n::text) AS word,
          repeat(chr(97 + n % 26), n % 900) AS body FROM generate_series(1, 30000) n;
        CREATE INDEX ON words (word);
        ANALYZE words;
        SELECT count(*), md5(string_agg(word || body, ',' ORDER BY word)) FROM words;
        SELECT left(word, 2) AS start, count(*), sum(length(body)), max(body) < 'y' FROM words
          GROUP BY start ORDER BY start LIMIT 20;
        SELECT md5(jsonb_agg(jsonb_build_object('n', n, 'word', word) ORDER BY n)::text) FROM words;
        SELECT sum(place) FROM (SELECT n * rank() OVER (PARTITION BY n % 100 ORDER BY word) % 7
          AS place FROM words) ranked;
        SELECT count(*) FROM words a JOIN words b ON a.word < b.word AND a.n % 300 = b.n % 299
          WHERE a.body ~ '^(ab|c+|d*e)' AND regexp_replace(b.body, 'a+', 'b') <> '';
        DO $$
          DECLARE kept text[] := '{}'; caught int := 0; word record;
          BEGIN
            FOR word IN SELECT * FROM words ORDER BY n LIMIT 6000 LOOP
              kept := kept[greatest(1, cardinality(kept) - 50):] || word.body;
              BEGIN
                IF word.n % 5 = 0 THEN PERFORM 1 / (word.n % 5); END IF;
              EXCEPTION WHEN division_by_zero THEN caught := caught + 1;
              END;
            END LOOP;
            CREATE TABLE told AS SELECT caught, md5(kept::text) AS kept;
          END $$;
        SELECT * FROM told;
        DROP TABLE words, told;"""

    def run_program(self, program, *arguments):
        return self.run_client("setpriv", *self.as_user(), f"{POSTGRES}/{program}", *arguments)

    def prepare(self):
        self.run_program("initdb", "-D", f"{self.folder}/data", "-U", "soak", "--auth=trust", "-N")

    def greet(self):
        # It answers before it serves.
        if subprocess.call([f"{POSTGRES}/pg_isready", "-q", "-h", self.folder]) != 0:
            raise OSError("not ready")

    def command(self):
        # Just in time compilation keeps what it compiled, also without the library.
        settings = ["listen_addresses=", "fsync=off", "shared_buffers=16MB", "jit=off"]
        return [self.needs[0], "-D", f"{self.folder}/data", "-k", self.folder,
                *(word for setting in settings for word in ("-c", setting))]

    def session(self):
        return [f"{POSTGRES}/psql", "-h", self.folder, "-U", "soak", "-XqAt", "postgres"]

    def drive(self):
        to_it = ["-h", self.folder, "-U", "soak", "postgres"]
        self.run_program("pgbench", "-i", "-q", *to_it)
        told = [self.run_program("pgbench", "-n", "-c", "4", "-j", "2", "-t", "1000",
                                 "--random-seed=7", *more, *to_it)
                for more in ([], ["-S", "-M", "prepared"], ["-N", "-C", "-t", "100"])]
        processed = [line for text in told for line in text.splitlines()
                     if "of transactions" in line]
        return "\n".join([*processed, self.ask(
            "SELECT sum(abalance), md5(string_agg(aid || ':' || abalance, ',' ORDER BY aid)) "
            "FROM pgbench_accounts;"), self.ask(self.STATEMENTS)])


class Mariadb(Database):
    name, needs = "mariadb", ["mariadbd", "mariadb-install-db", "mariadb", "mariadb-slap"]

    STATEMENTS = """
        CREATE TABLE words (n INT PRIMARY KEY, word CHAR(32), body TEXT, KEY (word));
        INSERT INTO words SELECT seq, md5(seq), repeat(char(97 + seq % 26), seq % 900)
          FROM seq_1_to_20000;
        UPDATE words SET body = concat(body, word) WHERE n % 3 = 0;
        DELETE FROM words WHERE n % 7 = 0;
        CHECKSUM TABLE words;
        SET SESSION group_concat_max_len = 16000000;
        SELECT count(*), md5(group_concat(word, body ORDER BY word)) FROM words;
        SELECT left(word, 2) AS start, count(*), sum(length(body)) FROM words
          GROUP BY start ORDER BY start LIMIT 20;
        SELECT md5(json_arrayagg(json_object('n', n, 'word', word) ORDER BY n)) FROM words;
        SELECT sum(place) FROM (SELECT n * rank() OVER (PARTITION BY n % 100 ORDER BY word) % 7
          AS place FROM words) ranked;
        SELECT count(*) FROM words WHERE body REGEXP '^(ab|c+|d*e)';
        WITH RECURSIVE steps AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM steps WHERE n < 900)
          SELECT md5(group_concat(concat(n, repeat('x', n)) ORDER BY n)) FROM steps;
        DROP TABLE words;"""

    @staticmethod
    def as_root():
        return ["--user=root"] if os.geteuid() == 0 else []

    def prepare(self):
        self.run_client("mariadb-install-db", "--no-defaults", *self.as_root(),
                        f"--datadir={self.folder}/data",
                        "--auth-root-authentication-method=normal")

    def command(self):
        return ["mariadbd", "--no-defaults", *self.as_root(), f"--datadir={self.folder}/data",
                f"--socket={self.socket_path}", "--skip-networking",
                "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0"]

    def to_it(self, program):
        return [program, "--no-defaults", f"--socket={self.socket_path}", "--user=root"]

    def session(self):
        return [*self.to_it("mariadb"), "--batch", "--skip-column-names", "--unbuffered", "test"]

    def drive(self):
        for load in ("mixed", "update"):
            self.run_client(*self.to_it("mariadb-slap"), "--auto-generate-sql", "--concurrency=8",
                            f"--auto-generate-sql-load-type={load}", "--number-of-queries=4000",
                            "--auto-generate-sql-add-autoincrement", "--number-char-cols=5")
        return self.ask(self.STATEMENTS)
