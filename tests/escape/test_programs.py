"""The programs as data: their headers are valid, and every row of the catalogue has a program."""

import re

import pytest
from callers import ROOT
from program import PROGRAMS, load, load_all

# Each of these rows must have a program. Rows that cannot be caused from inside are not listed.
# tests/e2e/jail/test_artifacts.py has more about files that code leaves to be exported.
CATALOGUE = """
FS-R1 FS-R2 FS-R3 FS-R4 FS-R5 FS-R6 FS-R7 FS-R8 FS-R9 FS-R10 FS-R11 FS-R12
FS-R13 FS-R15 FS-R17 FS-R18 FS-R19 FS-R20
FS-W1 FS-W2 FS-W4 FS-W5 FS-W6 FS-W7 FS-W8 FS-W10 FS-W11
NET1 NET2 NET3 NET4 NET5 NET6 NET7 NET8 NET10
PR1 PR2 PR3 PR4 PR5 PR6 PR7 PR8 PR9 PR10 PR11 PR12 PR14 PR15 PR16 PR17
RS1 RS2 RS4 RS5 RS6 RS7 RS8 RS9 RS10 RS13 RS14 RS15 RS16 RS17 RS18
IN1 IN2 IN4 IN5 IN8 IN9 IN10
K1 K2 K3 K4 K5 K6 K8 K9 K10
BR1 BR2 BR3 BR7 BR12
A1 A6 A7
S2 S4 P1 P2 P3 P5 P7
PKG1 PKG2
""".split()


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda p: p.stem)
def test_program_is_well_formed(path):
    program = load(path)
    compile(program.source(), path.name, "exec")
    assert program.kept_by
    text = path.read_text()
    assert re.search(r"report_outcome|contained|escaped|CONTAINED|ESCAPED|abort", text)


def test_every_row_of_the_catalogue_has_a_program():
    have = {program.id for program in load_all()}
    assert set(CATALOGUE) <= have, sorted(set(CATALOGUE) - have)


def test_field_and_mechanism_names_exist_in_the_product():
    table = (ROOT / "src/policy/fields/table.c").read_text()
    fields = set(re.findall(r'\.name = "(\w+)"', table))
    names = (ROOT / "src/policy/mechanism.c").read_text()
    mechanisms = set(re.findall(r'\.name = "(\w+)"', names))
    for program in load_all():
        assert program.field in fields, program.name
        assert set(program.policy) <= fields, program.name
        named = set(program.kept_by) | set(program.leaves_out)
        assert named <= mechanisms, program.name
