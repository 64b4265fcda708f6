"""Rules about the machines: what would be missing while these are away, and what comes back with them."""
