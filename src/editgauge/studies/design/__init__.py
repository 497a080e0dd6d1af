"""Designs: declarative files that say what raters are asked, about what, and how it is checked.

`editval`, `editinspector`, `2afc` and `attribute-importance` come with the project; your own file works by its path.
"""

from editgauge.studies.design._fields import (
    Answer,
    AnswerOption,
    Answers,
    Check,
    Design,
    DesignQuestion,
    QuestionFields,
    TreeStep,
    applicable_questions,
    fill,
    is_asked,
    parse_form_value,
    validate_answers,
)
from editgauge.studies.design._reader import built_in, find_design, read_design

__all__ = [
    "Answer",
    "AnswerOption",
    "Answers",
    "Check",
    "Design",
    "DesignQuestion",
    "QuestionFields",
    "TreeStep",
    "applicable_questions",
    "built_in",
    "fill",
    "find_design",
    "is_asked",
    "parse_form_value",
    "read_design",
    "validate_answers",
]
