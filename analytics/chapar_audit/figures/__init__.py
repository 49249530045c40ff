"""The papers' figures, drawn again: what the models say, and what our own broker measures.

A module here holds one figure or a few alike. It ends with `FIGURES`, a tuple of `Figure`, and `catalogue.py` names the
module; nothing else is needed. A figure's `make(workshop, effort)` asks the workshop for measurements and returns a
`Drawing`:

- `workshop.traffic(["--tree 2,4 --lam .5 …", …])`: what `chapar-sim traffic` measures with each of these options, as
  the JSON it prints. Messages are counted one by one there, so its figures are the measurement.
- `workshop.asked(["matching --filters 50 …", …])`: the same for any other command of the simulator with `--json`.
- `workshop.record([toml, …])`: runs each scenario and returns its `Run`: `run.result` is `result.json`, `run.folder`
  has the datasets, which `workshop.recorded(run)` opens for the jobs of the audit (one Spark session for all figures).

Ask for all that a figure needs in one call: the runs share the processors. All are kept in a cache under what was asked
for and the simulator's own code, so an interrupted or repeated figure starts where it was. Seeds are written down in
the figure, so a figure is the same each time. `effort` is quick (tests: a few points, short runs, some seconds in all)
or full.

Draw with `chapar_audit.drawing`: `model_line` for the right model, `printed_line` for the document's own curve where it
rests on an error (`Figure.error` says which), `measured_points` for measurements. Findings compare each measured
point with the right model, so that a figure can fail; the caption says what to see and what was measured how.
"""
