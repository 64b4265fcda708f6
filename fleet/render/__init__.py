"""A digest as HTML, as plain text and as pictures. Pure; templates/ has the pages of the mail and of the site.

Reads a digest. Imported by mail, site and the jobs.
"""
