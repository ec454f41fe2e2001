"""Read the transactions that pgbench logs (-l), and compute figures from
them."""


def read(paths):
    """Read pgbench's log files.  Returns a list of transactions as (end in
    seconds since the epoch, latency in ms).  Raises ValueError if a line does
    not describe a transaction that succeeded."""
    done = []
    for path in paths:
        with open(path) as f:
            for line in f:
                fields = line.split()
                if len(fields) < 6:
                    raise ValueError("not a line of pgbench's log: " + line.strip())
                done.append((int(fields[4]) + int(fields[5]) / 1e6,
                             int(fields[2]) / 1000))
    return done


def percentile(latencies, share):
    """The smallest latency L for which at least the fraction 'share' of all
    latencies are L or less.  The list must be sorted and not empty."""
    index = -int(-share * len(latencies) // 1) - 1
    return latencies[max(index, 0)]


def by_second(ends, start, end):
    """The number of transactions that ended in each whole second from start to
    end."""
    counts = [0] * int(end - start)
    for at in ends:
        second = int(at - start)
        if at >= start and second < len(counts):
            counts[second] += 1
    return counts


def facts(transactions, start, end):
    """Figures about the transactions that ended between start and end, or None
    without transactions.  Latencies are in ms; "worst_second" is the smallest
    number of transactions in one second."""
    some = [(at, ms) for at, ms in transactions if start <= at < end]
    if not some:
        return None
    latencies = sorted(ms for _, ms in some)
    counts = (by_second([at for at, _ in some], start, end)
              or [int(len(some) / (end - start))])
    return {"transactions": len(some), "tps": len(some) / (end - start),
            "p50": percentile(latencies, 0.5), "p99": percentile(latencies, 0.99),
            "p999": percentile(latencies, 0.999), "longest": latencies[-1],
            "seconds": counts, "worst_second": min(counts)}


def share(events, names):
    """The share of samples with one of the named wait events."""
    total = sum(events.values())
    return sum(events.get(name, 0) for name in names) / total if total else 0
