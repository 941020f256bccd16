"""Trees as LightGBM writes them, read without LightGBM: every number is checked before anything is computed from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spofr_core.errors import DataError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_LEAVES = 1 << 16
_PER_SPLIT = (
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child",
    "internal_value", "internal_weight", "internal_count",
)  # fmt: skip
_PER_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
_SINGLE = ("num_leaves", "num_cat", "is_linear", "shrinkage")
_COMPARES = {0, 2, 8, 10}
"""Decision types of "at most the threshold goes left", whatever happens to missing values: there are none here."""
_END = "end of trees"


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree: what LightGBM wrote, and the numbers that scores are made of.

    Attributes
    ----------
    text : str
        The lines of its block, without the first.
    feature, left, right : (L - 1,) int64
        Of each split. A child below 0 is the leaf ``-child - 1``.
    threshold : (L - 1,) float64
        An item goes left if its feature is at most this.
    value : (L,) float64
        What each leaf adds to the score.
    """

    text: str
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray


@dataclass(eq=False)
class Forest:
    """Trees whose sum is the score.

    Parameters
    ----------
    n_features : int
    trees : list of Tree
    """

    n_features: int
    trees: list[Tree] = field(default_factory=list)

    def add_to(self, scores: FloatArray, features: NDArray[np.float32], first: int = 0) -> None:
        """Add what the trees from the `first` on give items with these features, tree by tree, in double precision.

        The sum is the same to the last bit however many of them are added at a time.
        """
        for tree in self.trees[first:]:
            _add_tree(scores, features, tree.feature, tree.threshold, tree.left, tree.right, tree.value)

    def to_text(self) -> str:
        """The forest as LightGBM saves a model; it reads it too."""
        blocks = [f"Tree={number}\n{tree.text}\n\n\n" for number, tree in enumerate(self.trees)]
        header = [
            "tree",
            "version=v4",
            "num_class=1",
            "num_tree_per_iteration=1",
            "label_index=0",
            f"max_feature_idx={self.n_features - 1}",
            "feature_names=" + " ".join(f"Column_{k}" for k in range(self.n_features)),
            "feature_infos=" + " ".join(["none"] * self.n_features),
            "tree_sizes=" + " ".join(str(len(block)) for block in blocks),
        ]
        rest = f"{_END}\n\nfeature_importances:\n\nparameters:\n\nend of parameters\n\npandas_categorical:null\n"
        return "\n".join(header) + "\n\n" + "".join(blocks) + rest

    @classmethod
    def from_text(cls, text: str, n_features: int) -> Forest:
        """Read what `to_text` wrote.

        Raises
        ------
        DataError
            When it is anything else.
        """
        header, *blocks = text.partition(f"\n{_END}\n")[0].split("\nTree=")
        if f"\n{_END}\n" not in text or header.split("\n", 1)[0] != "tree":
            raise _damaged("it does not run from 'tree' to 'end of trees'")
        if f"\nmax_feature_idx={n_features - 1}\n" not in header:
            raise _damaged(f"it is not about {n_features} features")
        trees = []
        for number, block in enumerate(blocks):
            first, _, lines = block.partition("\n")
            if first != str(number):
                raise _damaged(f"tree {number} is missing")
            trees.append(read_tree(lines.rstrip("\n"), n_features, f"tree {number}"))
        with np.errstate(over="ignore"):
            largest = float(np.sum([np.abs(tree.value).max() for tree in trees]))
        if not np.isfinite(largest):
            raise _damaged("its leaves are so large that scores would overflow")
        return cls(n_features, trees)


def constant_tree(value: float) -> Tree:
    """A single leaf."""
    text = f"num_leaves=1\nnum_cat=0\nleaf_value={value!r}\nis_linear=0\nshrinkage=1"
    return read_tree(text, 1, "a constant tree")


def grown_tree(model: str, n_features: int) -> Tree:
    """The one tree of a model that LightGBM has just written."""
    block = model.partition("\nTree=0\n")[2].partition(f"\n{_END}\n")[0]
    return read_tree(block.rstrip("\n"), n_features, "the tree just grown")


def read_tree(text: str, n_features: int, name: str) -> Tree:
    """A tree from the lines of its block.

    Raises
    ------
    DataError
        When a line is missing, unknown or of the wrong length, a number is none or out of range, or the splits do not
        form one tree.
    """
    lines: dict[str, str] = {}
    for line in text.split("\n"):
        key, sign, values = line.partition("=")
        if not sign or key in lines or key not in (*_PER_SPLIT, *_PER_LEAF, *_SINGLE):
            raise _damaged(f"{name} has the line {line[:40]!r}")
        lines[key] = values
    leaves = int(_numbers(lines, "num_leaves", 1, name, np.int64)[0])
    if not 1 <= leaves <= MOST_LEAVES:
        raise _damaged(f"{name} has {leaves} leaves")
    for key, wanted in (("num_cat", "0"), ("is_linear", "0")):
        if lines.get(key, "0") != wanted:
            raise _damaged(f"{name} has {key} {lines[key][:40]!r}")
    splits = leaves - 1
    for keys, count in ((_PER_SPLIT, splits), (_PER_LEAF, leaves)):
        for key in keys:
            if key in lines and (splits or key == "leaf_value"):
                _numbers(lines, key, count, name, np.float64)
    feature, left, right = (
        _numbers(lines, key, splits, name, np.int64) for key in ("split_feature", "left_child", "right_child")
    )
    if splits and not 0 <= feature.min() <= feature.max() < n_features:
        raise _damaged(f"{name} splits by a feature that is not there")
    if not set(_numbers(lines, "decision_type", splits, name, np.int64).tolist()) <= _COMPARES:
        raise _damaged(f"{name} has a split of another kind than 'at most'")
    _check_children(left, right, leaves, name)
    threshold = _numbers(lines, "threshold", splits, name, np.float64)
    return Tree(text, feature, threshold, left, right, _numbers(lines, "leaf_value", leaves, name, np.float64))


def _numbers(lines: dict[str, str], key: str, count: int, name: str, kind: Any) -> Any:
    """The numbers of a line, finite and as many as there must be."""
    if not count:
        return np.empty(0, dtype=kind)
    line = lines.get(key, "")
    found = line.count(" ") + 1
    if found != count:  # before anything is made of a line that may be long
        raise _damaged(f"{name} has {found} numbers as {key}, not {count}")
    try:
        values = np.array([kind(word) for word in line.split(" ")], dtype=kind)
    except (ValueError, OverflowError):
        raise _damaged(f"{name} has a {key} that is no number") from None
    if not np.isfinite(values).all():
        raise _damaged(f"{name} has numbers as {key} that are not {count} finite ones")
    return values


def _check_children(left: IntArray, right: IntArray, leaves: int, name: str) -> None:
    """Every split but the first, and every leaf, is the child of exactly one earlier split: one tree, no way round."""
    children = np.concatenate([left, right])
    parents = np.tile(np.arange(len(left)), 2)
    inner = children >= 0
    once = np.array_equal(np.sort(children), np.concatenate([np.arange(-leaves, 0), np.arange(1, leaves - 1)]))
    if len(left) and not (once and np.all(children[inner] > parents[inner])):
        raise _damaged(f"{name} is no tree")


def _damaged(why: str) -> DataError:
    return DataError(f"The trees of the model are damaged: {why}. Save the model again.")


@njit(cache=True, nogil=True)
def _add_tree(  # pragma: no cover
    scores: Any, features: Any, feature: Any, threshold: Any, left: Any, right: Any, value: Any
) -> None:
    if len(feature) == 0:
        scores += value[0]
        return
    for i in range(len(scores)):
        node = 0
        while node >= 0:
            node = left[node] if features[i, feature[node]] <= threshold[node] else right[node]
        scores[i] += value[-node - 1]
