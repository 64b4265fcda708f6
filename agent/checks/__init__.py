"""One subject per file; the folder's listing is the registry."""
