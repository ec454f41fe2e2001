"""Touch free memory before a measurement.

Some virtual machines give free memory back to their host, mostly large pages.
The first write to a page then takes ten times as long: 2 s a GB.  Without this
module, the program that happens to run next would pay for that.
"""

import mmap

LARGE_PAGE = 2 << 20            # bytes
MOST = 3 << 30                  # bytes


def free_bytes():
    """MemFree of /proc/meminfo in bytes; 0 if missing."""
    with open("/proc/meminfo") as f:
        for line in f:
            if line.startswith("MemFree:"):
                return int(line.split()[1]) * 1024
    return 0


def touch_for(cluster, table):
    """Touch the memory that a build, sort or query of the table may need."""
    touch(min(MOST, 4 * int(cluster.value("SELECT pg_table_size('%s')" % table))))


def touch(most):
    """Write to free memory, at most 'most' bytes and half of what is free, and
    free it again."""
    size = min(most, free_bytes() // 2) // LARGE_PAGE * LARGE_PAGE
    if size > 0:
        with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_HUGEPAGE)
            for at in range(0, size, mmap.PAGESIZE):
                memory[at] = 1
