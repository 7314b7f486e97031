"""Shows that a fleet is one thing to its callers and to the person on call."""

import asyncio

from lab import command
from lab.fleet.story import FULL, SHORT, Course, Story
from lab.processes import Place


async def run(place: Place, course: Course) -> list[str]:
    story = Story(place, course)
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
        await asyncio.gather(story.demand.stop(), *tasks, return_exceptions=True)
    await place.stop()
    return story.failures()


if __name__ == "__main__":
    options = command.options("fleet", __doc__)
    options.add_argument("--short", action="store_true", help="ten times as fast, and without the losses of all")
    given = command.parsed(options)
    command.conduct("fleet", given, lambda place: run(place, SHORT if given.short else FULL))
