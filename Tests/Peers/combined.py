"""Prints what apachelogs reads of each line of a log in Apache's combined format, as JSON."""
import json
import sys

from apachelogs import COMBINED, LogParser

parser = LogParser(COMBINED)
with open(sys.argv[1], encoding="ascii") as lines:
    for line in lines:
        entry = parser.parse(line)
        print(
            json.dumps(
                [
                    entry.remote_host,
                    entry.request_time.isoformat(),
                    entry.request_line,
                    entry.final_status,
                    entry.bytes_sent,
                    entry.headers_in["Referer"],
                    entry.headers_in["User-Agent"],
                ]
            )
        )
