# Two commands matter here: `make lab` opens the notebooks, `make test` checks everything.
# Both make .venv when it is missing or broken, and install nothing when nothing changed.
# Only relative paths, and `python -m tool` instead of .venv/bin/tool: so any folder name works.

VENV = sh .ci/venv
PY = .venv/bin/python

# The notebooks run on the kernel of .venv, even where the user has another of the same name.
export JUPYTER_PREFER_ENV_PATH = 1
unexport JUPYTER_PATH

.PHONY: help lab test notebooks pages picture format bench clean

## make lab         open JupyterLab on the first notebook (more options: LAB_ARGS=--no-browser)
## make test        run every check that CI runs
## make notebooks   run all notebooks and store their outputs
## make pages       make a page of each chapter that steps with no kernel and no network
## make picture     draw the picture at the top of the README again
## make format      put code and notebooks into the standard format
## make bench       measure speed
## make clean       delete .venv and everything else that the commands above made
## Another Python: PYTHON=/path/to/python3 after any of these.
help:
	@sed -n 's/^## //p' Makefile

# --allow-root only lifts Jupyter's refusal to start for root, as in a container. The address is
# given as default_url, so that it is also the one printed where no browser can be opened.
# .ci/lab holds defaults for JupyterLab, which each user can change: a saved notebook keeps what its
# widgets show, and nobody is asked about news.
lab:
	@$(VENV) lab
	$(PY) -m jupyterlab --allow-root --ServerApp.root_dir=. --LabApp.app_settings_dir=.ci/lab \
	    --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(LAB_ARGS)

# nbval's time limit is for one cell; pytest's must be longer, or it cuts nbval's report short.
test:
	@$(VENV) test
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) -m pytest
	$(PY) -m pytest --nbval --nbval-current-env --nbval-cell-timeout=60 --timeout=180 notebooks

notebooks:
	@$(VENV) test
	$(PY) -W error .ci/notebooks.py

pages:
	@$(VENV) test
	$(PY) .ci/pages.py

picture:
	@$(VENV) test
	$(PY) -m tests.browser.picture

format:
	@$(VENV) test
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

bench:
	@$(VENV) test
	$(PY) -m tests.benchmarks

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name .git -prune -o \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune \
	    -exec rm -rf {} +
