"""What overprints what: the boxes of all texts on the screen, turned ones included."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.pages import no_error

_OVERPRINTED = """() => {
    const texts = [];
    // What is scrolled out of sight lies on nothing outside of its frame.
    const framed = node => {
        let frame = node.parentElement;
        while (frame && !(frame.scrollWidth > frame.clientWidth + 1
            && ['auto', 'scroll'].includes(getComputedStyle(frame).overflowX))) frame = frame.parentElement;
        const b = frame && frame.getBoundingClientRect();
        return {frame, seen: ({x, y}) => ({x: b ? Math.min(Math.max(x, b.left), b.right) : x, y})};
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement, text = node.textContent.trim();
        if (!text || !parent.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
        // Formulas stack their signs on purpose, and what is hidden from readers is not read.
        if (parent.closest('script, style, canvas, .katex, [aria-hidden="true"]')) continue;
        const graphic = parent.closest('svg text');
        if (graphic) {
            const box = graphic.getBBox(), matrix = graphic.getScreenCTM();
            const corner = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
            const right = box.x + box.width, bottom = box.y + box.height;
            const corners = [corner(box.x, box.y), corner(right, box.y), corner(right, bottom), corner(box.x, bottom)];
            texts.push({text, of: graphic, corners, ...framed(graphic)});
            continue;
        }
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const b of range.getClientRects()) {
            if (b.width < 2 || b.height < 2) continue;
            const corners = [[b.left, b.top], [b.right, b.top], [b.right, b.bottom], [b.left, b.bottom]];
            texts.push({text, of: node, corners: corners.map(([x, y]) => ({x, y})), ...framed(node)});
        }
    }
    // Two convex shapes are apart if they are apart along the normal of one of their sides; a hair is forgiven.
    const apart = (a, b) => [a, b].some(shape => shape.some((p, k) => {
        const q = shape[(k + 1) % 4], long = Math.hypot(q.x - p.x, q.y - p.y) || 1;
        const along = ({x, y}) => (x * (p.y - q.y) + y * (q.x - p.x)) / long;
        const [s, t] = [a.map(along), b.map(along)];
        return Math.min(Math.max(...s), Math.max(...t)) - Math.max(Math.min(...s), Math.min(...t)) < 3;
    }));
    const found = [];
    texts.forEach((a, k) => texts.slice(k + 1).forEach(b => {
        if (a.of === b.of) return;
        const corners = ({corners, seen}) => a.frame === b.frame ? corners : corners.map(seen);
        if (apart(corners(a), corners(b))) return;
        found.push(`${a.text.slice(0, 40)} | ${b.text.slice(0, 40)}`);
    }));
    return found;
}"""


def faults(page: Page) -> list[str]:
    """What does not fit, and does not come to fit either: texts on each other, or wider than their place.

    Charts fit themselves in after they have been drawn, on a loaded machine seconds after.
    """
    no_error(page)
    found: list[str] = []
    for pause in (400, *[500] * 20):  # milliseconds
        page.wait_for_timeout(pause)
        found = [*(f"sideways: {text}" for text in scrolls_sideways(page)), *overprinted(page)]
        if not found:
            break
    return found


def overprinted(page: Page) -> list[str]:
    """Pairs of texts that lie on each other."""
    found: list[str] = page.evaluate(_OVERPRINTED)
    return found


def scrolls_sideways(page: Page) -> list[str]:
    """What is wider than its place: the page, or a row of buttons in it."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(
                'html, [data-testid="stMain"], [data-testid="stMain"] [data-testid="stButtonGroup"] *')]
            .filter(e => e.scrollWidth > e.clientWidth + 1)
            .filter(e => e.tagName === 'HTML' || ['auto', 'scroll'].includes(getComputedStyle(e).overflowX))
            .map(e => e.innerText.slice(0, 80))"""
    )
    return found
