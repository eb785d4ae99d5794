"""Reports of results: the page, its sections, figures for papers, and tables, the same for every object."""

from palpate.experiment.tables import parameter_table as parameter_table
from palpate.experiment.tables import result_text as result_text
from palpate.experiment.tables import rms_table as rms_table
from palpate.report.identification import SECTIONS as SECTIONS
from palpate.report.identification import without as without
from palpate.report.identification import write_figures as write_figures
from palpate.report.identification import write_report as write_report
from palpate.report.identification import write_tables as write_tables
from palpate.report.page import Section as Section
