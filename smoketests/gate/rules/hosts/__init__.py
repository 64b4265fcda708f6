"""Rules about the machines: what would be missing while these are down, and what comes back with them."""
