"""The documentation: pages by hand here, and in generator/ what writes pages from the code."""
