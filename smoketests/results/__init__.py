"""One run over many hosts: asked, counted, judged, stored; and what the store knows of earlier runs.

Reads the inventory and the results store.
Imported by the commands, the plugin and the gate.
"""
