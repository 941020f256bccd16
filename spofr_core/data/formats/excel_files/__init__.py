"""Excel: what is in a workbook, and the table on one of its sheets."""
