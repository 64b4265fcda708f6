"""What other packages may use of the agent's checks and sources; its insides may change without notice to them.

Beside this package: `agent` (its version), `agent.status`, `agent.report`, `agent.host`, `agent.engine`,
`agent.expected`, `agent.state`, `agent.atomic_file`, `agent.formats` and `agent.recording`. One module for each part of
a machine, so that a command loads no more readers than it uses. tests/test_architecture.py holds it.
"""
