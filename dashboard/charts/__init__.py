"""From results to Plotly figures: pure functions, testable without a browser."""

from dashboard.charts.exposure_charts import bounds_shares, exposure_by_group, item_histogram
from dashboard.charts.share_chart import share_curve
from dashboard.charts.violation_chart import violation_histograms

__all__ = ["bounds_shares", "exposure_by_group", "item_histogram", "share_curve", "violation_histograms"]
