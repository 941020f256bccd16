"""What a ranking dataset is, and how it gets in."""

from spofr_core.data.clicks import IPS, LoggingRanker, fit_logging_ranker, simulate_clicks, with_ips_labels
from spofr_core.data.csv_export import write_csv
from spofr_core.data.dataset import RankingDataset
from spofr_core.data.formats import FORMATS, Format, TextOptions, format_labels
from spofr_core.data.formats.source import Raw, as_utf8
from spofr_core.data.formats.tables import ArrowTable, FrameTable, Table
from spofr_core.data.group_spec import GroupSpec
from spofr_core.data.groups.each_item import EACH_ITEM
from spofr_core.data.groups.labels import NO_GROUP, UNKNOWN
from spofr_core.data.ids import id_texts
from spofr_core.data.limits import Limits
from spofr_core.data.partition import Part, PartitionedFolder, partition_folder
from spofr_core.data.reading.assemble import NegativeLabels, NothingLeft, PartContents
from spofr_core.data.reading.columns import check_mapped_twice
from spofr_core.data.reading.preview import TablePreview, preview_table
from spofr_core.data.reading.reader import read_dataset
from spofr_core.data.samples import OPENING_SAMPLE, SAMPLES, Recipe, Sample
from spofr_core.data.samples.adult import adult_lists
from spofr_core.data.samples.bundled import load_sample, sample_path
from spofr_core.data.samples.german_credit import german_credit_lists
from spofr_core.data.samples.hiring import hiring_csv, load_hiring
from spofr_core.data.samples.mslr import mslr_fold, mslr_lists
from spofr_core.data.shared_features import SharedFeatures, share
from spofr_core.data.splits import Splits

__all__ = [
    "EACH_ITEM",
    "FORMATS",
    "IPS",
    "NO_GROUP",
    "OPENING_SAMPLE",
    "SAMPLES",
    "UNKNOWN",
    "ArrowTable",
    "Format",
    "FrameTable",
    "GroupSpec",
    "Limits",
    "LoggingRanker",
    "NegativeLabels",
    "NothingLeft",
    "Part",
    "PartContents",
    "PartitionedFolder",
    "RankingDataset",
    "Raw",
    "Recipe",
    "Sample",
    "SharedFeatures",
    "Splits",
    "Table",
    "TablePreview",
    "TextOptions",
    "adult_lists",
    "as_utf8",
    "check_mapped_twice",
    "fit_logging_ranker",
    "format_labels",
    "german_credit_lists",
    "hiring_csv",
    "id_texts",
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
]
