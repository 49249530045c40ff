"""The report of an audit: one HTML file that opens anywhere, with the verdict on top and plots of what happened."""

from chapar_audit.report.writing import write

__all__ = ["write"]
