"""Capability policies as mellea has them, and environments that keep them.

The names, fields, types and order are mellea's, so that code written for it reads the same
here; docs/guide/compat-mellea.md lists where the meaning differs, always towards the safe side.
`remit.compat.mellea` puts all of it into mellea itself.
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
