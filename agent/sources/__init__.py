"""What several checks read, one tool per file: text in, typed values out."""
