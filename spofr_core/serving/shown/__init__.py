"""What readers were shown: logs of impressions, their audit, and its course over time."""
