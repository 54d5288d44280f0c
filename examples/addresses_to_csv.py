"""Read addresses, one a line, and write a table: a column for each field, and how sure the parse is.

    python examples/addresses_to_csv.py addresses.txt > addresses.csv

The model is trained on the addresses that ship with crfkit, in less than a second. Each field occurs once.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from crfkit import ChainCRF, datasets
from crfkit.constraints import AtMostOnce

FIELDS = {
    "AddressNumber": "number",
    "StreetName": "street",
    "StreetNamePostType": "street type",
    "OccupancyType": "unit type",
    "OccupancyIdentifier": "unit",
    "PlaceName": "city",
    "StateName": "state",
    "ZipCode": "zip",
}


def main() -> None:
    crf = ChainCRF(features="address", tokenizer="blanks", constraints=[AtMostOnce()])
    crf.fit(datasets.load_addresses().train)
    lines = [line.strip() for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    table = csv.DictWriter(sys.stdout, [*FIELDS.values(), "sure", "line"], restval="")
    table.writeheader()
    for line, doc in zip(lines, crf.model_.pipe(lines), strict=True):
        row = {FIELDS[span.label]: span.text.strip(" ,") for span in doc.spans if span.label in FIELDS}
        sure = min((span.probability for span in doc.spans if span.probability is not None), default=0.0)
        table.writerow({**row, "sure": f"{sure:.2f}", "line": line})


if __name__ == "__main__":
    main()
