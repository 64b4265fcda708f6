"""How each kind of step is executed. A step that returns is complete; an exception ends the run there."""
