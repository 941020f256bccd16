"""Impact ratios as the rules for New York City's Local Law 144 define them."""

from __future__ import annotations

from spofr_core.evaluation.selection import RULES, SelectionRule

RULES.register(
    SelectionRule(
        name="local-law-144",
        title="New York City Local Law 144, automated employment decision tools",
        source="Local Law 144 of 2021; 6 RCNY 5-300 and following",
        text="For a tool that selects: the selection rate of each category, and its impact ratio, the rate over that "
        "of the most selected category. For a tool that scores: the scoring rate, the share of a category that scores "
        "above the sample's median, and its ratio to the highest. Each for sex, for race and ethnicity, and for the "
        "crossings of them; the number of people whose category is unknown is to be said.",
        small="A category with less than 2 % of the data may be left out of the impact ratios. It is left out here, "
        "and listed with its number and rate; the auditor has to say why.",
        not_said=(
            "The rules set no threshold: four fifths is marked here for orientation only.",
            "They ask for an independent auditor, for the historical data of the tool and for a published summary; "
            "a table of numbers is none of these.",
            "They speak of sex and of race and ethnicity as employers report them to the EEOC. Whether the columns of "
            "this data are those categories, the data does not say.",
        ),
    )
)
