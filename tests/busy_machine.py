"""A machine so busy that we get the processor only long after we asked for it."""

from __future__ import annotations

import selectors
import time


class LateSelector(selectors.DefaultSelector):
    """Whenever it found nothing to read, we go on only much later: what we waited for may have ended since."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(timeout)
        if not found:
            time.sleep(1.5)
        return found
