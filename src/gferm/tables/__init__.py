"""Tables of people in files: read, checked, learned from, judged and written.

    read.py → roles.py, columns.py → labelled_rows.py    a file → which column is what → rows
    preparation.py → fitting.py → model_file.py          rows → matrix → fair model → its file
    write.py                                             tables and other files, whole or not at all

What is wrong with a file, a column or an option is an `InputError` whose message names the option.
Nothing here knows of a terminal.
"""
