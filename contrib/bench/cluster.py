"""Access to the server under test through psql, pg_ctl and the files of its
data directory.

PGHOST, PGPORT and PGUSER name the server.  The server must run as the user
who runs the benchmark, because emptying the cache requires a restart.
"""

import json
import os
import subprocess

MB = 1 << 20
GB = 1 << 30


class SqlError(Exception):
    """Raised if psql failed; str() returns psql's messages."""


def machine_memory():
    """The machine's memory in bytes, or the control group's limit if the limit
    is lower."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in ("/sys/fs/cgroup/memory.max",
                 "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as f:
                memory = min(memory, int(f.read()))
        except (OSError, ValueError):       # no such file, or "max"
            pass
    return memory


def settings(memory, workers, wal_level):
    """Configuration lines for a machine with `memory` bytes of memory.  The
    lines make the server durable, keep checkpoints and autovacuum from
    starting during a build, and set shared_buffers to a size that should hold
    a table."""
    return [
        "fsync = on",
        "full_page_writes = on",
        "synchronous_commit = on",
        "wal_level = " + wal_level,
        "max_wal_senders = 0",
        "shared_buffers = %dMB" % (min(memory // 5, 8 * GB) // MB),
        "effective_cache_size = %dMB" % (memory // 2 // MB),
        "max_wal_size = %dMB" % (min(max(memory // 2, 2 * GB), 16 * GB) // MB),
        "min_wal_size = %dMB" % (min(max(memory // 8, GB), 4 * GB) // MB),
        "checkpoint_timeout = 1d",
        "autovacuum = off",
        "jit = off",
        "max_worker_processes = %d" % (workers + 8),
        "max_parallel_workers = %d" % max(workers, 8),
        "session_preload_libraries = 'ptsort'",
    ]


class Cluster:
    """A running server."""

    def __init__(self, pg_ctl="pg_ctl"):
        self.pg_ctl = pg_ctl
        self.data = self.value("SHOW data_directory")

    def psql(self, script):
        """Run a script in a new session.  Returns psql's standard output and
        its messages, both as lists of lines.  Raises SqlError if psql fails."""
        done = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
             "-v", "SHOW_CONTEXT=always", "-d", "postgres", "-f", "-"],
            input=script.encode(), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        messages = done.stderr.decode(errors="replace").splitlines()
        if done.returncode != 0:
            errors = [m for m in messages if "ERROR:" in m or "FATAL:" in m]
            raise SqlError("\n".join(errors or messages[-5:]))
        return done.stdout.decode().splitlines(), messages

    def run(self, *statements):
        """Run statements, each in its own transaction."""
        self.psql(";\n".join(statements) + ";\n")

    def value(self, query):
        """The single value that a query returns, as text ('' for null)."""
        lines, _ = self.psql(query + ";\n")
        return "\n".join(lines)

    def json(self, script):
        """The JSON value that a script prints, and psql's messages."""
        lines, messages = self.psql(script)
        return json.loads("\n".join(lines)), messages

    def json_lines(self, script):
        """The JSON values that a script prints, one a line."""
        return [json.loads(line) for line in self.psql(script)[0]]

    def settle(self):
        """Wait until all other sessions and workers are gone.  A session
        reports its statistics when it ends, and psql does not wait for the
        end of its session."""
        self.run("""
            DO $$ BEGIN
                FOR i IN 1 .. 1000 LOOP
                    PERFORM pg_stat_clear_snapshot();
                    EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity
                        WHERE backend_type IN ('client backend', 'parallel worker')
                        AND pid <> pg_backend_pid());
                    PERFORM pg_sleep(0.01);
                END LOOP;
            END $$""")

    def temp_bytes(self):
        """Total size in bytes of the temporary files that sessions deleted."""
        self.settle()
        return int(self.value("SELECT temp_bytes FROM pg_stat_database "
                              "WHERE datname = current_database()"))

    def chill(self):
        """Restart the server with empty shared buffers, after asking the kernel
        to evict the server's data."""
        self.run("CHECKPOINT")
        subprocess.run([self.pg_ctl, "stop", "-s", "-w", "-m", "fast",
                        "-D", self.data], check=True)
        evict(os.path.join(self.data, "base"))
        subprocess.run([self.pg_ctl, "start", "-s", "-w", "-D", self.data,
                        "-l", os.path.join(self.data, "restarted.log")],
                       check=True, stdout=subprocess.DEVNULL)


def evict(directory):
    """Ask the kernel to evict all files in a directory from the kernel's cache.
    The request needs no privilege."""
    for path, _, names in os.walk(directory):
        for name in names:
            fd = os.open(os.path.join(path, name), os.O_RDONLY)
            try:
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(fd)
