"""Measures of the exposure that items and groups expect."""
