"""Human studies: from a run to ratings one can trust.

The verbs of `editgauge study` are functions here, with the same words (`import_` for `import`):

    from editgauge import studies

    study = studies.create("run", design="editval", raters=3, out="study")
    for invitation in studies.invite("study", count=5):
        ...                                   # invitation.link("https://lab.example"), shown once
    studies.export("study", out="ratings.jsonl")          # `editgauge agree run --ratings ratings.jsonl`

What a web app needs is in `Study`; every method is one transaction, and one object serves all threads:

    study = Study.open(folder)
    rater = study.rater(token)                # NotAllowedError: no such link
    study.stage(rater)                        # "eligibility" | "qualification" | "rating" | "closed"
    study.answer_eligibility(rater, {...})    # bool;  questions: study.design.eligibility
    study.answer_qualification(rater, {...})  # QuizResult;  items: study.design.qualification.items
    assignment = study.next(rater)            # its number, the same until it is handed in; None: nothing is left
    page = study.page(rater, assignment)      # all it shows, no method's name; pictures by file name in study.images
    study.save(rater, assignment, answers)    # the whole form as it stands, at every change
    receipt = study.answer(rater, assignment, answers)    # BadAnswersError.problems; twice is harmless
    study.progress(rater)                     # done, most, left_in_study
    study.status()                            # for the owner

`answers` maps question ids to values as the page shows them: the value of an option, a list of values (multi_choice),
`left` / `right` / `tie` (pick_side), words (text). `parse_form_value` reads them from a form; `is_asked` says which
conditional questions show. A page belongs to one rater: with anyone else's number `page`, `save` and `answer` raise
`NotAllowedError`. Images of the qualification: `study.manifest.pictures[item.source]` is a file in `study.images`.
"""

from editgauge.errors import BadAnswersError, BadStudyError, NotAllowedError
from editgauge.studies._create import create
from editgauge.studies._pages import Page, PagePicture, PageQuestion, Receipt
from editgauge.studies.design import Design, is_asked, parse_form_value
from editgauge.studies.study import RaterInfo, Study
from editgauge.studies.verbs import analyze, exclude, export, forget, import_, include, invite, serve, status

__all__ = [
    "BadAnswersError",
    "BadStudyError",
    "Design",
    "NotAllowedError",
    "Page",
    "PagePicture",
    "PageQuestion",
    "RaterInfo",
    "Receipt",
    "Study",
    "analyze",
    "create",
    "exclude",
    "export",
    "forget",
    "import_",
    "include",
    "invite",
    "is_asked",
    "parse_form_value",
    "serve",
    "status",
]
