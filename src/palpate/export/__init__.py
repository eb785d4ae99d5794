"""Exports: a model as other programs load it, and what each format cannot say."""

from palpate.export.common import EXPORTERS as EXPORTERS
from palpate.export.common import Export as Export
from palpate.export.common import export_model as export_model
