"""How each kind of step is carried out. A step that returns is behind us; what it raises ends the run there."""
