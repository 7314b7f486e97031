extension StatusJSON {
  static func traffic(_ traffic: StatusReport.Traffic, to json: inout JSONWriter) {
    json.name("last_10s")
    window(traffic.last10s, to: &json)
    json.name("last_5m")
    window(traffic.last5m, to: &json)
    json.name("history")
    history(traffic.history, to: &json)
  }

  private static func window(_ window: StatusReport.Window, to json: inout JSONWriter) {
    json.object { json in
      json.name("seconds")
      json.value(window.seconds)
      json.name("requests")
      json.value(window.requests)
      json.name("failed")
      json.value(window.failed)
      json.name("outcomes")
      json.array(window.outcomes) { count($1, to: &$0) }
      json.name("attempts")
      json.value(window.attempts)
      json.name("retries")
      json.array(window.retries) { count($1, to: &$0) }
      json.name("retries_denied")
      json.value(window.denied)
      json.name("rate_limited")
      json.value(window.limited)
      json.name("shed")
      json.value(window.shed)
      json.name("abandoned")
      json.value(window.abandoned)
      json.name("retry_demand")
      json.value(window.retryDemand)
      json.name("p50_seconds")
      json.value(window.p50)
      json.name("p99_seconds")
      json.value(window.p99)
      json.name("phases")
      json.array(window.phases) { phase($1, to: &$0) }
    }
  }

  private static func count(_ named: StatusReport.Named, to json: inout JSONWriter) {
    json.object { json in
      json.name("name")
      json.value(named.name)
      json.name("count")
      json.value(named.count)
    }
  }

  private static func phase(_ phase: StatusReport.Phase, to json: inout JSONWriter) {
    json.object { json in
      json.name("name")
      json.value(phase.name)
      json.name("p50_seconds")
      json.value(phase.p50)
      json.name("p99_seconds")
      json.value(phase.p99)
    }
  }

  private static func history(_ history: StatusReport.History, to json: inout JSONWriter) {
    json.object { json in
      json.name("bucket_seconds")
      json.value(StatusReport.History.bucketSeconds)
      json.name("requests")
      json.array(history.requests) { $0.value($1) }
      json.name("failed")
      json.array(history.failed) { $0.value($1) }
      json.name("retries_wanted")
      json.array(history.retriesWanted) { $0.value($1) }
      json.name("p99_seconds")
      json.array(history.p99) { $0.value($1) }
    }
  }
}
