"""Tables of results, the same for every object."""

from palpate.report.table import parameter_table as parameter_table
from palpate.report.table import result_text as result_text
from palpate.report.table import rms_table as rms_table
