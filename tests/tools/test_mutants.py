from tools.checks.mutations import ROOT, read_mutants


def test_each_mutant_changes_one_line_that_is_still_there():
    mutants = read_mutants()  # raises ValueError with the file and the line otherwise
    for mutant in mutants:
        assert mutant["mutant"] != mutant["line"]
        for test in mutant["tests"]:
            path, _, name = test.partition("::")
            assert (ROOT / path).exists(), test
            assert not name or f"def {name}(" in (ROOT / path).read_text("utf-8"), test
