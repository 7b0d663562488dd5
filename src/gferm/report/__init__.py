"""The report: a summary as plain data becomes one HTML page that needs nothing else."""

from gferm.report.page import render_page, write_page

__all__ = ["render_page", "write_page"]
