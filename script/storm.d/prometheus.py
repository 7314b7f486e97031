"""Debian's Prometheus with the rules that weir ships."""

import asyncio
import json
import urllib.parse
import urllib.request
from pathlib import Path

from plan import Plan
from processes import Failure, Process, Processes, free_port
from rules import shortened

SHIPPED_RULES = Path("deploy/prometheus/rules")


class Prometheus:
    def __init__(self, plan: Plan, directory: Path) -> None:
        self.plan = plan
        self.directory = directory
        self.address = f"127.0.0.1:{free_port()}"

    async def start(self, processes: Processes, jobs: dict[str, list[str]], alertmanager: str) -> None:
        """Scrapes targets by job."""
        for shipped in SHIPPED_RULES.glob("*.yml"):
            rules = shortened(shipped.read_text(), self.plan.rules_divisor)
            (self.directory / f"rules-{shipped.name}").write_text(rules)
        configuration = self.directory / "prometheus.yml"
        # JSON is YAML too.
        configuration.write_text(json.dumps(self.configuration(jobs, alertmanager), indent=2))
        process = await processes.start(
            "prometheus",
            "prometheus",
            f"--config.file={configuration}",
            f"--web.listen-address={self.address}",
            f"--storage.tsdb.path={self.directory / 'prometheus'}",
            "--log.level=warn",
        )
        await ready(process, f"http://{self.address}/-/ready")

    def configuration(self, jobs: dict[str, list[str]], alertmanager: str) -> dict[str, object]:
        scrapes: list[dict[str, object]] = [
            {"job_name": job, "static_configs": [{"targets": targets}]} for job, targets in jobs.items()
        ]
        # The rules report the missing job of the shipped configuration. It is not counted.
        drop = [{"regex": ".*", "action": "drop"}]
        scrapes.append({**scrapes[0], "job_name": "weir", "metric_relabel_configs": drop})
        return {
            "global": {
                "scrape_interval": f"{self.plan.scrape:g}s",
                "scrape_timeout": f"{min(self.plan.scrape, 10):g}s",
                "evaluation_interval": f"{self.plan.evaluation:g}s",
            },
            "rule_files": ["rules-*.yml"],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]},
            "scrape_configs": scrapes,
        }

    async def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """An instant vector: labels and values."""
        query = urllib.parse.urlencode({"query": expression})
        answer = json.loads(await get(f"http://{self.address}/api/v1/query?{query}"))
        return [(series["metric"], float(series["value"][1])) for series in answer["data"]["result"]]

    async def budgets(self) -> dict[str, float]:
        """What the emptiest retry budget of each job would grant."""
        vector = await self.query("min by (job) (weir_retry_budget_available)")
        return {labels["job"]: value for labels, value in vector}

    async def alerts(self) -> dict[tuple[str, str], str]:
        """By job and alert whether it is pending or firing."""
        states: dict[tuple[str, str], str] = {}
        for labels, _ in await self.query("ALERTS"):
            alert = labels.get("job", ""), labels["alertname"]
            # Of several destinations, the worst counts.
            states[alert] = min(states.get(alert, "pending"), labels["alertstate"])
        return states


async def get(url: str) -> bytes:
    def fetch() -> bytes:
        with urllib.request.urlopen(url, timeout=10) as response:
            return bytes(response.read())

    return await asyncio.to_thread(fetch)


async def ready(process: Process, url: str) -> None:
    for _ in range(300):
        process.check()
        try:
            await get(url)
            return
        except OSError:
            await asyncio.sleep(0.1)
    raise Failure(f"{process.name} does not become ready: {process.tail()}")
