"""What several checks read: a room is a part of the machine, a file one tool or format. Text in, typed values out.

Reads through agent.host only. Imported by checks; everybody else goes through agent.api.
"""
