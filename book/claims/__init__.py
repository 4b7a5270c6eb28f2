"""Rules, findings, statistics and verdicts; `say` and `claim` put them into sentences."""

from book.claims.prose import claim, say

__all__ = ["claim", "say"]
