"""Questions about many hosts: one pure judge a file; the listing of this folder is the registry."""
