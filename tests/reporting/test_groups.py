"""Colours that can be seen on both backgrounds, and styles that differ."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from spofr_core.reporting import group_styles
from spofr_core.reporting.palette import DARK, GROUP_COLOURS, LIGHT, OUTSIDE

BACKGROUNDS = (LIGHT["paper"], DARK["paper"])
# Machado, Oliveira and Fernandes (2009), severity 1: how a deuteranope and a protanope see linear RGB.
DEUTAN = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
PROTAN = np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]])


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_every_colour_stands_out_on_light_and_dark():
    for colour in GROUP_COLOURS:
        for background in BACKGROUNDS:
            light, dark = sorted((luminance(colour), luminance(background)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3, (colour, background)


def test_the_first_colours_differ_for_colour_blind_eyes_too():
    for view in (np.eye(3), DEUTAN, PROTAN):
        seen = [lab(view @ linear(colour)) for colour in GROUP_COLOURS[:3]]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 20


def test_twelve_groups_differ_in_shape_and_in_colour():
    styles = list(group_styles([f"g{k}" for k in range(12)]).values())
    assert len({style.marker for style in styles}) == len({style.glyph for style in styles}) == 12
    seen = [lab(linear(style.colour)) for style in styles]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 20


def test_no_group_looks_like_being_above_or_below():
    grey = lab(linear(OUTSIDE))
    assert min(np.linalg.norm(lab(linear(colour)) - grey) for colour in GROUP_COLOURS) > 18
    for background in BACKGROUNDS:
        light, dark = sorted((luminance(OUTSIDE), luminance(background)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3


def test_no_style_comes_back_among_a_hundred_groups():
    styles = group_styles([f"g{k}" for k in range(156)])
    assert len({(s.colour, s.marker) for s in styles.values()}) == 156
