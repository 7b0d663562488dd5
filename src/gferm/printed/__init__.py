"""Tables for people: words in rows and columns, on a terminal or a page. Not data: see tables."""
