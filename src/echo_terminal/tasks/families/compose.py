"""Compositions: several tasks of the trained templates at once, in one home folder and with no name in common."""

from __future__ import annotations

from echo_terminal.tasks.families import core, data, development, documents, services, site, system
from echo_terminal.tasks.families.draw import Draft, Draw, Template

# What may be a part: templates that touch nothing but their own files, one for each kind of work.
_NAMES = frozenset(
    """fetch_value rename_by_extension set_key follow_chain move_containing site_two site_three site_find
    site_copy site_setting service_start store_file build_project sort_lines count_matching sum_column
    unique_lines extract_column join_files filter_rows json_value merge_files mean_column make_tree
    delete_by_extension collect_by_extension largest_file swap_files bump_version rename_function
    write_script""".split()
)
PARTS = [
    t
    for module in (core, site, services, data, documents, system, development)
    for t in module.TEMPLATES
    if t.name in _NAMES
]


def _compose(draw: Draw, count: int) -> Draft:
    has = {name.partition(":")[0] for name in draw.machine.facts} if draw.machine else set()
    chosen = draw.rng.sample([t for t in PARTS if not t.needs or t.needs in has], count)
    drafts = []
    for template in chosen:
        draw.level = draw.pick(template.levels)
        drafts.append(template.build(draw))
    joint = draw.pick(("do all of this", "do each of these"))
    whole = Draft(f"{joint}: " + "; ".join(d.instruction for d in drafts), {}, [], [], [])
    for draft in drafts:
        whole.files |= draft.files
        whole.checks += draft.checks
        whole.oracle += draft.oracle
        whole.facts += draft.facts
        whole.fact_words += draft.fact_words
    for i, draft in enumerate(drafts):
        before = [s.command for d in drafts[:i] for s in d.oracle]
        after = [s.command for d in drafts[i + 1 :] for s in d.oracle]
        whole.wrong.append([*before, *after])  # one part left out
        whole.wrong += [[*before, *wrong, *after] for wrong in draft.wrong[:2]]
    return whole


def compose_two(draw: Draw) -> Draft:
    """Two tasks in one."""
    return _compose(draw, 2)


def compose_three(draw: Draw) -> Draft:
    """Three tasks in one."""
    return _compose(draw, 3)


def compose_four(draw: Draw) -> Draft:
    """Four tasks in one."""
    return _compose(draw, 4)


TEMPLATES = [Template(f.__name__, "composed", f) for f in (compose_two, compose_three, compose_four)]
