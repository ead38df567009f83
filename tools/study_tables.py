#!/usr/bin/env python3
"""Prints the tables and claims of a study's NAME.json as Markdown, for the page of docs/paper/.

    tools/study_tables.py dimension/dimension.json [TABLE ...]

Without names: all tables, then the claims with their verdicts.
"""
import json
import sys


def row(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def markdown(table):
    lines = [f"**{table['title']}**", "", row(table["columns"]), "|" + "---|" * len(table["columns"])]
    lines += [row(cells) for cells in table["rows"]]
    if table["note"]:
        lines += ["", table["note"]]
    return "\n".join(lines)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        study = json.load(file)
    tables = {table["name"]: table for table in study["tables"]}
    unknown = set(sys.argv[2:]) - set(tables)
    if unknown:
        sys.exit(f"no table {', '.join(sorted(unknown))}; there is: {', '.join(tables)}")
    print(f"`{study['command']}`\n")
    for name in sys.argv[2:] or tables:
        print(markdown(tables[name]), end="\n\n")
    if len(sys.argv) == 2:
        print(row(["claim", "ours", "verdict"]) + "\n|---|---|---|")
        for claim in study["claims"]:
            print(row([claim["statement"], claim["ours"], claim["verdict"]]))


if __name__ == "__main__":
    main()
