"""What a ranking dataset is, and how it gets in."""

from spofr_core.data.dataset import RankingDataset, Splits
from spofr_core.data.export import write_csv, write_whole
from spofr_core.data.groups import GroupSpec

__all__ = ["GroupSpec", "RankingDataset", "Splits", "write_csv", "write_whole"]
