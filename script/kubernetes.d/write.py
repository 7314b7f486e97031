"""Writes the made parts of deploy/kubernetes. Called by script/kubernetes."""

from pathlib import Path

from generated import contents

for file, text in contents(Path(".")).items():
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
        print(f"{file} is written")
