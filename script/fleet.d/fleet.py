"""Shows what holds a fleet together. Called by script/fleet.

    fleet.py [--short] PROGRAM DIRECTORY

Three weirs behind haproxy are seen by two Prometheus and two Alertmanagers, with the configurations that are shipped;
VictoriaMetrics has what both write. Under load instances are lost, restarted and reloaded, and the upstream moves. Logs
and configurations are left in the directory.
"""

import argparse
import asyncio
import sys
from pathlib import Path

from course import FULL, SHORT, Course
from processes import Processes, judge
from row import Place
from story import Story


async def run(course: Course, program: str, directory: Path) -> list[str]:
    processes = Processes(directory)
    story = Story(Place(program, directory, processes), course)
    try:
        await story.start()
        # A process that ends by itself ends the story too.
        tasks = [asyncio.create_task(story.play()), asyncio.create_task(story.watch())]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(story.demand.end(), *tasks, return_exceptions=True)
    finally:
        await processes.stop()
    return story.failures()


async def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--short", action="store_true", help="ten times as fast, and without the losses of all")
    arguments.add_argument("program")
    arguments.add_argument("directory", type=Path)
    given = arguments.parse_args()
    return await judge("fleet", run(SHORT if given.short else FULL, given.program, given.directory))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
