"""One balance, compressed and solved: no files, no YAML."""

from palpate.identify.balance import Balance as Balance
from palpate.identify.balance import Compressed as Compressed
from palpate.identify.balance import MotionNoise as MotionNoise
from palpate.identify.balance import build_balance as build_balance
from palpate.identify.balance import compress as compress
from palpate.identify.balance import merge as merge
from palpate.identify.diagnosis import bootstrap as bootstrap
from palpate.identify.diagnosis import cross_validate as cross_validate
from palpate.identify.diagnosis import robust as robust
from palpate.identify.diagnosis import weakest_direction as weakest_direction
from palpate.identify.problem import Prior as Prior
from palpate.identify.solution import Solution as Solution
from palpate.identify.solution import solve as solve
