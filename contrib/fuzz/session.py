"""A psql session that stays open for many statements.

The class starts psql once and feeds psql through a pipe, so a statement costs no
more than its round trip.  The session also records all statements.  The recorded
statements are the script that repeats a failure.
"""

import os
import re
import select
import subprocess
import time

# A message with VERBOSITY verbose: severity, SQLSTATE, text.
MESSAGE = re.compile(r"^(?:psql:<stdin>:\d+: )?"
                     r"(ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|LOG|DEBUG): +"
                     r"([0-9A-Z]{5}): (.*)$")
FIELD = re.compile(r"^(DETAIL|HINT|CONTEXT|QUERY|LOCATION|SCHEMA NAME|"
                   r"TABLE NAME|COLUMN NAME|CONSTRAINT NAME|DATATYPE NAME): +"
                   r"(.*)$")
# psql's own messages about a lost connection
LOST = re.compile(r"server closed the connection|connection to server .* "
                  r"(?:was )?(?:lost|failed)", re.M)


class Lost(Exception):
    """The server is gone, or does not answer."""


class Message:
    """A message of the server."""

    def __init__(self, severity, code, text):
        self.severity = severity
        self.code = code
        self.text = text
        self.fields = {}

    @property
    def by_ptsort(self):
        """True if ptsort wrote the message about a build, a copy or a sort."""
        return self.severity == "DEBUG" and self.text.startswith("ptsort: ")

    def __str__(self):
        parts = ["%s: %s: %s" % (self.severity, self.code, self.text)]
        for name in ("DETAIL", "HINT"):
            if name in self.fields:
                parts.append("%s: %s" % (name, self.fields[name]))
        return " | ".join(parts)


class Answer:
    """The reply to a statement: rows as lines of text, and messages, without
    the server's own DEBUG messages."""

    def __init__(self, text):
        self.rows = []
        messages = []
        in_debug = False    # in a DEBUG message, up to its LOCATION
        for line in text.split("\n"):
            message = MESSAGE.match(line)
            field = FIELD.match(line)
            if message:
                messages.append(Message(*message.groups()))
                in_debug = message.group(1) == "DEBUG"
            elif in_debug:
                in_debug = not line.startswith("LOCATION: ")
            elif field and messages:
                messages[-1].fields[field.group(1)] = field.group(2)
            elif line:
                self.rows.append(line)
        self.messages = [m for m in messages
                         if m.severity != "DEBUG" or m.by_ptsort]

    @property
    def error(self):
        """The first error, or None."""
        for message in self.messages:
            if message.severity in ("ERROR", "FATAL", "PANIC"):
                return message
        return None

    @property
    def lines(self):
        """ptsort's lines about its builds, copies and sorts."""
        return [m.text for m in self.messages if m.by_ptsort]

    @property
    def value(self):
        """The first row, or None."""
        return self.rows[0] if self.rows else None


class Session:
    """One psql.  run() passes each statement to the function `record`."""

    def __init__(self, database, name, record, timeout):
        self.name = name
        self.record = record
        self.timeout = timeout
        self.count = 0
        self.psql = subprocess.Popen(
            ["psql", "-XAtq", "-d", database], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        self.quiet("\\set VERBOSITY verbose")
        self.quiet("SET client_encoding = utf8;"
                   "SET client_min_messages = debug1;"
                   "SET statement_timeout = '%ds'" % timeout)

    def run(self, sql):
        """Send statements; return the Answer."""
        self.record(self.name, sql)
        return self.quiet(sql)

    def quiet(self, sql):
        """Send statements without recording them, because they are irrelevant
        to failures."""
        self.count += 1
        mark = "-- end %d of %s" % (self.count, self.name)
        if not sql.startswith("\\"):
            sql = sql.rstrip().rstrip(";") + ";"
        text = "%s\n\\echo '%s'\n" % (sql, mark)
        try:
            self.psql.stdin.write(text.encode())
        except OSError as error:
            raise Lost("psql ended before: " + sql) from error
        return Answer(self._read_until(mark, sql))

    def _read_until(self, mark, sql):
        """psql's output up to the mark."""
        end = mark.encode() + b"\n"
        chunks = []
        tail = b""
        deadline = time.monotonic() + self.timeout + 60
        while not tail.endswith(end):
            left = deadline - time.monotonic()
            if left < 0 or not select.select(
                    [self.psql.stdout], [], [], left)[0]:
                raise Lost("no answer to: " + sql)
            chunk = os.read(self.psql.stdout.fileno(), 1 << 20)
            if not chunk:
                said = b"".join(chunks).decode(errors="replace")
                raise Lost("the server is gone after: %s\n%s" % (
                    sql, said[-2000:]))
            chunks.append(chunk)
            tail = (tail + chunk)[-len(end):]
        text = b"".join(chunks)[:-len(end)].decode(errors="replace")
        if LOST.search(text[-2000:]):
            raise Lost("the server is gone after: %s\n%s" % (
                sql, text[-2000:]))
        return text

    def close(self):
        """End the session, whatever its state.  close() first ends the
        transaction, because its snapshot must not affect the next case.  The
        server process may end later than psql."""
        try:
            self.psql.stdin.write(b"ROLLBACK;\n")
            self.psql.stdin.close()
            self.psql.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self.psql.kill()
            self.psql.wait()
        self.psql.stdout.close()
