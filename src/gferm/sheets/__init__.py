"""Tables as plain data, and their ways onto a terminal, a page and paper."""
