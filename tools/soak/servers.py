# SPDX-License-Identifier: MIT
"""Servers: programs that live through the whole soak and are driven the same way every turn.

What a turn returns is compared with a server that runs without the library.
"""
import hashlib
import os
import pathlib
import re
import socket
import time

from databases import Mariadb, Postgres
from server import Failed, Server


class Redis(Server):
    """Which allocator serves Debian's: it needs libjemalloc.so.2, but imports plain malloc, calloc,
    realloc, free and malloc_usable_size, so whatever is preloaded comes first; without that it is
    jemalloc, never glibc. Therefore libc.so.6 is preloaded too, behind the library if there is one:
    the next allocator is glibc here as everywhere else. LD_DEBUG=bindings shows it for each symbol.
    Three names that are jemalloc's own still reach it: mallctl and malloc_stats_print, harmless,
    and nallocx, a question about sizes when a string is shrunk (tcmalloc answers that one itself).
    """
    name, needs = "redis-server", ["redis-server", "redis-cli", "redis-benchmark"]
    is_long = False
    # Its log keeps up to 128 slow commands, and with each the slab that its words are in.
    settings = ["--io-threads", "2", "--enable-debug-command", "yes",
                "--slowlog-log-slower-than", "-1"]

    @staticmethod
    def preload(library):
        return f"{library or ''} libc.so.6".strip()

    def command(self):
        return ["redis-server", "--port", "0", "--unixsocket", self.socket_path, "--dir",
                self.folder, "--save", "", *self.settings]

    def ask(self, *words):
        return self.run_client("redis-cli", "-s", self.socket_path, *words).strip()

    def drive(self):
        load = "-q -c 20 -P 16 -n 20000 -r 10000 -t set,get,lpush,lpop,hset,sadd".split()
        self.run_client("redis-benchmark", "-s", self.socket_path, *load, "-d", "100")
        self.run_client("redis-benchmark", "-s", self.socket_path, *load[:-1], "set", "-d", "1400")
        answers = [self.ask("flushall"), self.ask("debug", "populate", "50000", "key", "300"),
                   self.ask("dbsize"), self.ask("debug", "digest"), self.ask("save"),
                   self.ask("debug", "reload"), self.ask("debug", "digest"), self.ask("bgsave")]
        while "bgsave_in_progress:1" in self.ask("info", "persistence"):
            time.sleep(0.05)
        answers.append(self.ask("flushall"))
        return "\n".join(answers)


class Nginx(Server):
    name, needs = "nginx", ["nginx", "wrk"]
    BYTES = 40_000

    def prepare(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        user = "user root;" if os.geteuid() == 0 else ""
        pathlib.Path(self.folder, "page.html").write_bytes(self.page())
        pathlib.Path(self.folder, "conf").write_text(
            f"{user} daemon off; worker_processes 2; pid {self.folder}/pid; error_log stderr;\n"
            "events { worker_connections 200; }\n"
            f"http {{ access_log {self.folder}/access; gzip on; gzip_types text/plain; "
            f"client_body_temp_path {self.folder}/1; proxy_temp_path {self.folder}/2; "
            f"fastcgi_temp_path {self.folder}/3; uwsgi_temp_path {self.folder}/4; "
            f"scgi_temp_path {self.folder}/5; types {{ text/html html; }}\n"
            f"  server {{ listen 127.0.0.1:{self.port} backlog=511; root {self.folder}; "
            f"location /through {{ proxy_pass http://127.0.0.1:{self.port}/page.html; }} }} }}\n")

    def page(self):
        lines = (f"<p>{hashlib.sha256(str(i).encode()).hexdigest()}</p>\n" for i in range(600))
        return "".join(lines).encode()[:self.BYTES]

    def command(self):
        return ["nginx", "-e", "stderr", "-c", f"{self.folder}/conf", "-p", self.folder]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def drive(self):
        pages = []
        for path in ("page.html", "through", "none"):
            for header in ("Accept-Encoding: gzip", "Accept-Encoding: identity"):
                url = f"http://127.0.0.1:{self.port}/{path}"
                told = self.run_client("wrk", "-t1", "-c16", "-d1s", "-H", header, url)
                failed = re.findall(r"Socket errors.*|Non-2xx.*", told)
                pages.append(path if path != "none" and not failed else bool(failed))
            with self.connect() as connection:
                connection.sendall(f"GET /{path} HTTP/1.0\r\n\r\n".encode())
                body = b"".join(iter(lambda: connection.recv(65536), b"")).partition(b"\r\n\r\n")[2]
                pages.append(hashlib.sha256(body).hexdigest())
        open(os.path.join(self.folder, "access"), "wb").close()
        return str(pages)


class Memcached(Server):
    name, needs = "memcached", ["memcached"]

    def command(self):
        user = ["-u", "root"] if os.geteuid() == 0 else []
        return ["memcached", "-s", self.socket_path, "-m", "64", "-t", "2", *user]

    def drive(self):
        digest = hashlib.sha256()
        for client in range(30):
            with self.connect() as connection, connection.makefile("rb") as answers:
                keys = [f"k{client}-{i}" for i in range(400)]
                for i, key in enumerate(keys):
                    value = bytes([65 + i % 26]) * (i * 37 % 3000)
                    connection.sendall(b"set %s 0 0 %d\r\n%s\r\n"
                                       % (key.encode(), len(value), value))
                    digest.update(answers.readline())
                connection.sendall(b"get " + " ".join(keys).encode() + b"\r\n")
                while (line := answers.readline()) != b"END\r\n":
                    digest.update(line)
                    if not line:
                        raise Failed("memcached closed the connection")
        with self.connect() as connection, connection.makefile("rb") as answers:
            connection.sendall(b"flush_all\r\n")
            return digest.hexdigest() + answers.readline().decode()


SERVERS = [Redis, Nginx, Memcached, Postgres, Mariadb]
