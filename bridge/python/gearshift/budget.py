"""How many reports of minibatches a client sends: fewer than a daemon takes."""

PERIOD_NS = 10**9 // 1500
BURST = 256


class ReportBudget:
    """Fifteen hundred a second after a burst: a daemon takes two thousand of all messages of a client and drops
    the rest, whatever it is. Times are nanoseconds of any clock that never goes back."""

    def __init__(self):
        self._due_ns = 0

    def take(self, now_ns) -> bool:
        """False where a report would be too many."""
        due_ns = max(self._due_ns, now_ns - BURST * PERIOD_NS)
        if due_ns > now_ns:
            return False
        self._due_ns = due_ns + PERIOD_NS
        return True
