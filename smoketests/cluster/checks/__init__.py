"""Checks across many hosts: one pure module each; the folder's listing is the registry."""
