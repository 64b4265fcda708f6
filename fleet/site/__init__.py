"""Static pages of a night, for a browser. `history` reads, `pages` makes, `folder` writes."""
