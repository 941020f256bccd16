"""The four-fifths rule of the Uniform Guidelines on Employee Selection Procedures."""

from __future__ import annotations

from spofr_core.evaluation.selection import RULES, SelectionRule

RULES.register(
    SelectionRule(
        name="four-fifths",
        title="Four-fifths rule of the EEOC Uniform Guidelines",
        source="29 CFR 1607.4 D",
        text="A selection rate of a race, sex or ethnic group that is less than four fifths (80 %) of the rate of the "
        "group with the highest rate is generally regarded by the federal enforcement agencies as evidence of adverse "
        "impact.",
        small="No determination is called for where a group makes up less than 2 % (1607.15 A; question 16 of the "
        "agencies' Questions and Answers, which speaks of the labor force, the workforce and, for hiring, the "
        "applicants; here it is a share of the items). Such a group is listed with its number, rate and ratio, but is "
        "not marked, and its rate is not taken as the highest.",
        not_said=(
            "It is a rule of thumb of enforcement agencies, not a definition of discrimination: smaller differences "
            "can be adverse impact where they are significant in statistical and practical terms, and larger ones need "
            "not be where they rest on small numbers.",
            "It compares the groups of one column. Nobody is obliged to compare crossings (question 17); they are "
            "shown for those who want to know.",
            "It says nothing about whether the procedure is valid for the job, which is what a user with adverse "
            "impact would have to show.",
        ),
        ratio_of_small=True,
        kinds=("top", "threshold"),
    )
)
