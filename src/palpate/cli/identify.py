"""From recordings to models: palpate identify, reproduce (the paper's four models), variants, validate and compare."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

import palpate
from palpate.cli.console import (
    Data,
    Done,
    OwnParts,
    Steps,
    argument,
    load_model,
    model_file,
    option,
    output_folder,
    save_page,
)
from palpate.errors import PalpateError, UnknownName
from palpate.files import check_folder, short_names
from palpate.progress import Tell, portion


def identify(
    tell: Steps,
    experiment: Annotated[str, argument("Experiment file (YAML), or the name of one that ships, such as door.")],
    out: Annotated[Path | None, option("--out", "-o", "Folder for the results [default: NAME-result].")] = None,
    data: Data = None,
    figures: Annotated[str | None, option("--figures", "Also draw the figures for a paper.", metavar="svg|pdf")] = None,
    tables: Annotated[str | None, option("--tables", "Also write the tables of results.", metavar="csv|latex")] = None,
    without: Annotated[
        list[str] | None, option("--without-section", "Leave a section out of the report; repeatable.", metavar="NAME")
    ] = None,
    profile: Annotated[bool, option("--profile", "Write the seconds of each step into result.json.")] = False,
) -> Done:
    """Identify a model from recordings. Writes result.json, model.json and report.html."""
    sections = None
    if without or figures or tables:  # else the report is imported when it is written
        from palpate.report import identification as report
        from palpate.report.paper import FORMATS, TABLE_FORMATS

        sections = report.without(*without or ())
        for kind, name, known in (("figures", figures, FORMATS), ("tables", tables, TABLE_FORMATS)):
            if name is not None and name not in known:
                raise UnknownName(f"format of {kind}", name, known)
    folder = output_folder(out, f"{Path(experiment).stem}-result")
    result = palpate.run_experiment(palpate.read_experiment(experiment, data=data), portion(tell, 0.0, 0.9))
    tell("writing the report", 0.9)
    paths = save_result(result, folder, figures, tables, sections)
    if profile:  # the report's seconds too, so that the file is written again
        tell.end()
        result = replace(result, data={**result.data, "profile": tell.taken})
        result.save(folder)
    from palpate.experiment.tables import result_text

    return Done(result.data, partial(result_text, result.data), paths, _failure(result))


def _failure(judged: Any) -> str:
    return "" if judged.passed else f"verdict failed: {'; '.join(judged.data['verdict']['reasons'])}"


def save_result(
    result: Any, folder: Path, figures: str | None = None, tables: str | None = None, sections: Any = None
) -> list[Path]:
    """Write all files of a `palpate.experiment.Result` and of its handle's; returns their paths.

    figures: svg or pdf, tables: csv or latex, beside the report; sections: what that shows, if not all. Without the
    libraries of the extra `report` there is no page, and a message says so.
    """
    from palpate.experiment.file.sensors import numbered

    paths: list[Path] = list(result.save(folder))
    handles = [(handle, folder / numbered("handle", i + 1)) for i, handle in enumerate(result.handles)]
    for one, where in (*handles, (result, folder)):
        more = save_page(where / "report.html", palpate.write_report, one, sections=sections)
        if tables is not None:
            palpate.write_tables(where / "tables", one, format=cast("Any", tables))
            more.append(where / "tables")
        if figures is not None:
            more += save_page(where / "figures", palpate.write_figures, one, format=cast("Any", figures))
        paths += more if one is result else []
    return paths


def explain(
    tell: Tell,
    experiment: Annotated[str, argument("Experiment file (YAML), or the name of one that ships, such as door.")],
    data: Data = None,
) -> Done:
    """Explain an experiment: its balance, what each number needs."""
    from palpate.experiment.explanation import explain as explained
    from palpate.experiment.tables import explanation_text

    tell("reading", 0.0)
    said = explained(palpate.read_experiment(experiment, data=data))
    return Done(said, partial(explanation_text, said))


def variants(
    tell: Tell,
    experiment: Annotated[str, argument("Experiment file of a body, or the name of one that ships: door.")],
    out: Annotated[
        Path | None, option("--out", "-o", "Folder for variants.json and its page [default: NAME-result].")
    ] = None,
    data: Data = None,
    everything: Annotated[bool, option("--all", "Show every variant, not only the first ones.")] = False,
) -> Done:
    """Fit alternative models and rank them on unseen data."""
    path = output_folder(out, f"{Path(experiment).stem}-result") / "variants.json"
    from palpate.experiment.tables import variants_text
    from palpate.experiment.variants import rank_body, ranking_data

    read = palpate.read_experiment(experiment, data=data)
    ranking = ranking_data(rank_body(read, tell), read.config.title or read.source.stem)
    from palpate.report.judging import write_variants_page

    pages = save_page(path.with_suffix(".html"), write_variants_page, ranking)
    return Done(ranking, partial(variants_text, ranking, everything=everything), pages, save=path)


def validate(
    tell: Tell,
    model: Annotated[Path, argument("model.json, or the folder of a result.")],
    experiment: Annotated[str, argument("Experiment file of the unseen recordings, or the name of one that ships.")],
    out: Annotated[Path | None, option("--out", "-o", "Page (.html); its numbers go beside it (.json).")] = None,
    data: Data = None,
) -> Done:
    """Judge a model by unseen data. Its errors stand beside those of a model fitted to these data."""
    from palpate.experiment.tables import validation_text

    path = model_file(model)
    unseen = palpate.read_experiment(experiment, data=data)
    judged = palpate.validate(palpate.Model.load(path, unseen.parts), unseen, tell, path=path)
    from palpate.report.judging import write_validation_page

    pages, save = _beside(out, write_validation_page, judged.data)
    return Done(judged.data, partial(validation_text, judged.data), pages, _failure(judged), save)


def compare(
    tell: Tell,
    results: Annotated[list[Path], argument("Folders of results, or result.json files; at least two.")],
    out: Annotated[Path | None, option("--out", "-o", "Page (.html); its numbers go beside it (.json).")] = None,
    model: Annotated[Path | None, option("--model", "Write the mean of the results' models to this file.")] = None,
    parts: OwnParts = None,
) -> Done:
    """Compare results of one object: mean and spread of numbers."""
    from palpate.experiment.comparison import mean_model
    from palpate.experiment.tables import comparison_text

    tell("comparing", 0.0)
    folders = [path if path.is_dir() else path.parent for path in results]
    labels = short_names([folder.resolve() for folder in folders])
    data = palpate.compare(dict(zip(labels, map(palpate.read_result, results), strict=True)))
    if model is not None:
        if data["differing"]:
            named = ", ".join(data["differing"])
            raise PalpateError(f"there is no mean of these models: they differ in {named} by more than their noise")
        mean_model([load_model(folder / "model.json", parts) for folder in folders]).save(model)
    from palpate.report.judging import write_comparison_page

    pages, save = _beside(out, write_comparison_page, data)
    return Done(data, partial(comparison_text, data), [*pages, *([] if model is None else [model])], save=save)


def _beside(out: Path | None, write: Any, data: Any) -> tuple[list[Path], Path | None]:
    """The page that was written and where its numbers go, which have the same name."""
    if out is None:
        return [], None
    if out.suffix.lower() not in (".html", ".json"):
        raise PalpateError(f"-o: {out} must end in .html (the page, with its numbers beside it) or .json")
    return save_page(out.with_suffix(".html"), write, data), out.with_suffix(".json")


def reproduce(
    tell: Tell,
    folder: Annotated[Path, argument("A clone of the authors' nate-baum/large-objects-sys-id.", metavar="DIR")],
    out: Annotated[Path, option("--out", "-o", "Folder for the results.")] = Path("reproduction"),
    as_published: Annotated[bool, option("--as-published", "Use the authors' choices only, not both ways.")] = False,
) -> Done:
    """Identify the paper's four models from its authors' recordings. Compare them with its Table."""
    from palpate.experiment.paper.reproduce import check_previous
    from palpate.experiment.paper.reproduce import reproduce as run
    from palpate.report import reproduction as report

    check_folder(out)
    check_previous(out)
    runs = run(folder, as_published=as_published, tell=portion(tell, 0.0, 0.9))
    tell("writing", 0.9)
    paths = report.write_reproduction(out, runs)
    paths += save_page(out / "figures", report.write_reproduction_figures, runs)
    paths += save_page(out / "report.html", report.write_reproduction_page, runs)
    text, failure = partial(report.reproduction_text, runs), "; ".join(runs.failures)
    return Done(report.reproduction_data(runs), text, paths, failure)
