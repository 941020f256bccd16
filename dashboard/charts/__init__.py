"""From results to Plotly figures: pure functions, testable without a browser."""

from dashboard.charts.exposure import bounds_shares, exposure_by_group
from dashboard.charts.shares import share_curve
from dashboard.charts.violations import violation_histograms

__all__ = ["bounds_shares", "exposure_by_group", "share_curve", "violation_histograms"]
