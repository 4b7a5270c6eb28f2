# make book | test | lab [LAB="--port 8899"] | bench | sweep STUDY=...      every target sets the environment up by itself
# The fast tests run in as many processes as there are cores, a file in one of them, with one thread each. The slow ones
# (.ci/run) start processes of their own and run one after another.
XDIST = -n logical --maxprocesses 4 --dist loadfile
# Waiting threads sleep: when they spin, two busy processes on one machine make each other crawl.
export OMP_WAIT_POLICY ?= PASSIVE
PYTHON ?= python3
BIN = .venv/bin

book: .venv/ready
	@$(BIN)/python -m book book
test: .venv/ready
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy --no-error-summary && OMP_NUM_THREADS=1 $(BIN)/pytest $(XDIST) -m "not slow and not gpu and not browser"
# The folder .jupyter holds defaults of JupyterLab: it asks nothing about news, and the reader's own settings win.
lab: .venv/ready
	@JUPYTER_CONFIG_PATH="$(CURDIR)/.jupyter$${JUPYTER_CONFIG_PATH:+:$$JUPYTER_CONFIG_PATH}" $(BIN)/jupyter lab --ServerApp.root_dir="$(CURDIR)" --LabApp.default_url=/lab/tree/notebooks $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB)
bench: .venv/ready
	@$(BIN)/python -m book bench && $(BIN)/python -m book bench diagnosis
sweep: .venv/ready
	@$(BIN)/python -m book sweep $(STUDY)

# The stamp is written last, so that an install that was killed starts again; plain pip takes up where it was left.
.venv/ready: pyproject.toml setup.py constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; (3, 11) <= v < (3, 14) or sys.exit("This book needs Python 3.11, 3.12 or 3.13; $(PYTHON) is %d.%d. Name another one: make PYTHON=python3.13" % v[:2])'
	@rm -f $@; $(PYTHON) -m venv .venv
	@printf 'Installing the pinned packages into .venv (a few minutes, once) '; start=$$(date +%s); \
	while sleep 5 >/dev/null 2>&1 && kill -0 $$$$ 2>/dev/null; do printf .; done & \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[book,test]"; code=$$?; kill $$!; \
	echo " $$(($$(date +%s) - start)) s"; exit $$code
	@touch $@

.PHONY: book test lab bench sweep
