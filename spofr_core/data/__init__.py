"""What a ranking dataset is, and how it gets in."""

from spofr_core.data.assemble import NothingLeft
from spofr_core.data.clicks import IPS, LoggingRanker, fit_logging_ranker, simulate_clicks, with_ips_labels
from spofr_core.data.dataset import RankingDataset, Splits
from spofr_core.data.export import write_csv, write_whole
from spofr_core.data.features import SharedFeatures, share
from spofr_core.data.german_credit import german_credit_lists
from spofr_core.data.groups import GroupSpec
from spofr_core.data.hiring import hiring_csv
from spofr_core.data.limits import Limits
from spofr_core.data.mslr import mslr_fold, mslr_lists
from spofr_core.data.partition import Part, PartitionedFolder, partition_folder
from spofr_core.data.preview import TablePreview, preview_table
from spofr_core.data.reading import read_dataset
from spofr_core.data.samples import SAMPLES, load_hiring, load_sample, sample_path

__all__ = [
    "IPS",
    "SAMPLES",
    "GroupSpec",
    "Limits",
    "LoggingRanker",
    "NothingLeft",
    "Part",
    "PartitionedFolder",
    "RankingDataset",
    "SharedFeatures",
    "Splits",
    "TablePreview",
    "fit_logging_ranker",
    "german_credit_lists",
    "hiring_csv",
    "load_hiring",
    "load_sample",
    "mslr_fold",
    "mslr_lists",
    "partition_folder",
    "preview_table",
    "read_dataset",
    "sample_path",
    "share",
    "simulate_clicks",
    "with_ips_labels",
    "write_csv",
    "write_whole",
]
