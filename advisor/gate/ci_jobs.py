"""The CI jobs that `advisor init-ci` writes."""

from __future__ import annotations

__all__ = ["GITHUB", "GITLAB", "GITLAB_INCLUDE", "RECORD", "RECORD_SCRIPT"]

RECORD = "ci/record-launch-overhead.sh"
"""The script that records the runs, the only part that a project has to fill in."""

RECORD_SCRIPT = """\
#!/bin/sh
# Records the runs that `advisor gate` compares: OUT/run-1.sqlite, run-2.sqlite, …
# Fill in your program: a warm-up, then some 30 executions of the model, each in an NVTX range of one name.
set -eu
out=${1:?usage: record-launch-overhead.sh OUT}
mkdir -p "$out"
for run in 1 2 3; do
    nsys profile --trace=cuda,nvtx --cuda-graph-trace=node --export=sqlite --force-overwrite=true \\
        --output "$out/run-$run" python benchmark.py
done
"""

GITHUB = """\
# Fails when launch overhead regresses against launch-overhead.json. Written by `advisor init-ci github`.
name: launch overhead
on:
  pull_request:
  workflow_dispatch:
permissions:
  contents: read
concurrency:
  group: launch-overhead-${{ github.ref }}
  cancel-in-progress: true
jobs:
  gate:
    # A machine with a GPU and Nsight Systems; always the same kind, or the gate cannot compare.
    runs-on: [self-hosted, gpu]
    steps:
      - uses: actions/checkout@v4
      - name: Record
        run: sh ci/record-launch-overhead.sh runs
      - name: Install
        run: python3 -m venv "$RUNNER_TEMP/advisor" && "$RUNNER_TEMP/advisor/bin/pip" install -q fusion-advisor
      - name: Gate
        run: >-
          "$RUNNER_TEMP/advisor/bin/advisor" gate runs/*.sqlite --baseline launch-overhead.json
          --markdown "$GITHUB_STEP_SUMMARY" --junit runs/gate.xml --sarif runs/gate.sarif --json runs/gate.json
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: launch-overhead
          path: runs
"""

GITLAB = """\
# Fails when launch overhead regresses against launch-overhead.json. Written by `advisor init-ci gitlab`.
launch-overhead:
  # A runner with a GPU and Nsight Systems; always the same kind, or the gate cannot compare.
  tags: [gpu]
  script:
    - sh ci/record-launch-overhead.sh runs
    - python3 -m venv .advisor && .advisor/bin/pip install -q fusion-advisor
    - .advisor/bin/advisor gate runs/*.sqlite --baseline launch-overhead.json
      --junit runs/gate.xml --markdown runs/gate.md --json runs/gate.json
  artifacts:
    when: always
    paths: [runs]
    reports:
      junit: runs/gate.xml
"""

GITLAB_INCLUDE = """\
include:
  - local: ci/launch-overhead.gitlab-ci.yml
"""
