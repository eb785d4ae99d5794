"""Reports of results: the page, its sections, figures for papers, and tables, the same for every object."""

from palpate.report.page import Section as Section
from palpate.report.sections import SECTIONS as SECTIONS
from palpate.report.table import parameter_table as parameter_table
from palpate.report.table import result_text as result_text
from palpate.report.table import rms_table as rms_table
from palpate.report.writing import without as without
from palpate.report.writing import write_figures as write_figures
from palpate.report.writing import write_report as write_report
from palpate.report.writing import write_tables as write_tables
