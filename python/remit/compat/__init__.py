"""Capability policies with mellea's interface, and environments that enforce them.

Names, fields, types and order are those of mellea, so that code written for mellea can be reused.
docs/guide/compat-mellea.md lists differences in meaning, all of which are safer. `remit.compat.mellea` installs all of this
into mellea.
"""

from __future__ import annotations

from ._environment import Environment, make_execution_environment
from ._policy import (
    COMPATIBILITY_MATRIX,
    DOCKER_POLICY,
    LOCAL_POLICY,
    Artifact,
    CapabilityPolicy,
    ExecutionTier,
    to_policy,
)
from ._translate import ExecutionResult

__all__ = [
    "COMPATIBILITY_MATRIX", "DOCKER_POLICY", "LOCAL_POLICY", "Artifact", "CapabilityPolicy", "Environment",
    "ExecutionResult", "ExecutionTier", "make_execution_environment", "to_policy",
]  # fmt: skip
