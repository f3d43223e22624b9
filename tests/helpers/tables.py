"""Tables of measured figures in pages of the documentation."""


def write_table(path, name, lines):
    """Write lines of cells, the first of which is the header, between the comments of `name`."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, _, rest = path.read_text("utf-8").partition(begin)
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    path.write_text(before + begin + rows + end + rest.partition(end)[2], "utf-8")
